/**
 * The names of the objects of a copy:
 *
 *     owners/<generation>                      a server that began to copy
 *     g<generation>/begin                      from when on the generation counts, and what it builds upon
 *     g<generation>/tick/<time>                up to when each area was complete, and which segments existed
 *     g<generation>/tokens/<time>-<sum>        the tokens of tenants, sealed
 *     g<generation>/<area>/segment/<number>-<salt>-<time>-<sum>    a closed segment, as the file is
 *     g<generation>/<area>/times/<number>-<salt>                   up to when which byte of it was complete
 *     g<generation>/<area>/snapshot/<number>-<salt>-<sum>          a snapshot, as the file is
 *     g<generation>/<area>/part/<number>-<salt>/<start>-<time>-<sum>[-end]    bytes of a segment
 *     g<generation>/<area>/history/<time>-<sum>                    a copy of the log of messages
 *
 * Numbers and times have a fixed count of digits, so the order of the names is
 * theirs. `sum` is the start of the SHA-256 of the bytes: equal names have equal
 * contents, from any server, and every object can be checked by its name. The
 * other objects are notes (`notes.ts`), which have their checksum inside.
 */

const GENERATION_DIGITS = 16;
const TIME_DIGITS = 16;
const OFFSET_DIGITS = 16;
const NUMBER_DIGITS = 10;
const SALT_DIGITS = 8;
/** 128 bits in hexadecimal digits. */
export const SUM_DIGITS = 32;

export const OWNERS_PREFIX = "owners/";

/** The salt of a segment or snapshot file, which tells it from another one with its number. */
export interface FileIdentity {
  readonly number: number;
  readonly salt: number;
}

export type CopyName =
  | { readonly kind: "begin" }
  | { readonly kind: "tick"; readonly timeMs: number }
  | { readonly kind: "tokens"; readonly timeMs: number; readonly sum: string }
  | ({ readonly kind: "segment"; readonly area: string; readonly timeMs: number; readonly sum: string } & FileIdentity)
  | ({ readonly kind: "times"; readonly area: string } & FileIdentity)
  | ({ readonly kind: "snapshot"; readonly area: string; readonly sum: string } & FileIdentity)
  | ({
      readonly kind: "part";
      readonly area: string;
      /** The offset of its first byte in the segment. */
      readonly start: number;
      readonly timeMs: number;
      readonly sum: string;
      /** The segment ends with it. */
      readonly isLast: boolean;
    } & FileIdentity)
  | { readonly kind: "history"; readonly area: string; readonly timeMs: number; readonly sum: string };

export type NameOf<Kind extends CopyName["kind"]> = Extract<CopyName, { readonly kind: Kind }>;

export function ownerName(generation: number): string {
  return `${OWNERS_PREFIX}${digits(generation, GENERATION_DIGITS)}`;
}

/** The generation of an owner's name; undefined for another name. */
export function generationOfOwner(name: string): number | undefined {
  const [, found] = /^owners\/(\d{16})$/.exec(name) ?? [];
  return found === undefined ? undefined : Number(found);
}

/** All objects of a generation begin with this. */
export function generationPrefix(generation: number): string {
  return `g${digits(generation, GENERATION_DIGITS)}/`;
}

export function objectName(generation: number, name: CopyName): string {
  return `${generationPrefix(generation)}${pathOf(name)}`;
}

/** The name of the note with which a generation begins. */
export function beginNameOf(generation: number): string {
  return objectName(generation, { kind: "begin" });
}

function pathOf(name: CopyName): string {
  switch (name.kind) {
    case "begin":
      return "begin";
    case "tick":
      return `tick/${time(name.timeMs)}`;
    case "tokens":
      return `tokens/${time(name.timeMs)}-${name.sum}`;
    case "segment":
      return `${name.area}/segment/${identity(name)}-${time(name.timeMs)}-${name.sum}`;
    case "times":
      return `${name.area}/times/${identity(name)}`;
    case "snapshot":
      return `${name.area}/snapshot/${identity(name)}-${name.sum}`;
    case "part": {
      const start = digits(name.start, OFFSET_DIGITS);
      return `${name.area}/part/${identity(name)}/${start}-${time(name.timeMs)}-${name.sum}${name.isLast ? "-end" : ""}`;
    }
    case "history":
      return `${name.area}/history/${time(name.timeMs)}-${name.sum}`;
    default: {
      const never: never = name;
      return never;
    }
  }
}

const OBJECT = /^g(\d{16})\/(.+)$/;
const OF_AREA = /^([a-z]{1,16})\/(segment|times|snapshot|part|history)\/(.+)$/;
const SEGMENT = /^(\d{10})-([0-9a-f]{8})-(\d{16})-([0-9a-f]{32})$/;
const TIMES = /^(\d{10})-([0-9a-f]{8})$/;
const SNAPSHOT = /^(\d{10})-([0-9a-f]{8})-([0-9a-f]{32})$/;
const PART = /^(\d{10})-([0-9a-f]{8})\/(\d{16})-(\d{16})-([0-9a-f]{32})(-end)?$/;
const TIMED = /^(\d{16})-([0-9a-f]{32})$/;
const TICK = /^tick\/(\d{16})$/;
const TOKENS = /^tokens\/(\d{16})-([0-9a-f]{32})$/;

/** The name of an object of a generation; undefined for a name that larder does not make. */
export function parseObjectName(text: string): { readonly generation: number; readonly name: CopyName } | undefined {
  const [, generation, path = ""] = OBJECT.exec(text) ?? [];
  const name = generation === undefined ? undefined : parsePath(path);
  return name === undefined ? undefined : { generation: Number(generation), name };
}

function parsePath(path: string): CopyName | undefined {
  if (path === "begin") return { kind: "begin" };
  const tick = TICK.exec(path);
  if (tick !== null) return { kind: "tick", timeMs: Number(tick[1]) };
  const tokens = TOKENS.exec(path);
  if (tokens !== null) return { kind: "tokens", timeMs: Number(tokens[1]), sum: tokens[2] ?? "" };
  const [, area, kind, rest = ""] = OF_AREA.exec(path) ?? [];
  if (area === undefined) return undefined;
  switch (kind) {
    case "segment": {
      const [, number, salt = "", timeMs, sum = ""] = SEGMENT.exec(rest) ?? [];
      return number === undefined ? undefined : { kind, area, ...file(number, salt), timeMs: Number(timeMs), sum };
    }
    case "times": {
      const [, number, salt = ""] = TIMES.exec(rest) ?? [];
      return number === undefined ? undefined : { kind, area, ...file(number, salt) };
    }
    case "snapshot": {
      const [, number, salt = "", sum = ""] = SNAPSHOT.exec(rest) ?? [];
      return number === undefined ? undefined : { kind, area, ...file(number, salt), sum };
    }
    case "part": {
      const [, number, salt = "", start, timeMs, sum = "", end] = PART.exec(rest) ?? [];
      if (number === undefined) return undefined;
      const at = { start: Number(start), timeMs: Number(timeMs), isLast: end !== undefined };
      return { kind, area, ...file(number, salt), ...at, sum };
    }
    default: {
      const [, timeMs, sum = ""] = TIMED.exec(rest) ?? [];
      return timeMs === undefined ? undefined : { kind: "history", area, timeMs: Number(timeMs), sum };
    }
  }
}

function file(number: string, salt: string): FileIdentity {
  return { number: Number(number), salt: Number.parseInt(salt, 16) };
}

function identity({ number, salt }: FileIdentity): string {
  return `${digits(number, NUMBER_DIGITS)}-${salt.toString(16).padStart(SALT_DIGITS, "0")}`;
}

function time(timeMs: number): string {
  return digits(timeMs, TIME_DIGITS);
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}
