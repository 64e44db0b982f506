/**
 * The kinds of write that a killed server is checked with, one row each. Every
 * kind numbers its writes 1, 2, 3 … for each client, and the value of a key
 * gives the number of the last write that took effect.
 *
 * (1) acknowledged <= found <= sent: nothing acknowledged is lost and nothing
 *     appears that was never requested.
 * (2) A value that one command or one transaction writes in several places is
 *     the same in all of them: all of it or none.
 * (3) A log is exactly 1;2;…;m;: no hole and no duplicate.
 * (4) An expiry is the one that the write requested: a restart never extends it.
 */

export type Command = readonly (string | number)[];

/** What the server answers in JSON: arrays only for commands that we send. */
export type Value = null | string | number | readonly Value[];

/** When a write was sent, and when its acknowledgement came or, at the latest, when the server was dead. */
export interface Moments {
  readonly sentMs: number;
  ackedMs: number | undefined;
}

/** The progress of one client with one kind. */
export interface Track {
  sent: number;
  acked: number;
  /** For timed kinds: the moments of writes that may be the last one to take effect. */
  readonly moments: Map<number, Moments>;
}

/** The number of the last write that took effect, or what is wrong. */
export type Finding = { readonly found: number } | { readonly wrong: string };

export interface Kind {
  readonly name: string;
  /** Writes of all clients go to the same keys; their order is not known, so only counts are compared. */
  readonly isShared?: boolean;
  /** Whether moments are recorded. */
  readonly isTimed?: boolean;
  /** Several commands in one transaction. */
  readonly isTransaction?: boolean;
  /** Write number `n` of `owner`. */
  write(owner: string, n: number): readonly Command[];
  /** The commands that show the value at one moment; their replies go to `find`. */
  read(owner: string): readonly Command[];
  find(replies: readonly Value[], track: Track): Finding;
}

const EXPIRE_SOON_MS = 40;
const EXPIRE_LATE_MS = 3_600_000;
const BLOB_LENGTH = 24_000;

export const kinds: readonly Kind[] = [
  {
    name: "log",
    write: (owner, n) => [["APPEND", `log:${owner}`, `${n};`]],
    read: (owner) => [["GET", `log:${owner}`]],
    find: ([text]) => findInLog(text ?? ""),
  },
  {
    name: "counter",
    write: (owner) => [["INCR", `counter:${owner}`]],
    read: (owner) => [["GET", `counter:${owner}`]],
    find: ([text]) => ({ found: Number(text ?? 0) }),
  },
  {
    name: "shared counter",
    isShared: true,
    write: () => [["INCR", "counter:all"]],
    read: () => [["GET", "counter:all"]],
    find: ([text]) => ({ found: Number(text ?? 0) }),
  },
  {
    name: "transaction",
    isTransaction: true,
    write: (owner, n) => [
      ["SET", `pair:${owner}:left`, n],
      ["INCR", `pair:${owner}:count`],
      ["SET", `pair:${owner}:right`, n],
    ],
    read: (owner) => [["MGET", `pair:${owner}:left`, `pair:${owner}:count`, `pair:${owner}:right`]],
    find: ([values]) => findSame(values ?? null),
  },
  {
    name: "shared transaction",
    isTransaction: true,
    isShared: true,
    write: () => [
      ["INCR", "pair:all:left"],
      ["INCR", "pair:all:right"],
    ],
    read: () => [["MGET", "pair:all:left", "pair:all:right"]],
    find: ([values]) => findSame(values ?? null),
  },
  {
    name: "hash",
    write: (owner, n) => [["HSET", `hash:${owner}`, "first", n, "second", n]],
    read: (owner) => [["HMGET", `hash:${owner}`, "first", "second"]],
    find: ([values]) => findSame(values ?? null),
  },
  {
    name: "set and delete",
    write: (owner, n) => [n % 2 === 0 ? ["SET", `flip:${owner}`, n] : ["DEL", `flip:${owner}`]],
    read: (owner) => [["GET", `flip:${owner}`]],
    find: ([text], track) => (typeof text === "string" ? { found: Number(text) } : findDeletion(track)),
  },
  {
    name: "large value",
    write: (owner, n) => [["SET", `blob:${owner}`, blobOf(n)]],
    read: (owner) => [["GET", `blob:${owner}`]],
    find: ([text]) => {
      if (text === null) return { found: 0 };
      const n = Number.parseInt(String(text), 10);
      return text === blobOf(n) ? { found: n } : { wrong: `a mixed value that begins ${String(text).slice(0, 40)}` };
    },
  },
  {
    name: "late expiry",
    isTimed: true,
    write: (owner, n) => [["SET", `late:${owner}`, n, "PX", EXPIRE_LATE_MS]],
    read: (owner) => [
      ["GET", `late:${owner}`],
      ["PEXPIRETIME", `late:${owner}`],
    ],
    find: ([text, expiresMs], track) =>
      text === null ? { found: 0 } : findTimed({ text, expiresMs, track, lifeMs: EXPIRE_LATE_MS }),
  },
  {
    name: "late field expiry",
    isTimed: true,
    isTransaction: true,
    write: (owner, n) => [
      ["HSET", `fields:${owner}`, "field", n],
      ["HPEXPIRE", `fields:${owner}`, EXPIRE_LATE_MS, "FIELDS", 1, "field"],
    ],
    read: (owner) => [
      ["HGET", `fields:${owner}`, "field"],
      ["HPEXPIRETIME", `fields:${owner}`, "FIELDS", 1, "field"],
    ],
    find: ([text, times], track) =>
      text === null
        ? { found: 0 }
        : findTimed({ text, expiresMs: Array.isArray(times) ? times[0] : times, track, lifeMs: EXPIRE_LATE_MS }),
  },
  {
    name: "soon expiry",
    isTimed: true,
    write: (owner, n) => [["SET", `soon:${owner}`, n, "PX", EXPIRE_SOON_MS]],
    read: (owner) => [["GET", `soon:${owner}`], ["PEXPIRETIME", `soon:${owner}`], ["TIME"]],
    find: ([text, expiresMs, time], track) =>
      text === null ? findExpired(time ?? null, track) : findTimed({ text, expiresMs, track, lifeMs: EXPIRE_SOON_MS }),
  },
];

function findInLog(text: Value): Finding {
  const numbers = String(text).split(";");
  // keeps (3): the last piece is what follows the last semicolon.
  const wrongAt = numbers.findIndex((number, index) => number !== (index === numbers.length - 1 ? "" : `${index + 1}`));
  if (wrongAt < 0) return { found: numbers.length - 1 };
  return { wrong: `after ${wrongAt} comes ${JSON.stringify(numbers.slice(wrongAt, wrongAt + 3).join(";"))}` };
}

// keeps (2)
function findSame(values: Value): Finding {
  const list = Array.isArray(values) ? (values as readonly Value[]) : [values];
  const [first] = list;
  if (list.some((value) => value !== first)) return { wrong: `parts of one write differ: ${JSON.stringify(values)}` };
  return { found: Number(first ?? 0) };
}

/** The key does not exist: the last effective write was a deletion (an odd number), or there was none. */
function findDeletion({ acked, sent }: Track): Finding {
  if (acked === 0) return { found: 0 };
  const odd = acked % 2 === 1 ? acked : acked + 1;
  return odd <= sent ? { found: odd } : { wrong: `absent, though write ${acked} set it` };
}

// keeps (4)
function findTimed(what: {
  text: Value | undefined;
  expiresMs: Value | undefined;
  track: Track;
  lifeMs: number;
}): Finding {
  const { text, expiresMs, track, lifeMs } = what;
  const found = Number(text);
  const moments = track.moments.get(found);
  if (moments === undefined) return { wrong: `value ${text} of a write that is not among the possible ones` };
  const earliest = moments.sentMs + lifeMs;
  const latest = (moments.ackedMs ?? Number.POSITIVE_INFINITY) + lifeMs;
  if (typeof expiresMs === "number" && expiresMs >= earliest && expiresMs <= latest) return { found };
  return { wrong: `write ${found} expires at ${expiresMs}, requested ${earliest} to ${latest}` };
}

/** The key is gone: that is right as soon as one of the writes that may be the last has expired. */
function findExpired(time: Value, track: Track): Finding {
  if (track.acked === 0) return { found: 0 };
  const [seconds, micros] = Array.isArray(time) ? time : [0, 0];
  const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  for (const [n, { sentMs }] of track.moments)
    if (n >= track.acked && nowMs >= sentMs + EXPIRE_SOON_MS) return { found: n };
  return { wrong: `gone at ${nowMs}, before write ${track.acked} expires` };
}

function blobOf(n: number): string {
  const word = `${n},`;
  return word.repeat(Math.ceil(BLOB_LENGTH / word.length));
}
