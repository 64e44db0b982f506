/** The outcome of each key, with a fake store: its mistakes are found. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { type Dumped, writePayload } from "../../store/structures/rdb/payload.ts";
import { ReplyError, type RespReply } from "../redis/replies.ts";
import type { StoreCalls } from "./calls.ts";
import { StoreSink, type StoreSinkOptions } from "./sink.ts";
import type { SourceEntry } from "./source.ts";

const NOW_MS = 1_000_000;

function dump(value: Dumped): Bytes {
  return bytesFrom(writePayload(value));
}

const hello = dump({ kind: "string", bytes: "hello" });

function entry(key: string, payload: Bytes = hello, atMs?: number): SourceEntry {
  return { key, atMs, value: { kind: "dump", payload } };
}

interface Made {
  readonly sink: StoreSink;
  readonly troubles: string[];
  /** The words of each command, but for payloads; a batch is a list. */
  readonly sent: string[][];
}

/** A sink on a store that answers each command as told, by its name and key. */
function sinkOn(
  answer: (name: string, key: string) => RespReply | undefined,
  options: Partial<StoreSinkOptions> = {},
): Made {
  const troubles: string[] = [];
  const sent: string[][] = [];
  const calls = {
    base: "http://store",
    async pipeline(commands: readonly (readonly string[])[]) {
      sent.push(commands.map((words) => words.filter((_, at) => words[0] !== "RESTORE" || at !== 3).join(" ")));
      return commands.map(([name = "", key = ""]) => {
        const reply = answer(name, key);
        if (reply !== undefined) return reply;
        return { RESTORE: "OK", DUMP: hello, PEXPIRETIME: -1 }[name] ?? null;
      });
    },
  } as unknown as StoreCalls;
  const clock = new VirtualClock(NOW_MS);
  const sink = new StoreSink({
    calls,
    clock,
    replaces: false,
    requestBytesMax: 10_000,
    onTrouble: (key, reason) => troubles.push(`${key}: ${reason}`),
    ...options,
  });
  return { sink, troubles, sent };
}

function nonZero(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].filter(([, count]) => count > 0));
}

test("counts each key by its outcome", async () => {
  const made = sinkOn((name, key) => {
    if (name === "RESTORE" && key === "bad") return new ReplyError("ERR Bad data format");
    if (name === "RESTORE" && ["there", "other", "lasting", "estimated"].includes(key))
      return new ReplyError("BUSYKEY Target key name");
    if (name === "PEXPIRETIME" && key === "estimated") return NOW_MS + 60_300;
    if (name === "DUMP" && (key === "other" || key === "changed")) return dump({ kind: "string", bytes: "changed" });
    if (name === "DUMP" && key === "gone") return null;
    if (name === "PEXPIRETIME" && key === "soon") return NOW_MS + 5;
    if (name === "PEXPIRETIME" && key === "later") return NOW_MS + 6;
    return undefined;
  });

  const counts = await made.sink.store([
    entry("stored"),
    entry("soon", hello, NOW_MS + 5),
    entry("later", hello, NOW_MS + 5),
    entry("never", hello, NOW_MS + 5),
    entry("there"),
    entry("other"),
    entry("lasting", hello, NOW_MS + 60_000),
    entry("estimated", hello, NOW_MS + 60_000),
    entry("past", hello, NOW_MS),
    entry("bad"),
    entry("changed"),
    entry("gone"),
    { key: "module", atMs: undefined, value: { kind: "refused", reason: "a module" } },
  ]);

  assert.deepEqual(nonZero(counts), { stored: 2, same: 2, kept: 2, expired: 1, refused: 2, different: 4 });
  assert.deepEqual(made.troubles, [
    "module: a module",
    `later: it expires at ${NOW_MS + 6} instead of ${NOW_MS + 5}`,
    `never: it expires at -1 instead of ${NOW_MS + 5}`,
    "bad: ERR Bad data format",
    "changed: the stored value differs from the source",
    "gone: the stored value differs from the source",
  ]);
});

test("a hash whose fields have all expired may be absent after the import", async () => {
  const hash = (...expiriesMs: number[]): Bytes =>
    dump({ kind: "hash", fields: ["f", "g"], values: ["v", "w"], expiriesMs });
  const made = sinkOn((name) => (name === "DUMP" ? null : undefined));

  const counts = await made.sink.store([
    entry("all", hash(NOW_MS - 1, NOW_MS)),
    entry("one", hash(NOW_MS, NOW_MS + 1)),
    entry("lasting", hash(NOW_MS, 0)),
    entry("plain", dump({ kind: "hash", fields: ["f"], values: ["v"] })),
  ]);

  assert.deepEqual(nonZero(counts), { expired: 1, different: 3 });
  assert.deepEqual(made.troubles, [
    "one: the stored value differs from the source",
    "lasting: the stored value differs from the source",
    "plain: the stored value differs from the source",
  ]);
});

test("an error that would fail every key ends the import", async () => {
  for (const text of ["OOM command not allowed", "NOPERM this user", "ERR max daily request limit exceeded"]) {
    const { sink } = sinkOn((name) => (name === "RESTORE" ? new ReplyError(text) : undefined));
    await assert.rejects(sink.store([entry("k")]), new StartRefusal(`http://store: ${text}`));
  }
});

test("knows a key that was written before another key ended the import", async () => {
  const { sink } = sinkOn((name, key) => (name === "RESTORE" && key === "b" ? new ReplyError("OOM") : undefined));
  assert.equal(sink.hasWritten, false);
  await assert.rejects(sink.store([entry("a"), entry("b")]), new StartRefusal("http://store: OOM"));
  assert.equal(sink.hasWritten, true);
});

test("requests are as large as the server accepts, and a key that fits into none is refused", async () => {
  const long = dump({ kind: "string", bytes: "x".repeat(5_000) });
  const made = sinkOn((name, key) => (name === "DUMP" && key !== "s" ? long : undefined));

  const counts = await made.sink.store([
    entry("a", long),
    entry("b", dump({ kind: "string", bytes: "x".repeat(20_000) })),
    entry("c", long),
    entry("s"),
  ]);

  assert.deepEqual(
    made.sent.map((batch) => batch.join(", ")),
    ["RESTORE a 0, DUMP a, PEXPIRETIME a", "RESTORE c 0, DUMP c, PEXPIRETIME c, RESTORE s 0, DUMP s, PEXPIRETIME s"],
  );
  assert.deepEqual(nonZero(counts), { stored: 3, refused: 1 });
  assert.match(
    made.troubles[0] ?? "",
    /^b: it takes 201\d\d bytes, but a request to this larder may have at most 10000: /,
  );
});
