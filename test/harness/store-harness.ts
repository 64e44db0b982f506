/**
 * A separate store for tests of commands: words in, replies out, a clock that
 * is stopped until the test advances it.
 *
 *     const session = startSession();
 *     session.expect([
 *       ["SET k v EX 10", ok],
 *       ["GET k", "v"],
 *       ['APPEND k "\\x00\\xff"', 3],
 *       ["INCR k", error("ERR value is not an integer or out of range")],
 *     ]);
 *
 * A line is split as redis-cli splits it: at spaces, with "…" (escapes `\n \r
 * \t \b \a \" \\ \xHH`) and '…'. Replies are those of `reply.ts`, except that a
 * long string, which the engine answers as a Buffer, is shown as Bytes.
 */

import assert from "node:assert/strict";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { type Journal, NullJournal } from "../../src/kernel/journal.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { defaultUser } from "../../src/store/acl/built-in-users.ts";
import type { RedisCompat } from "../../src/store/commands/redis-compat.ts";
import type { Database } from "../../src/store/database.ts";
import { CommandError } from "../../src/store/errors.ts";
import { errorReply, type Reply } from "../../src/store/reply/reply.ts";
import type { Caller } from "../../src/store/session/caller.ts";
import { Store } from "../../src/store/store.ts";
import { luaOptions } from "./lua.ts";

export { nil, nilArray, ok } from "../../src/store/reply/reply.ts";

/** The reply of a command that fails with this text. */
export function error(text: string): Reply {
  return errorReply(new CommandError(text));
}

export const testCaller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };

/** One row of a table: the line, and the literal reply. */
export type Row = readonly [line: string, reply: Reply];

export interface Session {
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly database: Database;
  /** Runs the words unchanged. */
  call(...words: readonly Bytes[]): Reply;
  /** Splits the line into words and runs them. */
  run(line: string): Reply;
  /** Runs the lines in order and compares each reply. */
  expect(rows: readonly Row[]): void;
}

/** With `compat`, the lines are sent over TCP, since it has no effect elsewhere. */
export function startSession(options?: {
  journal?: Journal;
  clock?: VirtualClock;
  compat?: RedisCompat;
  pendingEntriesMax?: number;
}): Session {
  const clock = options?.clock ?? new VirtualClock();
  const compat = options?.compat;
  const caller: Caller = { ...testCaller, transport: compat === undefined ? "http" : "tcp" };
  const store = new Store({
    journal: options?.journal ?? new NullJournal(),
    clock,
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    lua: luaOptions,
    ...(compat === undefined ? {} : { compat }),
    pendingEntriesMax: options?.pendingEntriesMax ?? 0,
  });
  const database = store.database("main");
  database.sliced.limits = { ...database.sliced.limits, sliceSteps: Number.POSITIVE_INFINITY };
  const call = (...words: readonly Bytes[]): Reply => {
    const reply = database.command(caller, words);
    assert.ok(!(reply instanceof Promise), "a journal that is always durable answers at once");
    return plainReply(reply);
  };
  const run = (line: string): Reply => call(...splitLine(line));
  return {
    clock,
    store,
    database,
    call,
    run,
    expect(rows) {
      for (const [line, reply] of rows) assert.deepEqual(run(line), reply, line);
    },
  };
}

/** The reply with every Buffer in it as Bytes. */
export function plainReply(reply: Reply): Reply {
  if (Buffer.isBuffer(reply)) return reply.latin1Slice();
  if (Array.isArray(reply)) return reply.map(plainReply);
  if (typeof reply !== "object" || reply === null || !("kind" in reply)) return reply;
  if (reply.kind === "map" || reply.kind === "pairs") {
    const pairs = reply.pairs.map(([name, value]) => [plainReply(name), plainReply(value)] as const);
    return { kind: reply.kind, pairs };
  }
  if (reply.kind === "array in resp3") return plainReply(reply.elsewhere);
  if (reply.kind === "flat pairs") return reply.items.map(plainReply);
  if (reply.kind === "double" && reply.text !== undefined) return reply.text;
  if (reply.kind === "push") return { kind: "push", items: reply.items.map(plainReply) };
  if (reply.kind === "set") return { kind: "set", members: reply.members.map(plainReply) };
  return reply;
}

const WORD = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']+))(?=\s|$)/y;
const ESCAPED = /\\(?:x([0-9a-fA-F]{2})|(.))/g;
const CONTROLS: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["b", "\b"],
  ["a", "\x07"],
]);

/** The words of a line as redis-cli reads it. */
export function splitLine(line: string): Bytes[] {
  const words: Bytes[] = [];
  const text = line.trim();
  WORD.lastIndex = 0;
  while (WORD.lastIndex < text.length) {
    const start = WORD.lastIndex;
    const found = WORD.exec(text);
    assert.ok(found !== null, `a line has only words and closed quotes: ${text.slice(start)}`);
    const [, quoted, literal, bare] = found;
    words.push(quoted === undefined ? (literal ?? bare ?? "") : unquote(quoted));
  }
  return words;
}

function unquote(quoted: string): Bytes {
  return quoted.replace(ESCAPED, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (CONTROLS.get(letter) ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The words as a line that `splitLine` reads back. */
export function joinLine(words: readonly Bytes[]): string {
  return words.map(quoteWord).join(" ");
}

function quoteWord(word: Bytes): string {
  if (/^[\w.:+*()[\]{}<>/@#%=,;!?&^|~-]+$/.test(word)) return word;
  const escaped = word.replace(/["\\]|[^\x20-\x7e]/g, (character) =>
    character === '"' || character === "\\"
      ? `\\${character}`
      : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}
