/**
 * How the text of a setting becomes a value: one small parser per kind of
 * value. Each throws a `BadValue` whose text ends the sentence
 * "<where>: <text>", names the value where that is safe, and says what is
 * allowed.
 */
import { isIP } from "node:net";
import { parseTrustedProxies } from "../../edge/http/trusted-proxies.ts";
import { parseAllowedDestinations } from "../../edge/outbound/destination-policy.ts";
import { type OutboundMap, parseOutboundMap as parseMap } from "../../edge/outbound/host-map.ts";
import { isHostName } from "../../edge/outbound/host-table.ts";
import { parseMemorySize } from "../../store/memory/mod.ts";

export class BadValue extends Error {
  override name = "BadValue";
}

export const PORT_MAX = 65_535;

/** A TCP port; 0 asks the system for any free one. */
export function parsePort(text: string): number {
  const port = wholeNumber(text);
  if (port === undefined || port > PORT_MAX) throw new BadValue(`${quote(text)} is not a port from 0 to ${PORT_MAX}`);
  return port;
}

/** `off`, or what `parse` reads. */
export function orOff<Value>(parse: (text: string) => Value): (text: string) => Value | undefined {
  return (text) => (text === "off" ? undefined : parse(text));
}

/** `auto`, or what `parse` reads. */
export function orAuto<Value>(parse: (text: string) => Value): (text: string) => Value | undefined {
  return (text) => (text === "auto" ? undefined : parse(text));
}

export function parseSwitch(text: string): boolean {
  return parseChoice(["on", "off"])(text) === "on";
}

export function parseChoice<const Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new BadValue(`${quote(text)} is not one of ${choices.join(", ")}`);
    return found;
  };
}

/** A whole number from `min` to `max`. */
export function parseCount(min: number, max: number): (text: string) => number {
  return (text) => {
    const count = wholeNumber(text);
    if (count === undefined || count < min || count > max) {
      throw new BadValue(`${quote(text)} is not a whole number from ${min} to ${max}`);
    }
    return count;
  };
}

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, b: 1, kb: 2 ** 10, mb: 2 ** 20, gb: 2 ** 30 };

/** A number of bytes: digits and, if wanted, `kb`, `mb` or `gb` (powers of 1024). */
export function parseSize(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, digits, unit = ""] = /^(\d{1,15})\s*(b|kb|mb|gb|)$/i.exec(text) ?? [];
    const bytes = Number(digits) * (SIZE_UNITS[unit.toLowerCase()] ?? Number.NaN);
    if (digits === undefined || bytes < min || bytes > max) {
      throw new BadValue(
        `${quote(text)} is not a size from ${printSize(min)} to ${printSize(max)}, such as 512kb or 10mb`,
      );
    }
    return bytes;
  };
}

/** A number of bytes as redis.conf spells it, where `k` is 1000 and `kb` 1024; 0 is no limit. */
export function parseMemory(text: string): number {
  const bytes = /^\d/.test(text) ? parseMemorySize(text) : undefined;
  if (bytes === undefined) throw new BadValue(`${quote(text)} is not a size such as 100mb or 1gb, or 0 for no limit`);
  return bytes;
}

/** The shortest of `10mb`, `512kb` and `100` that says it exactly. */
export function printSize(bytes: number): string {
  const found = ["gb", "mb", "kb"].find((unit) => bytes > 0 && bytes % (SIZE_UNITS[unit] ?? 1) === 0);
  return found === undefined ? String(bytes) : `${bytes / (SIZE_UNITS[found] ?? 1)}${found}`;
}

const DURATION_UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A length of time in milliseconds: digits and `ms`, `s`, `m`, `h` or `d`. */
export function parseDurationMs(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const [, digits, unit = ""] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
    const durationMs = Number(digits) * (DURATION_UNITS_MS[unit] ?? Number.NaN);
    if (digits === undefined || durationMs < minMs || durationMs > maxMs) {
      throw new BadValue(
        `${quote(text)} is not a time from ${printDuration(minMs)} to ${printDuration(maxMs)}, such as 500ms, 10s or 2m`,
      );
    }
    return durationMs;
  };
}

export function printDuration(durationMs: number): string {
  const found = ["d", "h", "m", "s"].find(
    (unit) => durationMs > 0 && durationMs % (DURATION_UNITS_MS[unit] ?? 1) === 0,
  );
  return found === undefined ? `${durationMs}ms` : `${durationMs / (DURATION_UNITS_MS[found] ?? 1)}${found}`;
}

/** An address to listen on: an IP address, or a host name such as `localhost`. */
export function parseHost(text: string): string {
  if (isIP(text) !== 0 || isHostName(text)) return text;
  throw new BadValue(`${quote(text)} is not an IP address or a host name`);
}

export function parsePath(text: string): string {
  if (text.includes("\u0000")) throw new BadValue("a path cannot contain a NUL byte");
  return text;
}

/** `CIDR|address|host|*.suffix,…` */
export function parseDestinations(text: string): readonly string[] {
  return orBadValue(() => parseAllowedDestinations(text));
}

/** `CIDR|address,…` */
export function parseProxies(text: string): readonly string[] {
  return orBadValue(() => parseTrustedProxies(text));
}

/** `host=address:port,*.suffix=address:port,…`; an IPv6 address stands in brackets. */
export function parseOutboundMap(text: string): OutboundMap {
  return orBadValue(() => parseMap(text));
}

/** The name of a region, as a header carries it. */
export function parseRegion(text: string): string {
  if (!/^[A-Za-z0-9-]{1,64}$/.test(text))
    throw new BadValue(`${quote(text)} is not a name of letters, digits and hyphens`);
  return text;
}

/** Parsers of other rooms throw an `Error` whose text is fit for the sentence of a `BadValue`. */
function orBadValue<Value>(parse: () => Value): Value {
  try {
    return parse();
  } catch (fault) {
    throw new BadValue(fault instanceof Error ? fault.message : String(fault), { cause: fault });
  }
}

/** Visible ASCII without spaces, so that it can be sent in a header. The text of the error never shows the value. */
const SENDABLE = /^[\x21-\x7e]{1,512}$/;

export function parseToken(text: string): string {
  if (!SENDABLE.test(text)) throw new BadValue("the token is not 1 to 512 visible ASCII characters without a space");
  return text;
}

/**
 * A messaging token: base64 of `{"UserID":…,"Password":…}`. The official workflow client decodes it to find the user
 * (C.token-form).
 */
export function parseMessagingToken(text: string): string {
  parseToken(text);
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
  } catch {
    fields = undefined;
  }
  const isForm =
    typeof fields === "object" &&
    fields !== null &&
    "UserID" in fields &&
    typeof fields.UserID === "string" &&
    "Password" in fields &&
    typeof fields.Password === "string";
  if (!isForm) throw new BadValue('the token is not base64 of {"UserID":"…","Password":"…"}');
  return text;
}

export function parseSigningKey(text: string): string {
  if (!/^sig_[\x21-\x7e]{1,508}$/.test(text)) throw new BadValue("the signing key does not have the form sig_…");
  return text;
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const QUOTED_LENGTH_MAX = 80;

function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text);
}

/** True for addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
