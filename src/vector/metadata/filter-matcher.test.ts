/** Filters over all records: cached results, shared arrays, and slices of work. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileFilter } from "../filter/filter.ts";
import { RowMemory } from "../rows/row-memory.ts";
import { type FilterMatch, FilterMatcher } from "./filter-matcher.ts";
import { MetadataStore } from "./metadata-store.ts";

const ALL_AT_ONCE = 1e9;
const memory = new RowMemory();

interface Fixture {
  readonly store: MetadataStore;
  readonly matcher: FilterMatcher;
}

function fixtureOf(texts: readonly (string | undefined)[]): Fixture {
  const store = new MetadataStore(memory);
  for (const [record, text] of texts.entries()) store.set(record, text);
  return { store, matcher: new FilterMatcher(store) };
}

/** Records with three fields: one of 50 users, a number, and a unique title. */
function shelf(count: number): Fixture {
  return fixtureOf(
    Array.from({ length: count }, (_, i) => `{"user":"user ${i % 50}","number":${i},"title":"Title number ${i}"}`),
  );
}

function recordsOf({ matches }: FilterMatch): readonly number[] {
  const records: number[] = [];
  for (let record = 0; record < 32 * matches.length; record += 1)
    if ((((matches[record >>> 5] ?? 0) >>> (record & 31)) & 1) === 1) records.push(record);
  return records;
}

function matched({ matcher }: Fixture, filter: string): readonly number[] {
  const match = matcher.start(compileFilter(filter));
  assert.equal(match.step(ALL_AT_ONCE), true);
  const records = recordsOf(match);
  assert.equal(match.count, records.length);
  return records;
}

/** Steps until the end and returns the number of steps. */
function finish(match: FilterMatch, work: number): number {
  let steps = 1;
  while (!match.step(work)) steps += 1;
  return steps;
}

test("B2.filter: records without metadata pass filters that require no field, missing records pass none", () => {
  const fixture = fixtureOf(['{"a":1}', undefined, "{}", '{"a":null}', '{"a":{"b":2}}']);
  fixture.store.set(40, '{"a":1}');
  fixture.store.remove(2);
  assert.deepEqual(matched(fixture, ""), [0, 1, 3, 4, 40]);
  assert.deepEqual(matched(fixture, "HAS NOT FIELD a"), [1]);
  assert.deepEqual(matched(fixture, "HAS FIELD a"), [0, 3, 4, 40]);
  assert.deepEqual(matched(fixture, "a = 1 OR a.b = 2"), [0, 4, 40]);
  assert.deepEqual(matched(fixture, "HAS NOT FIELD a.b AND a != 2"), [0, 40]);
  assert.equal(fixture.matcher.passesNow(1, compileFilter("HAS NOT FIELD a")), true);
  assert.equal(fixture.matcher.passesNow(2, compileFilter("HAS NOT FIELD a")), false);
  assert.equal(fixture.matcher.passesNow(999, compileFilter("HAS NOT FIELD a")), false);
});

test("a namespace without records has no matches", () => {
  const fixture = fixtureOf([]);
  for (const filter of ["", "a = 1", "HAS NOT FIELD a", "a = 1 AND b GLOB '*'"])
    assert.deepEqual(matched(fixture, filter), []);
});

test("A-11: names of Object.prototype are fields like any other", () => {
  const fixture = fixtureOf(['{"__proto__":{"x":1},"constructor":2}', '{"toString":"__proto__"}', "{}"]);
  assert.deepEqual(matched(fixture, "__proto__.x = 1"), [0]);
  assert.deepEqual(matched(fixture, "HAS NOT FIELD __proto__"), [1, 2]);
  assert.deepEqual(matched(fixture, "HAS FIELD constructor"), [0]);
  assert.deepEqual(matched(fixture, "toString = '__proto__'"), [1]);
});

test("B2.filter.any: columns of paths with [*] find records by any element, and follow changes of elements", () => {
  const fixture = fixtureOf([
    '{"k":1,"a":[{"x":1},{"x":5,"t":"b"}]}',
    '{"k":1,"a":[{"x":null},{}]}',
    '{"k":1,"a":[]}',
    '{"k":2,"a":[{"x":true},{"x":[7]}]}',
    '{"k":1,"a":[{"x":1e999}]}',
    undefined,
    '{"k":1,"a":[{"x":-1e999}]}',
  ]);
  assert.deepEqual(matched(fixture, "a[*].x = 1"), [0, 3]);
  assert.deepEqual(matched(fixture, "a[*].x != 1"), [0, 4, 6]);
  assert.deepEqual(matched(fixture, "a[*].x > 2"), [0, 4]);
  assert.deepEqual(matched(fixture, "a[*].x <= 1"), [0, 6]);
  assert.deepEqual(matched(fixture, "a[*].x IN (5, true)"), [0, 3]);
  assert.deepEqual(matched(fixture, "a[*].x CONTAINS 7"), [3]);
  assert.deepEqual(matched(fixture, "a[*].t >= 'b'"), [0]);
  assert.deepEqual(matched(fixture, "HAS FIELD a[*].x"), [0, 1, 3, 4, 6]);
  assert.deepEqual(matched(fixture, "HAS NOT FIELD a[*].x"), [2, 5]);
  assert.deepEqual(matched(fixture, "k = 1 AND HAS FIELD a[*].x"), [0, 1, 4, 6]);
  assert.deepEqual(matched(fixture, "k = 1 AND HAS NOT FIELD a[*].x"), [2]);

  fixture.store.set(0, '{"k":1,"a":[{"x":1},{"x":0,"t":"b"}]}');
  fixture.store.set(2, '{"k":1,"a":[{},{"x":9,"t":"a"}]}');
  assert.deepEqual(matched(fixture, "a[*].x > 2"), [2, 4]);
  assert.deepEqual(matched(fixture, "a[*].x > 3"), [2, 4]);
  assert.deepEqual(matched(fixture, "a[*].t >= 'a' AND a[*].x < 9"), [0]);
  assert.deepEqual(matched(fixture, "HAS NOT FIELD a[*].x"), [5]);
});

test("B2.filter.order: columns find ranges of texts by code points", () => {
  const fixture = fixtureOf(
    ["\uffee", "😀", "a", "b", "😀a"].map((t) => JSON.stringify({ t, "a.b": t })).concat('{"t":5}', '{"t":["b"]}'),
  );
  assert.deepEqual(matched(fixture, "t < '😀'"), [0, 2, 3]);
  assert.deepEqual(matched(fixture, "t >= '😀'"), [1, 4]);
  assert.deepEqual(matched(fixture, "t > '\uffee'"), [1, 4]);
  assert.deepEqual(matched(fixture, "t <= 'b'"), [2, 3]);
  assert.deepEqual(matched(fixture, "`a.b` > 'a' AND `a.b` < '😀a'"), [0, 1, 3]);
  assert.deepEqual(matched(fixture, "a.b > 'a' OR t > 4"), [5]);
  fixture.store.set(2, '{"t":"😁"}');
  fixture.store.remove(1);
  assert.deepEqual(matched(fixture, "t >= '😀'"), [2, 4]);
});

test("a repeated filter gives the same array, and its version shows changes", () => {
  const { store, matcher } = shelf(1_000);
  const first = matcher.start(compileFilter("user = 'user 7'"));
  assert.equal(first.step(ALL_AT_ONCE), true);
  const { matches, version } = first;
  const second = matcher.start(compileFilter("user = 'user 7'"));
  assert.equal(second.step(1), true);
  assert.equal(second.matches, matches);
  assert.equal(second.version, version);

  store.set(8, '{"user":"user 8"}');
  assert.equal(second.step(1_000), true);
  assert.equal(second.version, version);
  store.set(8, '{"user":"user 7"}');
  assert.equal(second.step(1_000), true);
  assert.equal(second.matches, matches);
  assert.notEqual(second.version, version);
  assert.equal(second.count, 21);
});

test("bits have room for later records", () => {
  const { store, matcher } = shelf(10);
  const match = matcher.start(compileFilter("user = 'user 1'"));
  finish(match, ALL_AT_ONCE);
  for (let record = 10; record < 3_000; record += 1) {
    store.set(record, record % 100 === 0 ? '{"user":"user 1"}' : undefined);
    if (record % 7 === 0) finish(match, 10_000);
  }
  finish(match, 10_000);
  assert.deepEqual(recordsOf(match), [1, ...Array.from({ length: 29 }, (_, i) => 100 * (i + 1))]);
});

test("a column is built in steps, and records that change meanwhile are correct at the end", () => {
  const { store, matcher } = shelf(5_000);
  const match = matcher.start(compileFilter("number < 3"));
  for (let steps = 0; !match.step(100_000); steps += 1) {
    store.set(4_000 + steps, '{"number":-1}');
    store.remove(1);
    if (steps === 10) store.set(6_000, '{"number":-1}');
  }
  const records = recordsOf(match);
  const expected = [
    0,
    2,
    ...Array.from({ length: 5_000 }, (_, i) => i).filter((r) => store.text(r) === '{"number":-1}'),
  ];
  assert.deepEqual(records, [...expected, 6_000]);
  assert.ok(records.length > 20, `${records.length} steps`);
});

test("long texts and long arrays are divided into steps too", () => {
  const text = `{"text":"${"a".repeat(20_000)}","list":[${"1,".repeat(5_000)}1]}`;
  const { matcher } = fixtureOf(
    Array.from({ length: 40 }, (_, i) => text.replace('"a', `"${i}`).replace("[1", `[${i}`)),
  );
  finish(matcher.start(compileFilter("HAS FIELD text AND HAS FIELD list")), ALL_AT_ONCE);
  assert.ok(finish(matcher.start(compileFilter("text GLOB '*[b]*'")), 40_000) >= 20);
  assert.ok(finish(matcher.start(compileFilter("list CONTAINS 2.5")), 20_000) >= 10);
});

test("a match that follows many writes ends", () => {
  const { store, matcher } = shelf(2_000);
  const match = matcher.start(compileFilter("number >= 0"));
  let steps = 0;
  for (; !match.step(1); steps += 1)
    for (let i = 0; i < 100; i += 1) store.set((steps * 100 + i) % 2_000, `{"number":${steps % 2 === 0 ? -1 : i}}`);
  assert.ok(steps < 5_000, `${steps}`);
  finish(match, ALL_AT_ONCE);
  assert.equal(match.count, recordsOf(match).filter((record) => !store.text(record)?.includes("-1")).length);
});

test("few remaining records are parsed, until a column would have cost less", () => {
  const { matcher } = shelf(20_000);
  finish(matcher.start(compileFilter("user = 'user 1'")), ALL_AT_ONCE);
  const filter = (i: number): string => `user = 'user ${i % 50}' AND title GLOB '*${i}'`;
  const steps = Array.from({ length: 60 }, (_, i) => finish(matcher.start(compileFilter(filter(i))), 2_000_000));
  // Each leaves a fiftieth of the records; after all 50 filters one column is built.
  assert.deepEqual(
    steps.flatMap((count, i) => (count > 2 ? [i] : [])),
    [50],
  );
});

test("a filter with more fields than the most columns is matched by parsing", () => {
  const fixture = fixtureOf(Array.from({ length: 200 }, (_, i) => `{"f${i % 100}":${i}}`));
  const filter = Array.from({ length: 100 }, (_, i) => `f${i} >= 100`).join(" OR ");
  assert.deepEqual(
    matched(fixture, filter),
    Array.from({ length: 100 }, (_, i) => 100 + i),
  );
});

test("the least recently used fields and filters are evicted, and the holder of a match still follows", () => {
  const fixture = fixtureOf(Array.from({ length: 300 }, (_, i) => `{"f${i % 100}":${i}}`));
  const held = fixture.matcher.start(compileFilter("f7 > 0"));
  assert.equal(held.step(ALL_AT_ONCE), true);
  for (let round = 0; round < 2; round += 1)
    for (let i = 0; i < 100; i += 1) assert.deepEqual(matched(fixture, `f${i} > 0`).length, i === 0 ? 2 : 3);
  fixture.store.set(0, '{"f7":1}');
  fixture.store.remove(7);
  for (const match of [held, fixture.matcher.start(compileFilter("f7 > 0"))]) {
    assert.equal(match.step(ALL_AT_ONCE), true);
    assert.deepEqual(recordsOf(match), [0, 107, 207]);
  }
});

test("a match of a namespace that is emptied meanwhile has no records", () => {
  const { store, matcher } = shelf(5_000);
  const match = matcher.start(compileFilter("number > 10 AND user = 'user 3'"));
  for (let i = 0; i < 20; i += 1) assert.equal(match.step(10_000), false);
  store.clear();
  store.set(2, '{"number":11,"user":"user 3"}');
  finish(match, 10_000);
  assert.deepEqual(recordsOf(match), [2]);
  assert.equal(match.count, 1);
});
