/** Texts and ids outside the heap, against Maps, over random histories. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../../test/budget.ts";
import { seedFrom } from "../../../test/harness/seed.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { InsertionOrder } from "../index/insertion-order.ts";
import { RowMemory } from "../rows/row-memory.ts";
import { IdTable } from "./id-table.ts";
import { Float64Pages, Uint32Pages } from "./number-pages.ts";
import { TextStore } from "./text-store.ts";

const seed = seedFrom("LARDER_RECORD_TABLES_SEED");
const allowance = allowanceOf("record-tables");
const CHUNK_BYTES = 65_536;
const memory = new RowMemory();

/** Lengths on both sides of every border: of units, of the loop, of a buffer of its own, of a chunk. */
const lengths = [0, 1, 2, 3, 7, 12, 22, 23, 30, 40, 41, 300, 1_365, 4_000, 4_090, 4_095, 4_096, 5_000, 70_000];
const letters = ["a", "z", "\u0000", "\u007f", "\u0080", "é", "\u00ff", "\u0100", "€", "\uffff", "😀"];

function drawText(random: Random): string {
  const length = lengths[random.below(random.unit() < 0.1 ? lengths.length : 12)] as number;
  const letter = random.unit() < 0.6 ? "q" : (letters[random.below(letters.length)] as string);
  const text = letter.repeat(Math.ceil(length / Buffer.byteLength(letter)));
  return random.unit() < 0.5 ? text : `${text}${random.below(1_000)}`;
}

/** Phases with mostly additions and mostly removals, so that tables grow, shrink and grow again. */
function* history(random: Random): Generator<{ readonly grows: boolean; readonly record: number }> {
  const isDone = spending(allowance);
  let grows = true;
  let limit = 20;
  for (let count = 0; !isDone(count); count += 1) {
    if (count % 500 === 0) {
      grows = random.unit() < 0.6;
      limit = [20, 300, 6_000][random.below(3)] as number;
    }
    yield { grows: random.unit() < (grows ? 0.85 : 0.15), record: random.below(limit) };
  }
}

test(`texts are those of a Map, in memory of a bounded size (seed ${seed})`, () => {
  const random = seededRandom(seed);
  const store = new TextStore(memory);
  const model = new Map<number, string>();
  let textBytes = 0;
  let changeCount = 0;
  for (const { grows, record } of history(random)) {
    const before = model.get(record);
    const target = random.below(6_000);
    if (random.unit() < 0.1 && before !== undefined && !model.has(target)) {
      store.move(record, target);
      model.delete(record);
      model.set(target, before);
    } else {
      const text = grows ? drawText(random) : undefined;
      store.set(record, text);
      if (text === undefined) model.delete(record);
      else model.set(record, text);
      textBytes += Buffer.byteLength(text ?? "") - Buffer.byteLength(before ?? "");
    }
    const looked = random.below(6_000);
    for (const each of [record, target, looked]) {
      const text = model.get(each);
      assert.equal(store.get(each), text);
      assert.equal(store.look(each), text);
      assert.equal(store.has(each), text !== undefined);
      assert.equal(store.lengthOf(each), text === undefined ? undefined : Buffer.byteLength(text));
      assert.equal(store.equals(each, text), true);
      assert.equal(store.equals(each, `${text ?? ""}!`), false);
      assert.equal(store.startsWith(each, "q"), text?.startsWith("q") === true);
    }
    assert.equal(store.textBytes, textBytes);
    changeCount += 1;
    if (changeCount % 1_000 === 0) checkAll(store, model);
  }
  checkAll(store, model);
  for (const record of model.keys()) store.set(record, undefined);
  store.freeFrom(0);
  assert.deepEqual([store.textBytes, store.liveBytes, store.byteCount], [0, 0, 0]);
});

/** A mebibyte of scratch and four of blocks, each for one size: blocks of other sizes are buffers of their own. */
const SHARED_BYTES = 5 * 1_048_576;

test(`tables share the memory of rows without changing each other, and give it back (seed ${seed})`, () => {
  const random = seededRandom(seed);
  const shared = new RowMemory({ bytesMax: SHARED_BYTES });
  const texts = Array.from({ length: 4 }, () => new TextStore(shared));
  const numbers = Array.from({ length: 4 }, () => new Uint32Pages(shared));
  const orders = Array.from({ length: 4 }, () => new InsertionOrder(shared));
  const models = texts.map(() => new Map<number, string>());
  for (let record = 0; record < 1_000; record += 1) {
    texts[0]?.set(record, `text ${record}`);
    numbers[0]?.set(record, `text ${record}`.length);
    orders[0]?.append(record);
    models[0]?.set(record, `text ${record}`);
  }
  const check = (table: number): void => {
    const known = models[table] ?? assert.fail();
    for (let each = 0; each < 6_000; each += 1) {
      assert.equal(texts[table]?.get(each), known.get(each));
      assert.equal(numbers[table]?.get(each), known.get(each)?.length ?? 0);
    }
    const listed = [...(orders[table]?.from(0) ?? [])];
    assert.deepEqual(new Set(listed), new Set(known.keys()));
    assert.equal(listed.length, known.size);
  };
  let sharedMost = 0;
  let changeCount = 0;
  for (const { grows, record } of history(random)) {
    const i = random.below(texts.length);
    const [store, pages, order, model] = [texts[i], numbers[i], orders[i], models[i]];
    if (store === undefined || pages === undefined || order === undefined || model === undefined) assert.fail();
    const text = grows ? drawText(random) : undefined;
    if (random.unit() < 0.002) {
      for (const table of [store, pages, order]) table.clear();
      model.clear();
    } else if (text !== undefined || model.has(record)) {
      if (text === undefined) order.remove(record);
      else if (!model.has(record)) order.append(record);
      store.set(record, text);
      pages.set(record, text?.length ?? 0);
      if (text === undefined) model.delete(record);
      else model.set(record, text);
    }
    sharedMost = Math.max(sharedMost, shared.usedBytes);
    changeCount += 1;
    if (changeCount % 1_000 === 0) check(i);
  }
  for (const table of models.keys()) check(table);
  assert.ok(sharedMost > 20_000, `at most ${sharedMost} bytes were in blocks`);
  for (const table of [...texts, ...numbers, ...orders]) table.clear();
  assert.equal(shared.usedBytes, 0);
});

function checkAll(store: TextStore, model: ReadonlyMap<number, string>): void {
  for (const [record, text] of model) {
    assert.equal(store.get(record), text);
    assert.equal(store.look(record), text);
  }
  // Pages of locations, and one chunk.
  const bound = 1.6 * store.liveBytes + 4 * 6_000 + 2 * 16_384 + CHUNK_BYTES;
  assert.ok(store.byteCount <= bound, `${store.byteCount} bytes for ${store.liveBytes} bytes of live texts`);
}

test(`ids are found as in a Map (seed ${seed})`, () => {
  const random = seededRandom(seed);
  const table = new IdTable(memory);
  const model = new Map<string, number>();
  const ids = new Map<number, string>();
  let changeCount = 0;
  const checkAllIds = (): void => {
    for (const [id, record] of model) assert.equal(table.find(id), record, id);
  };
  for (const { grows, record } of history(random)) {
    const known = ids.get(record);
    const target = random.below(6_000);
    const id = idOf(random);
    if (known !== undefined && random.unit() < 0.1 && !ids.has(target)) {
      table.move(record, target);
      ids.delete(record);
      ids.set(target, known);
      model.set(known, target);
    } else if (known !== undefined && !grows) {
      table.remove(record);
      ids.delete(record);
      model.delete(known);
    } else if (known === undefined && grows && !model.has(id)) {
      table.add(id, record);
      ids.set(record, id);
      model.set(id, record);
    }
    const looked = random.below(6_000);
    for (const each of [record, target, looked]) {
      assert.equal(table.idOf(each), ids.get(each));
      assert.equal(table.has(each), ids.has(each));
      assert.equal(table.startsWith(each, "id-1"), ids.get(each)?.startsWith("id-1") === true);
    }
    for (const each of [id, idOf(random), known ?? ""]) assert.equal(table.find(each), model.get(each), each);
    assert.equal(table.count, model.size);
    changeCount += 1;
    if (changeCount % 1_000 === 0) checkAllIds();
  }
  checkAllIds();
  for (const record of ids.keys()) table.remove(record);
  table.freeFrom(0);
  assert.equal(table.liveBytes, 0);
  assert.ok(table.byteCount <= 32_768, `${table.byteCount} bytes without ids`);
});

function idOf(random: Random): string {
  const number = random.below(8_000);
  if (number % 50 === 0) return `${(letters[number % letters.length] as string).repeat(number % 7)}${number}`;
  return `id-${number}`;
}

test("a table of ids costs about 41 bytes for each id of 16 bytes", () => {
  const table = new IdTable(memory);
  for (let record = 0; record < 50_000; record += 1) table.add(`document-${1_000_000 + record}`, record);
  const each = table.byteCount / 50_000;

  assert.ok(each > 38 && each < 43, `${each} bytes`);
  assert.equal(table.liveBytes / 50_000, 40);
});

test("ten ids and ten texts take less than 2 KiB", () => {
  const table = new IdTable(memory);
  const texts = new TextStore(memory);
  for (let record = 0; record < 10; record += 1) {
    table.add(`document-${record}`, record);
    texts.set(record, '{"city":"Oslo","number":12345}');
  }

  assert.ok(table.byteCount + texts.byteCount < 2_048, `${table.byteCount} and ${texts.byteCount} bytes`);
});

test("a text that changes all the time takes no more memory than before", () => {
  const texts = new TextStore(memory);
  for (let change = 0; change < 20_000; change += 1) texts.set(change % 10, "x".repeat(change % 90));

  assert.ok(texts.byteCount <= 4_096, `${texts.byteCount} bytes`);
});

test("the memory of removed texts is freed, in whatever order they are removed", () => {
  const texts = new TextStore(memory);
  for (let record = 0; record < 6_000; record += 1) texts.set(record, "x".repeat(90 + (record % 20)));
  for (let record = 0; record < 6_000; record += 1) if (record % 10 !== 3) texts.set(record, undefined);

  const bound = 1.6 * texts.liveBytes + CHUNK_BYTES + 2 * 16_384;
  assert.ok(texts.byteCount < bound, `${texts.byteCount} bytes, not ${bound}`);
  for (let record = 3; record < 6_000; record += 10) assert.equal(texts.get(record), "x".repeat(90 + (record % 20)));
});

test("texts in buffers of their own, because the chunks are full, are compared as others are", () => {
  const texts = new TextStore(memory, 1);
  const text = (record: number): string => `${record} ${"x".repeat(90)}`;
  for (let record = 0; record < 1_000; record += 1) texts.set(record, text(record));

  for (let record = 0; record < 1_000; record += 1) {
    assert.equal(texts.equals(record, text(record)), true, `record ${record}`);
    assert.equal(texts.equals(record, text(record + 1)), false, `record ${record}`);
  }
});

test("ids are found while the table grows and shrinks by every size", () => {
  const table = new IdTable(memory);
  for (let record = 0; record < 300; record += 1) {
    table.add(`id-${record}`, record);
    for (let each = 0; each <= record; each += 1) assert.equal(table.find(`id-${each}`), each);
  }
  for (let record = 299; record >= 0; record -= 1) {
    table.remove(record);
    for (let each = 0; each < record; each += 1) assert.equal(table.find(`id-${each}`), each);
  }
});

test("ids are found while a large table becomes small", () => {
  const table = new IdTable(memory);
  for (let record = 0; record < 20_000; record += 1) table.add(`id-${record}`, record);
  for (let record = 19_999; record >= 0; record -= 1) {
    table.remove(record);
    if (record % 1_000 !== 0) continue;
    for (let each = 0; each < record; each += 1) assert.equal(table.find(`id-${each}`), each);
  }
});

test("numbers that were never set are 0 in blocks that were used before", () => {
  const used = new RowMemory();
  const before = new Uint32Pages(used);
  for (let index = 0; index < 20_000; index += 1) before.set(index, 0xffff_ffff);
  before.clear();
  assert.equal(used.usedBytes, 0);
  const pages = new Float64Pages(used);
  pages.set(9_000, 7);

  for (let index = 0; index < 12_288; index += 1) assert.equal(pages.get(index), index === 9_000 ? 7 : 0);
  assert.equal(used.usedBytes, pages.byteCount);
});

test("tables grow in buffers of their own when the memory of rows is used up", () => {
  const full = new RowMemory({ bytesMax: 1 });
  const table = new IdTable(full);
  const texts = new TextStore(full);
  for (let record = 0; record < 10_000; record += 1) {
    table.add(`id-${record}`, record);
    texts.set(record, "x".repeat(record % 90));
  }

  assert.equal(full.usedBytes, 0);
  assert.ok(texts.byteCount > 500_000, `${texts.byteCount} bytes`);
  for (let record = 0; record < 10_000; record += 1) {
    assert.equal(table.find(`id-${record}`), record);
    assert.equal(texts.get(record), "x".repeat(record % 90));
  }
});

test("numbers that were never set are 0, and pages of numbers from an end on are freed", () => {
  for (const pages of [new Uint32Pages(memory), new Float64Pages(memory)]) {
    pages.set(9_000, 7);
    pages.set(3, 5);
    assert.deepEqual(
      [0, 3, 8_999, 9_000, 1_000_000].map((index) => pages.get(index)),
      [0, 5, 0, 7, 0],
    );
    pages.freeFrom(4_097);
    assert.deepEqual(
      [3, 9_000].map((index) => pages.get(index)),
      [5, 0],
    );
    pages.freeFrom(0);
    assert.equal(pages.byteCount, 0);
    assert.equal(pages.get(3), 0);
  }
});
