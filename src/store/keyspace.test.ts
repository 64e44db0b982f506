/**
 * Expired keys: the command that finds one removes it, at the head of its frame; replay follows the records alone;
 * where nothing may be written, the key stays in place unseen. And keys named like the properties of every object.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hashFamily } from "../../test/differential/families/hash.ts";
import { drawProgram } from "../../test/differential/programs.ts";
import { contentOf, RecordingJournal, replayed, restored } from "../../test/harness/recording-journal.ts";
import { nil, ok, type Row, type Session, startSession } from "../../test/harness/store-harness.ts";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { FrameReader } from "../kernel/frame.ts";
import { mutations } from "./mutations/table.ts";
import { map, simple } from "./reply/reply.ts";
import { HashValue } from "./values/hash.ts";

const YEAR_MS = 31_536_000_000;

function sessionWithJournal(): Session & { journal: RecordingJournal } {
  const journal = new RecordingJournal();
  return { ...startSession({ journal }), journal };
}

/** Name, key and, for a hash field, field of the first record of a frame. */
function headOf(frame: Buffer | undefined): readonly string[] {
  assert.ok(frame !== undefined, "a frame exists");
  const reader = new FrameReader(frame);
  reader.number();
  const code = reader.code();
  const name = mutations.find((mutation) => mutation.code === code)?.name ?? "";
  return name.endsWith("-field") ? [name, reader.bytes(), reader.bytes()] : [name, reader.bytes()];
}

test("a command that finds an expired key removes it, by a record at the head of its frame", () => {
  const lines = [
    "GET k",
    "EXISTS k",
    "TTL k",
    "TYPE k",
    "SCAN 0",
    "KEYS *",
    "RANDOMKEY",
    "SET k w NX",
    "DEL k",
    "RENAMENX s k",
  ];
  for (const line of lines) {
    const session = sessionWithJournal();
    session.run("SET k v PX 5");
    if (line.startsWith("RENAMENX")) session.run("SET s v");
    session.clock.advance(6);
    const before = session.journal.frames.length;

    session.run(line);

    assert.equal(session.journal.frames.length, before + 1, line);
    assert.deepEqual(headOf(session.journal.frames.at(-1)), ["expire-key", "k"], line);
    assert.equal(session.database.keyspace.expiredCount, 1);
    assert.deepEqual(contentOf(replayed(session.journal.frames)), contentOf(session.store), line);
  }
});

test("a command that finds an expired hash field removes it, by a record at the head of its frame", () => {
  const lines = [
    "HGET h g",
    "HLEN h",
    "HGETALL h",
    "HSET h f w",
    "HDEL h g",
    "EXISTS h",
    "TYPE h",
    "SCAN 0",
    "COPY h c",
    "HTTL h FIELDS 1 g",
  ];
  for (const line of lines) {
    const session = sessionWithJournal();
    session.run("HSET h f v g w");
    session.run("HPEXPIRE h 5 FIELDS 1 f");
    session.clock.advance(6);
    const before = session.journal.frames.length;

    session.run(line);

    assert.equal(session.journal.frames.length, before + 1, line);
    assert.deepEqual(headOf(session.journal.frames.at(-1)), ["expire-field", "h", "f"], line);
    assert.equal(session.database.keyspace.expiredFieldCount, 1);
    assert.deepEqual(contentOf(replayed(session.journal.frames)), contentOf(session.store), line);
  }
});

test("an expired key leaves no further frames once it is removed", () => {
  const session = sessionWithJournal();
  session.run("SET k v PX 5");
  session.clock.advance(6);
  session.run("GET k");
  const before = session.journal.frames.length;

  session.expect([
    ["GET k", nil],
    ["EXISTS k", 0],
  ]);

  assert.equal(session.journal.frames.length, before);
});

test("replay removes by records and never by the clock, however late it is", () => {
  const session = sessionWithJournal();
  session.run("SET k v PX 5");
  session.run("HSET h f v g w");
  session.run("HPEXPIRE h 5 FIELDS 1 f");
  session.run("SET lasting v");
  const served = contentOf(session.store);

  const late = replayed(session.journal.frames, new VirtualClock(session.clock.nowMs() + 10 * YEAR_MS));

  assert.deepEqual(contentOf(late), served);
  assert.equal(late.database("main").keyspace.size, 3);
});

test("replay changes a key that was alive when it was changed, however late it is", () => {
  const session = sessionWithJournal();
  session.run("SET n 1 PX 5");
  session.run("INCR n");
  session.run("PERSIST n");
  session.run("HSET h f 1");
  session.run("HPEXPIRE h 5 FIELDS 1 f");
  session.run("HINCRBY h f 1");
  session.run("HPERSIST h FIELDS 1 f");

  const late = replayed(session.journal.frames, new VirtualClock(session.clock.nowMs() + 10 * YEAR_MS));

  assert.deepEqual(contentOf(late), contentOf(session.store));
});

test("S-04: while the journal refuses writes, an expired key stays in place and is not seen", () => {
  const session = sessionWithJournal();
  session.run("SET k v PX 5");
  session.run("HSET h f v g w");
  session.run("HPEXPIRE h 5 FIELDS 1 f");
  session.run("HSET gone f v g w");
  session.run("HPEXPIRE gone 5 FIELDS 2 f g");
  session.clock.advance(6);
  session.journal.refusal = "No space left on device";
  const before = session.journal.frames.length;
  const served = contentOf(session.store);

  const unseen: Row[] = [
    ["GET k", nil],
    ["EXISTS k h gone", 1],
    ["TTL k", -2],
    ["TYPE k", simple("none")],
    ["TYPE gone", simple("none")],
    ["OBJECT ENCODING gone", nil],
    ["KEYS *", ["h"]],
    ["SCAN 0 COUNT 100", ["0", ["h"]]],
    ["RANDOMKEY", "h"],
    ["HGET h f", nil],
    ["HGETALL h", map([["g", "w"]])],
    ["HLEN h", 1],
    ["HTTL h FIELDS 2 f g", [-2, -1]],
    ["HSCAN h 0", ["0", ["g", "w"]]],
    ["HRANDFIELD h 5", ["g"]],
    ["HLEN gone", 0],
    ["HGETALL gone", map([])],
    ["TOUCH gone", 0],
  ];
  session.expect(unseen);

  assert.equal(session.journal.frames.length, before);
  assert.deepEqual(contentOf(session.store), served);
  assert.equal(session.database.sweepExpired(), 0);

  session.journal.refusal = undefined;
  session.expect(unseen);
  session.expect([["DBSIZE", 1]]);
  assert.deepEqual(contentOf(replayed(session.journal.frames)), contentOf(session.store));
});

test("random programs leave the tables of a keyspace consistent, and so does their replay", () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const session = sessionWithJournal();
    for (const command of drawProgram(hashFamily, { seed, extensions: true }).steps.flat()) session.call(...command);
    for (const store of [session.store, replayed(session.journal.frames), restored(session.store.dump())]) {
      const { entries, expiries, fieldExpiryKeys } = store.database("main").keyspace;
      for (const key of expiries.keys())
        assert.ok(entries.has(key), `seed ${seed}: a key with an expiry exists: ${key}`);
      const expiring = new Set<string>();
      for (const [key, value] of entries.entries()) {
        if (!(value instanceof HashValue)) continue;
        assert.ok(value.size > 0, `seed ${seed}: a hash is not empty: ${key}`);
        if (value.hasExpiries) expiring.add(key);
      }
      assert.deepEqual(new Set(fieldExpiryKeys.keys()), expiring, `seed ${seed}`);
    }
  }
});

const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", ""];

test("A-11: property names of every object are ordinary keys and fields", () => {
  const name = fc.constantFrom(...NAMES);
  const step = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key: name, field: name, value: name }),
    fc.record({ kind: fc.constant("delete" as const), key: name, field: name, value: name }),
    fc.record({ kind: fc.constant("remove" as const), key: name, field: name, value: name }),
    fc.record({ kind: fc.constant("expire" as const), key: name, field: name, value: name }),
    fc.record({ kind: fc.constant("rename" as const), key: name, field: name, value: name }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const session = startSession();
      const model = new Map<string, Map<string, string>>();
      for (const { kind, key, field, value } of steps) {
        const fields = model.get(key);
        if (kind === "set") {
          assert.equal(session.call("HSET", key, field, value), fields?.has(field) === true ? 0 : 1);
          if (fields === undefined) model.set(key, new Map([[field, value]]));
          else fields.set(field, value);
        } else if (kind === "delete") {
          assert.equal(session.call("HDEL", key, field), fields?.delete(field) === true ? 1 : 0);
          if (fields?.size === 0) model.delete(key);
        } else if (kind === "remove") {
          assert.equal(session.call("DEL", key), model.delete(key) ? 1 : 0);
        } else if (kind === "expire") {
          assert.deepEqual(session.call("HEXPIRE", key, "0", "FIELDS", "1", field), [
            fields?.delete(field) === true ? 2 : -2,
          ]);
          if (fields?.size === 0) model.delete(key);
        } else if (fields !== undefined) {
          assert.deepEqual(session.call("RENAME", key, field), ok);
          model.delete(key);
          model.set(field, fields);
        }
      }
      assert.deepEqual((session.run("KEYS *") as string[]).toSorted(), [...model.keys()].toSorted());
      for (const key of NAMES) {
        const fields = model.get(key);
        assert.equal(session.call("EXISTS", key), fields === undefined ? 0 : 1);
        for (const field of NAMES) assert.equal(session.call("HGET", key, field), fields?.get(field) ?? null);
        assert.equal(session.call("HLEN", key), fields?.size ?? 0);
      }
    }),
  );
});
