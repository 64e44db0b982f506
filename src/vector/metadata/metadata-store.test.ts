/** The metadata of a namespace: existing records, their texts, and changes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RowMemory } from "../rows/row-memory.ts";
import { MetadataStore } from "./metadata-store.ts";

const memory = new RowMemory();

test("a record exists from set to remove, with or without metadata", () => {
  const store = new MetadataStore(memory);
  store.set(3, '{"a":1}');
  store.set(70, undefined);
  assert.deepEqual(
    [0, 3, 70, 71, 1_000_000].map((record) => store.has(record)),
    [false, true, true, false, false],
  );
  assert.equal(store.text(3), '{"a":1}');
  assert.deepEqual(store.parsed(3), { a: 1 });
  assert.equal(store.text(70), undefined);
  assert.equal(store.parsed(70), undefined);
  assert.equal(store.limit, 71);

  store.remove(3);
  store.remove(3);
  store.remove(1_000);
  assert.equal(store.has(3), false);
  assert.equal(store.text(3), undefined);
});

test("bytes are counted in UTF-8", () => {
  const store = new MetadataStore(memory);
  store.set(0, '{"a":"é"}');
  store.set(1, '{"a":"😀"}');
  assert.equal(store.textBytes, 22);
  store.set(0, "{}");
  assert.equal(store.textBytes, 14);
  store.remove(1);
  assert.equal(store.textBytes, 2);
  store.set(0, undefined);
  assert.equal(store.textBytes, 0);
});

test("a moved record exists under its new number only, and followers see both numbers", () => {
  const store = new MetadataStore(memory);
  store.set(9, '{"a":1}');
  store.set(4, undefined);
  store.log.keep();
  const { end } = store.log;
  store.move(9, 2);
  store.move(4, 40);

  assert.deepEqual(
    [2, 4, 9, 40].map((record) => store.has(record)),
    [true, false, false, true],
  );
  assert.deepEqual(
    [2, 9, 40].map((record) => store.text(record)),
    ['{"a":1}', undefined, undefined],
  );
  assert.deepEqual(
    [0, 1, 2, 3].map((change) => store.log.at(end + change)),
    [9, 2, 4, 40],
  );
  assert.equal(store.textBytes, 7);
});

test("truncate removes the records from a number on, clear removes all", () => {
  const store = new MetadataStore(memory);
  for (let record = 0; record < 100; record += 1) store.set(record, '{"a":1}');
  store.truncate(40);
  assert.equal(store.has(39), true);
  assert.equal(store.has(40), false);
  assert.equal(store.limit, 40);
  assert.equal(store.textBytes, 280);
  store.truncate(60);
  assert.equal(store.limit, 40);
  store.clear();
  assert.equal(store.has(0), false);
  assert.equal(store.limit, 0);
  assert.equal(store.textBytes, 0);
});

test("setting the same metadata again is not a change", () => {
  const store = new MetadataStore(memory);
  store.set(0, '{"a":1}');
  store.set(1, undefined);
  const { end } = store.log;
  store.set(0, '{"a":1}');
  store.set(1, undefined);
  store.remove(2);
  assert.equal(store.log.end, end);
  store.set(1, "{}");
  assert.equal(store.log.end, end + 1);
});

test("A-21: names are parsed as they were set, whatever other stores hold", () => {
  const [store, other] = [new MetadataStore(memory), new MetadataStore(memory)];
  const rows: [earlier: string, text: string, names: string[]][] = [
    ['{"store 1":1,"\\\\":2}', '{"store 1":1,"\\"":2}', ["store 1", '"']],
    ['{"store 2":1,"a\\\\":2}', '{"store 2":1,"a\\n":"\\n"}', ["store 2", "a\n"]],
    ['{"store 3":1,"\\\\":2}', '{"store 3":1,"x":"\\""}', ["store 3", "x"]],
  ];
  for (const [record, [earlier, text, names]] of rows.entries()) {
    other.set(record, earlier);
    for (let time = 0; time < 3; time += 1) other.parsed(record);
    store.set(record, text);
    assert.deepEqual(Object.keys(store.parsed(record) ?? {}), names, text);
    other.clear();
    store.clear();
    // As in a store that never had another text.
    store.set(0, '{"a":"\\n"}');
    assert.deepEqual(store.parsed(0), { a: "\n" });
    store.set(record, text);
    assert.deepEqual(Object.keys(store.parsed(record) ?? {}), names, text);
  }
});
