/**
 * Parsers of setting values: one small parser for each kind of value. A parser
 * throws a `BadValue` whose text completes "<place>: <text>", names the value
 * where that is safe, and says what is allowed. Its JSON Schema describes the
 * values that it accepts in the configuration file, so that the file's schema
 * repeats no bound.
 */
import { isIP } from "node:net";
import { parseTrustedProxies } from "../../edge/http/trusted-proxies.ts";
import type { Schema } from "../../edge/openapi/schema.ts";
import { parseAllowedDestinations } from "../../edge/outbound/destination-policy.ts";
import { type OutboundMap, parseOutboundMap as parseMap } from "../../edge/outbound/host-map.ts";
import { isHostName } from "../../edge/outbound/host-table.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { parseMemorySize } from "../../store/memory/mod.ts";

export class BadValue extends Error {
  override name = "BadValue";
}

/** Parses the text of a value. */
export interface Parser<Value> {
  /** Throws `BadValue`. */
  (text: string): Value;
  /** The values that it may accept in the configuration file. It rejects a few of them. */
  readonly schema: Schema;
}

export function parser<Value>(schema: Schema, parse: (text: string) => Value): Parser<Value> {
  return Object.assign(parse, { schema });
}

/** Any text. */
export const parseText: Parser<string> = parser({ type: "string" }, (text) => text);

export const PORT_MAX = 65_535;

const DIGITS = /^\d{1,15}$/;

/** A TCP port; 0 means any free port. */
export const parsePort: Parser<number> = parser(wholeNumberSchema(0, PORT_MAX), (text) => {
  const port = wholeNumber(text);
  if (port === undefined || port > PORT_MAX) throw new BadValue(`${quote(text)} is not a port from 0 to ${PORT_MAX}`);
  return port;
});

/** `off`, or a value that `parse` accepts. */
export function orOff<Value>(parse: Parser<Value>): Parser<Value | undefined> {
  const schema = { anyOf: [parse.schema, { enum: ["off", false] }] };
  return parser(schema, (text) => (text === "off" ? undefined : parse(text)));
}

/** `auto`, or a value that `parse` accepts. */
export function orAuto<Value>(parse: Parser<Value>): Parser<Value | undefined> {
  const schema = { anyOf: [parse.schema, { enum: ["auto"] }] };
  return parser(schema, (text) => (text === "auto" ? undefined : parse(text)));
}

export function parseChoice<const Choice extends string>(choices: readonly Choice[]): Parser<Choice> {
  return parser({ enum: choices }, (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new BadValue(`${quote(text)} is not one of ${choices.join(", ")}`);
    return found;
  });
}

const parseOnOff = parseChoice(["on", "off"]);

export const parseSwitch: Parser<boolean> = parser(
  { enum: [true, false, "on", "off"] },
  (text) => parseOnOff(text) === "on",
);

/** A whole number from `min` to `max`. */
export function parseCount(min: number, max: number): Parser<number> {
  return parser(wholeNumberSchema(min, max), (text) => {
    const count = wholeNumber(text);
    if (count === undefined || count < min || count > max) {
      throw new BadValue(`${quote(text)} is not a whole number from ${min} to ${max}`);
    }
    return count;
  });
}

const SHARE = /^(?:0?\.\d{1,6}|[01](?:\.0{1,6})?)$/;

/** A share from `min` to 1, as a decimal number. */
export function parseShare(min: number): Parser<number> {
  const schema: Schema = { type: ["number", "string"], minimum: min, maximum: 1, pattern: SHARE.source };
  return parser(schema, (text) => {
    const share = SHARE.test(text) ? Number(text) : Number.NaN;
    if (share >= min && share <= 1) return share;
    throw new BadValue(`${quote(text)} is not a share from ${min} to 1, such as 0.95`);
  });
}

/** The share of the nearest records that queries should find. */
export const parseRecallTarget: Parser<number> = parseShare(0.5);

const NODE_NAME = /^[A-Za-z\d][A-Za-z\d._-]{0,62}$/;

/** The name of a node of a cluster. */
export const parseNodeName: Parser<string> = parser({ type: "string", pattern: NODE_NAME.source }, (text) => {
  if (NODE_NAME.test(text)) return text;
  throw new BadValue(
    `${quote(text)} is not the name of a node: 1 to 63 letters, digits, dots, hyphens and underscores, the first a letter or a digit`,
  );
});

const KB = 2 ** 10;
const MB = 2 ** 20;
const GB = 2 ** 30;

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, b: 1, kb: KB, mb: MB, gb: GB };

/** A number of bytes: digits and, optionally, `kb`, `mb` or `gb` (powers of 1024). */
export function parseSize(min: number, max: number): Parser<number> {
  const pattern = "^\\d{1,15}\\s*([kKmMgG]?[bB])?$";
  const examples = [10 * KB, 10 * MB, 2 * GB].filter((bytes) => bytes >= min && bytes <= max).map(printSize);
  return parser({ type: ["integer", "string"], minimum: min, maximum: max, pattern, examples }, (text) => {
    const [, digits, unit = ""] = /^(\d{1,15})\s*(b|kb|mb|gb|)$/i.exec(text) ?? [];
    const bytes = Number(digits) * (SIZE_UNITS[unit.toLowerCase()] ?? Number.NaN);
    if (digits === undefined || bytes < min || bytes > max) {
      throw new BadValue(
        `${quote(text)} is not a size from ${printSize(min)} to ${printSize(max)}, such as 512kb or 10mb`,
      );
    }
    return bytes;
  });
}

/** A number of bytes as redis.conf spells it, where `k` is 1000 and `kb` 1024; 0 is no limit. */
export const parseMemory: Parser<number> = parser(
  { type: ["integer", "string"], minimum: 0, pattern: "^\\d", examples: ["100mb", "1gb"] },
  (text) => {
    const bytes = /^\d/.test(text) ? parseMemorySize(text) : undefined;
    if (bytes === undefined) throw new BadValue(`${quote(text)} is not a size such as 100mb or 1gb, or 0 for no limit`);
    return bytes;
  },
);

/** The shortest exact form, such as `10mb`, `512kb` or `100`. */
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

const DURATION = /^(\d{1,12})(ms|s|m|h|d)$/;

/** A length of time in milliseconds: digits and `ms`, `s`, `m`, `h` or `d`. */
export function parseDurationMs(minMs: number, maxMs: number): Parser<number> {
  const examples = [500, 10_000, 120_000, 604_800_000].filter((ms) => ms >= minMs && ms <= maxMs).map(printDuration);
  return parser({ type: "string", pattern: DURATION.source, examples }, (text) => {
    const [, digits, unit = ""] = DURATION.exec(text) ?? [];
    const durationMs = Number(digits) * (DURATION_UNITS_MS[unit] ?? Number.NaN);
    if (digits === undefined || durationMs < minMs || durationMs > maxMs) {
      throw new BadValue(
        `${quote(text)} is not a time from ${printDuration(minMs)} to ${printDuration(maxMs)}, such as 500ms, 10s or 2m`,
      );
    }
    return durationMs;
  });
}

export function printDuration(durationMs: number): string {
  const found = ["d", "h", "m", "s"].find(
    (unit) => durationMs > 0 && durationMs % (DURATION_UNITS_MS[unit] ?? 1) === 0,
  );
  return found === undefined ? `${durationMs}ms` : `${durationMs / (DURATION_UNITS_MS[found] ?? 1)}${found}`;
}

/** An address to listen on: an IP address, or a host name such as `localhost`. */
export const parseHost: Parser<string> = parser(
  { type: "string", examples: ["127.0.0.1", "0.0.0.0", "::1"] },
  (text) => {
    if (isIP(text) !== 0 || isHostName(text)) return text;
    throw new BadValue(`${quote(text)} is not an IP address or a host name`);
  },
);

/** Whether a text is `s3://…` or the like: as a path it would name a directory `s3:` below the current one. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/** An empty path is refused, because it would be the current directory. */
export const parsePath: Parser<string> = parser({ type: "string", minLength: 1 }, (text) => {
  if (text === "") throw new BadValue("a path cannot be empty");
  if (isAddress(text)) throw new BadValue(`${quote(text)} is an address: give the path of a file or directory`);
  if (text.includes("\u0000")) throw new BadValue("a path cannot contain a NUL byte");
  return text;
});

/** Strings in an array, or joined by commas. */
function textsSchema(...examples: readonly string[]): Schema {
  return { type: ["string", "array"], items: { type: "string" }, examples: [examples] };
}

/** `CIDR|address|host|*.suffix,…` */
export const parseDestinations: Parser<readonly string[]> = parser(textsSchema("10.1.2.3", "*.internal"), (text) =>
  orBadValue(() => parseAllowedDestinations(text)),
);

/** `CIDR|address,…` */
export const parseProxies: Parser<readonly string[]> = parser(textsSchema("10.0.0.0/8", "192.168.0.7"), (text) =>
  orBadValue(() => parseTrustedProxies(text)),
);

/** `host,…`; in lower case. */
export const parseHostNames: Parser<readonly string[]> = parser(textsSchema("console.example.com"), (text) =>
  text
    .split(",")
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== "")
    .map((item) => {
      if (isHostName(item)) return item;
      throw new BadValue(`${quote(item)} is not a host name without a port, such as console.example.com`);
    }),
);

/** `host=address:port,*.suffix=address:port,…`; an IPv6 address is in brackets. */
export const parseOutboundMap: Parser<OutboundMap> = parser(textsSchema("api.example.com=127.0.0.1:3000"), (text) =>
  orBadValue(() => parseMap(text)),
);

const REGION = /^[A-Za-z0-9-]{1,64}$/;

/** The name of a region, sent in a header. */
export const parseRegion: Parser<string> = parser({ type: "string", pattern: REGION.source }, (text) => {
  if (!REGION.test(text)) throw new BadValue(`${quote(text)} is not a name of letters, digits and hyphens`);
  return text;
});

/** Parsers of other rooms throw an `Error` whose text is suitable for a `BadValue`. */
function orBadValue<Value>(parse: () => Value): Value {
  try {
    return parse();
  } catch (fault) {
    throw new BadValue(fault instanceof Error ? fault.message : String(fault), { cause: fault });
  }
}

/** Visible ASCII without spaces, so that it can be sent in a header. The text of the error never shows the value. */
const SENDABLE = /^[\x21-\x7e]{1,512}$/;

export const parseToken: Parser<string> = parser({ type: "string", pattern: SENDABLE.source }, (text) => {
  if (!SENDABLE.test(text)) throw new BadValue("the token is not 1 to 512 visible ASCII characters without a space");
  return text;
});

/**
 * A messaging token: base64 of `{"UserID":…,"Password":…}`. The official workflow client decodes it to find the user
 * (C.token-form).
 */
export const parseMessagingToken: Parser<string> = parser(parseToken.schema, (text) => {
  parseToken(text);
  let fields: unknown;
  try {
    fields = parseJsonText(Buffer.from(text, "base64").toString("utf8"));
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
});

const SIGNING_KEY = /^sig_[\x21-\x7e]{1,508}$/;

export const parseSigningKey: Parser<string> = parser({ type: "string", pattern: SIGNING_KEY.source }, (text) => {
  if (!SIGNING_KEY.test(text)) throw new BadValue("the signing key does not have the form sig_…");
  return text;
});

/** A number, or a string of its digits. */
function wholeNumberSchema(minimum: number, maximum: number): Schema {
  return { type: ["integer", "string"], minimum, maximum, pattern: DIGITS.source };
}

function wholeNumber(text: string): number | undefined {
  return DIGITS.test(text) ? Number(text) : undefined;
}

const QUOTED_LENGTH_MAX = 80;

function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text);
}

export type FileValue = string | number | boolean | readonly string[];

/**
 * The value that a configuration file has for the text of a setting, by the schema of its values. The text is one that
 * the setting accepts. Undefined: no value of the schema has it.
 */
export function fileValue(schema: Schema, text: string): FileValue | undefined {
  const { anyOf, enum: words, type } = schema;
  if (anyOf !== undefined) {
    return anyOf.reduce<FileValue | undefined>((found, each) => found ?? fileValue(each, text), undefined);
  }
  if (words !== undefined) {
    const isSwitch = words.includes(true) && words.includes(false);
    return isSwitch && (text === "on" || text === "off") ? text === "on" : words.find((word) => word === text);
  }
  const types = [type ?? []].flat();
  if (types.includes("array")) return text === "" ? [] : text.split(",");
  if (types.includes("integer") && /^\d{1,15}$/.test(text)) return Number(text);
  return types.includes("string") ? text : undefined;
}

/** True for addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
