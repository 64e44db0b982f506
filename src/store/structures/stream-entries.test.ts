/** Entries in chunks, and items in the order of ids, against a plain array. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { IdOrder } from "./id-order.ts";
import type { StreamEntry } from "./stream-chunk.ts";
import { StreamEntries } from "./stream-entries.ts";
import { compareIds, formatId, ID_MAX, ID_MIN, type StreamId, WHOLE_MAX } from "./stream-id.ts";

const SEED = Number(process.env["LARDER_STREAM_SEED"] ?? 1);

function anyId(random: Random): StreamId {
  if (random.below(50) === 0) return random.below(2) === 0 ? ID_MIN : ID_MAX;
  return { ms: random.below(400), seq: random.below(5) };
}

function plain({ ms, seq, names, values }: StreamEntry): unknown {
  return [formatId({ ms, seq }), names, values];
}

test("adding, trimming and removing give the entries of a plain array", () => {
  const random = seededRandom(SEED);
  for (let round = 0; round < 60; round += 1) {
    let entries = new StreamEntries();
    let expected: StreamEntry[] = [];
    let ms = 0;
    for (let step = 0; step < 900; step += 1) {
      const what = random.below(20);
      const id = anyId(random);
      const note = `LARDER_STREAM_SEED=${SEED} round ${round} step ${step}`;
      if (what < 14) {
        ms += random.below(2);
        const last = expected.at(-1);
        const seq = last?.ms === ms ? Number(last.seq) + 1 + random.below(3) : 0;
        const names = random.below(8) === 0 ? ["a", "b"] : ["name"];
        const values = names.map(() => "\x00\xffvalue".repeat(random.below(random.below(40) === 0 ? 900 : 8)));
        const entry = { ms, seq, names, values };
        entries.append(entry);
        expected.push(entry);
      } else if (what < 16) {
        const removed = entries.remove(id);
        assert.equal(
          removed,
          expected.some((one) => compareIds(one, id) === 0),
          note,
        );
        expected = expected.filter((one) => compareIds(one, id) !== 0);
      } else if (what === 16) {
        const count = Math.min(random.below(random.below(6) === 0 ? 300 : 5), expected.length);
        entries.dropFirst(count);
        expected = expected.slice(count);
      } else if (what === 17) {
        entries = entries.copy();
      } else {
        const [from, to] = [id, anyId(random)];
        const within = expected.filter((one) => compareIds(one, from) >= 0 && compareIds(one, to) <= 0).slice(0, 40);
        const found: StreamEntry[] = [];
        entries.visit(from, to, (entry) => found.push(entry) < 40);
        assert.deepEqual(found.map(plain), within.map(plain), note);
        const before = expected.filter((one) => compareIds(one, from) < 0).length;
        assert.equal(entries.countBefore(from, expected.length), before, note);
      }
      assert.equal(entries.length, expected.length, note);
    }
    const backwards: StreamEntry[] = [];
    entries.visitBackwards(ID_MIN, ID_MAX, (entry) => backwards.push(entry) > 0);
    assert.deepEqual(backwards.map(plain), expected.toReversed().map(plain));
    assert.deepEqual(entries.first && plain(entries.first), expected[0] && plain(expected[0]));
    assert.deepEqual(entries.last && plain(entries.last), expected.at(-1) && plain(expected.at(-1) as StreamEntry));
  }
});

test("packed chunks have ids beyond exact numbers, too", () => {
  const entries = new StreamEntries();
  for (let i = 0; i < 150; i += 1)
    entries.append({ ms: WHOLE_MAX, seq: WHOLE_MAX - 150n + BigInt(i), names: ["n"], values: [`${i}`] });
  assert.equal(entries.remove({ ms: WHOLE_MAX, seq: WHOLE_MAX - 100n }), true);
  assert.deepEqual(entries.first, { ms: WHOLE_MAX, seq: WHOLE_MAX - 150n, names: ["n"], values: ["0"] });
  assert.deepEqual(entries.find({ ms: WHOLE_MAX, seq: WHOLE_MAX - 99n })?.values, ["51"]);
  assert.equal(entries.length, 149);
});

test("the order of ids is that of a sorted array", () => {
  const random = seededRandom(SEED);
  const order = new IdOrder<StreamId>();
  let expected: StreamId[] = [];
  for (let step = 0; step < 20_000; step += 1) {
    const id = anyId(random);
    const found = expected.find((one) => compareIds(one, id) === 0);
    assert.equal(order.find(id), found);
    if (found === undefined && random.below(3) > 0) {
      order.insert(id);
      expected.push(id);
      expected.sort(compareIds);
    } else {
      assert.equal(order.remove(id), found);
      expected = expected.filter((one) => one !== found);
    }
    if (step % 500 !== 0) continue;
    assert.deepEqual(order.all(), expected);
    assert.equal(order.size, expected.length);
    assert.deepEqual([order.first, order.last], [expected[0], expected.at(-1)]);
    const [from, to] = [id, anyId(random)];
    const within = expected.filter((one) => compareIds(one, from) >= 0 && compareIds(one, to) <= 0);
    const forwards: StreamId[] = [];
    const backwards: StreamId[] = [];
    order.visit(from, to, (one) => forwards.push(one) > 0);
    order.visitBackwards(from, to, (one) => backwards.push(one) > 0);
    assert.deepEqual([forwards, backwards.toReversed()], [within, within]);
  }
});
