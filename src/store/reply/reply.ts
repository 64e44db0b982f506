/**
 * The reply of a command, in the terms of RESP3. The three encoders of `edge/`
 * (JSON, JSON with base64, RESP) print it; RESP2 and JSON flatten the kinds that
 * they do not have.
 *
 * The common replies are plain JavaScript values, so that a hot command
 * allocates nothing but its answer:
 *
 *     Bytes (string)     a bulk string
 *     Buffer             a bulk string that is stored as a Buffer (long, or changed in place)
 *     number | bigint    an integer; a bigint only beyond ±(2^53 - 1)
 *     null               no value: `$-1` in RESP2
 *     Reply[]            an array
 *
 * and the rest are small frozen objects with a `kind`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandError } from "../errors.ts";

export type Reply = Bytes | Buffer | number | bigint | null | readonly Reply[] | Special;

export type Special =
  /** A simple string (`+OK`). */
  | { readonly kind: "simple"; readonly text: string }
  /** An error inside an array, or the outcome of a failed command. */
  | { readonly kind: "error"; readonly error: CommandError }
  /** The null array: `*-1` in RESP2, where Redis distinguishes it from `$-1`. */
  | { readonly kind: "nil array" }
  /** A double: `,3.5` in RESP3, a bulk string as Redis prints it elsewhere. `text`: set if it has another spelling. */
  | { readonly kind: "double"; readonly value: number; readonly text?: Bytes }
  /** Pairs: `%` in RESP3, a flat array elsewhere. */
  | { readonly kind: "map"; readonly pairs: readonly (readonly [Reply, Reply])[] }
  /** Pairs: `%` in RESP3, an array of arrays of two elsewhere. */
  | { readonly kind: "pairs"; readonly pairs: readonly (readonly [Reply, Reply])[] }
  /** Pairs, flat: an array of arrays of two in RESP3, flat elsewhere. Used for members with scores. */
  | { readonly kind: "flat pairs"; readonly items: readonly Reply[] }
  /** An array in RESP3, another reply elsewhere: JSON.TYPE and JSON.NUMINCRBY. */
  | { readonly kind: "array in resp3"; readonly items: readonly Reply[]; readonly elsewhere: Reply }
  /** Distinct members: `~` in RESP3, an array elsewhere. */
  | { readonly kind: "set"; readonly members: readonly Reply[] }
  /** `#t` in RESP3, 1 or 0 elsewhere. */
  | { readonly kind: "boolean"; readonly value: boolean }
  /** Text for people: `=` with `txt:` in RESP3, a bulk string elsewhere. */
  | { readonly kind: "verbatim"; readonly text: Bytes }
  /** A push: `>` in RESP3, an array elsewhere. */
  | { readonly kind: "push"; readonly items: readonly Reply[] }
  /** No reply now: it is passed to `Caller.waiting` later, or the command has no reply. Never printed. */
  | { readonly kind: "later" };

export const ok: Reply = Object.freeze({ kind: "simple", text: "OK" });
export const pong: Reply = Object.freeze({ kind: "simple", text: "PONG" });
export const later: Reply = Object.freeze({ kind: "later" });
export const nil: Reply = null;
export const nilArray: Reply = Object.freeze({ kind: "nil array" });
export const zero: Reply = 0;
export const one: Reply = 1;
export const emptyArray: Reply = Object.freeze([]);

export function simple(text: string): Reply {
  return { kind: "simple", text };
}

/** A bulk string, or nil for `undefined`. */
export function bulk(bytes: Bytes | Buffer | undefined): Reply {
  return bytes === undefined ? null : bytes;
}

/** An integer; a bigint that fits a number is printed the same, so callers need not convert it. */
export function integer(value: number | bigint): Reply {
  return value;
}

export function double(value: number): Reply {
  return { kind: "double", value };
}

export function map(pairs: readonly (readonly [Reply, Reply])[]): Reply {
  return { kind: "map", pairs };
}

export function pairs(pairs: readonly (readonly [Reply, Reply])[]): Reply {
  return { kind: "pairs", pairs };
}

export function flatPairs(items: readonly Reply[]): Reply {
  return { kind: "flat pairs", items };
}

export function arrayInResp3(items: readonly Reply[], elsewhere: Reply): Reply {
  return { kind: "array in resp3", items, elsewhere };
}

/** Items in flat pairs. */
export function pairsOf(items: readonly Reply[]): readonly (readonly Reply[])[] {
  const pairs: (readonly Reply[])[] = [];
  for (let i = 0; i < items.length; i += 2) pairs.push(items.slice(i, i + 2));
  return pairs;
}

export function set(members: readonly Reply[]): Reply {
  return { kind: "set", members };
}

export function push(items: readonly Reply[]): Reply {
  return { kind: "push", items };
}

export function verbatim(text: Bytes): Reply {
  return { kind: "verbatim", text };
}

export function errorReply(error: CommandError): Reply {
  return { kind: "error", error };
}

/** The error of this reply, if it is one, for a whole command. */
export function findError(reply: Reply): CommandError | undefined {
  return typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "error"
    ? reply.error
    : undefined;
}
