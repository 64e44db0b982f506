/** Random histories of an index against a list of documents that is searched by loops. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../../test/harness/seed.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import { type Random, seededRandom } from "../../../kernel/random.ts";
import type { FieldType, FieldValue, IndexDefinition, SearchDocument } from "../definition.ts";
import { plainAnalyzer } from "../query/naive-reader.virtual.ts";
import { atOnce } from "../slices.ts";
import { type Column, NO_DOCUMENT, type Postings, type TextReader } from "./index-reader.ts";
import { codeOfLength, lengthOfCode } from "./lengths.ts";
import { SearchIndex } from "./search-index.ts";
import { compileTokenPattern } from "./token-pattern.ts";

const seed = seedFrom("LARDER_SEARCH_INDEX_SEED");
const isProof = process.env["LARDER_TEST_SIZE"] === "proof";

const types: readonly FieldType[] = ["TEXT", "U64", "I64", "F64", "BOOL", "DATE", "KEYWORD", "FACET", "TEXT"];

function definitionOf(fieldTypes: readonly FieldType[]): IndexDefinition {
  return {
    dataType: "JSON",
    prefixes: ["d:"],
    language: "english",
    fields: fieldTypes.map((type, i) => ({
      name: `f${i}`,
      type,
      isTokenized: true,
      isStemmed: true,
      isFast: true,
      path: undefined,
    })),
  };
}

const analyzer = plainAnalyzer((word) => word)("english", { isTokenized: true, isStemmed: false });

function newIndex(definition = definitionOf(types)): SearchIndex {
  return new SearchIndex(definition, () => analyzer, new Uint8Array(8));
}

const spend = (): boolean => false;

/** Few words, some of them in most documents, so that some lists have many chunks and most have a tail only. */
const words = [
  ..."the of and to in is was he".split(" "),
  ..."coral corals choral octopus octopi pale reef reefs diver divers dive".split(" "),
  ...Array.from({ length: 60 }, (_, i) => `w${String.fromCharCode(97 + (i % 26))}${String.fromCharCode(97 + i / 4)}`),
];

function drawText(random: Random): Bytes {
  const length = random.below(40) === 0 ? 40 + random.below(400) : random.below(12);
  const drawn = Array.from({ length }, () => words[Math.floor(words.length * random.unit() ** 3)]);
  // Some documents repeat a word often.
  if (random.below(50) === 0) drawn.push(...new Array<string>(1 + random.below(700)).fill("coral"));
  return drawn.join(random.below(2) === 0 ? " " : ", ");
}

function drawValue(type: FieldType, random: Random): FieldValue {
  switch (type) {
    case "TEXT":
      return drawText(random);
    case "U64":
      return random.below(20) === 0 ? 2n ** 64n - 1n - BigInt(random.below(3)) : random.below(5);
    case "I64":
      return random.below(20) === 0 ? -(2n ** 63n) + BigInt(random.below(3)) : random.below(5) - 2;
    case "F64":
      return [0, -0, 1.5, -1e300, 1.7976931348623157e308, 2 ** 53, 2 ** 60][random.below(7)] as number;
    case "BOOL":
      return random.below(2);
    case "DATE":
      return 1_700_000_000_000 + random.below(10);
    case "KEYWORD":
      return `zone-with-a-long-name-${random.below(6)}`;
    case "FACET":
      return `/a/${random.below(200)}`;
  }
}

function drawDocument(random: Random, fieldTypes: readonly FieldType[]): SearchDocument {
  return fieldTypes.map((type) => {
    const kind = random.below(10);
    if (kind < 2) return undefined;
    const count = kind < 8 ? 1 : random.below(4);
    return Array.from({ length: count }, () => drawValue(type, random));
  });
}

/** The documents in the order of indexing. */
type Model = { key: Bytes; values: SearchDocument }[];

interface Occurrence {
  readonly document: number;
  readonly positions: number[];
}

/** The postings of a field, by token, with the numbers that the index gave. */
function postingsOf(
  model: Model,
  numbers: readonly number[],
  field: number,
): { lists: Map<Bytes, Occurrence[]>; lengths: number[] } {
  const lists = new Map<Bytes, Occurrence[]>();
  const lengths: number[] = [];
  for (const [i, { values }] of model.entries()) {
    const positions = new Map<Bytes, number[]>();
    let position = 0;
    let length = 0;
    for (const value of values[field] ?? []) {
      analyzer.analyse(value as Bytes, (token) => {
        positions.set(token, [...(positions.get(token) ?? []), position]);
        position += 1;
        length += 1;
      });
      position += 1;
    }
    lengths.push(length);
    for (const [token, ofToken] of positions) {
      const list = lists.get(token) ?? [];
      list.push({ document: numbers[i] as number, positions: ofToken });
      lists.set(token, list);
    }
  }
  return { lists, lengths };
}

/** Checks all that a reader can ask. */
function compare(index: SearchIndex, model: Model, random: Random): void {
  assert.equal(index.documentCount, model.length);
  assert.deepEqual(
    [...index.keys()],
    model.map(({ key }) => key),
  );
  const numbers: number[] = [];
  for (let document = 0; document < index.documentLimit; document += 1)
    if (index.isLive(document)) numbers.push(document);
  assert.deepEqual(
    numbers.map((document) => index.keyOf(document)),
    model.map(({ key }) => key),
  );
  const live = new Set(numbers);
  for (const [field, { type }] of index.definition.fields.entries()) {
    if (type === "TEXT") compareText(index.text(field), { ...postingsOf(model, numbers, field), numbers, random });
    else compareColumn(index.column(field), model, { numbers, field });
    for (let document = 0; document < index.documentLimit; document += 1) {
      if (live.has(document)) continue;
      if (type === "TEXT") assert.equal(index.text(field).lengthOf(document), 0);
      else assert.equal(index.column(field).countOf(document), 0);
    }
  }
}

function compareText(
  text: TextReader,
  expected: {
    readonly lists: Map<Bytes, Occurrence[]>;
    readonly lengths: readonly number[];
    readonly numbers: readonly number[];
    readonly random: Random;
  },
): void {
  const { lists, lengths, numbers, random } = expected;
  assert.equal(
    text.tokenCount,
    lengths.reduce((sum, length) => sum + length, 0),
  );
  const lengthByNumber = new Map(numbers.map((document, i) => [document, lengths[i] as number]));
  for (const [document, length] of lengthByNumber)
    assert.equal(text.lengthOf(document), lengthOfCode[codeOfLength(length)]);
  for (const word of [...words, "absent"]) {
    const term = text.term(word);
    const list = lists.get(word) ?? [];
    if (term === undefined) {
      assert.deepEqual(list, [], word);
      continue;
    }
    assert.equal(text.tokenOf(term), word);
    assert.equal(text.documentFrequency(term), list.length, word);
    comparePostings(() => text.postings(term), list, random);
    compareBounds(text, text.postings(term), list);
  }
  compareTerms(text, [...lists.keys()].sort(), random);
}

function comparePostings(newCursor: () => Postings, list: readonly Occurrence[], random: Random): void {
  const cursor = newCursor();
  assert.equal(cursor.document, -1);
  for (const { document, positions } of list) {
    assert.equal(cursor.next(), document);
    assert.equal(cursor.document, document);
    assert.equal(cursor.frequency, positions.length);
    if (random.below(2) === 0) assert.deepEqual([...cursor.positions().subarray(0, positions.length)], positions);
  }
  assert.equal(cursor.next(), NO_DOCUMENT);
  assert.equal(cursor.next(), NO_DOCUMENT);
  assert.equal(cursor.seek(5), NO_DOCUMENT);
  const seeking = newCursor();
  const strides = [3, 40, 700];
  for (let target = random.below(10), at = 0; seeking.document !== NO_DOCUMENT; ) {
    if (random.below(3) === 0) target = seeking.next();
    else seeking.seek(target);
    while (at < list.length && (list[at] as Occurrence).document < target) at += 1;
    const { document, positions } = list[at] ?? { document: NO_DOCUMENT, positions: [] };
    assert.equal(seeking.document, document, `after a seek of ${target}`);
    assert.equal(seeking.frequency, positions.length);
    assert.deepEqual([...seeking.positions().subarray(0, positions.length)], positions);
    target = Math.max(0, seeking.document) + random.below(strides[random.below(3)] as number);
    if (seeking.document === NO_DOCUMENT) break;
  }
}

/** Blocks follow each other without gaps, and their bounds hold for each live document. */
function compareBounds(text: TextReader, cursor: Postings, list: readonly Occurrence[]): void {
  let at = 0;
  const first = { ...cursor.boundsAt(0) };
  for (let from = 0, blocks = 0; from !== NO_DOCUMENT; blocks += 1) {
    const { last, maxFrequency, minLength } = cursor.boundsAt(from);
    assert.ok(last >= from && blocks < 10_000);
    for (; at < list.length && (list[at] as Occurrence).document <= last; at += 1) {
      const { document, positions } = list[at] as Occurrence;
      assert.ok(positions.length <= maxFrequency, `${document} has ${positions.length}, not ${maxFrequency}`);
      assert.ok(text.lengthOf(document) >= minLength, `${document} has ${text.lengthOf(document)}, not ${minLength}`);
    }
    from = last === NO_DOCUMENT ? last : last + 1;
  }
  assert.equal(at, list.length);
  // Bounds of an earlier place are those of its own block.
  assert.deepEqual({ ...cursor.boundsAt(0) }, first);
}

function compareTerms(text: TextReader, tokens: readonly Bytes[], random: Random): void {
  const tokensOf = (terms: readonly number[]): Bytes[] => terms.map((term) => text.tokenOf(term));
  for (const prefix of ["", "co", "coral", "w", "wz", "octo"]) {
    const limit = 1 + random.below(40);
    assert.deepEqual(
      tokensOf(atOnce(text.termsWithPrefix(prefix, { limit, spend }))),
      tokens.filter((token) => token.startsWith(prefix)).slice(0, limit),
    );
  }
  assert.deepEqual(atOnce(text.termsWithPrefix("", { limit: 0, spend })), []);
  const near = { distance: 1, transpositionCostOne: true, isPrefix: false, spend };
  const isNear = new Set(["coral", "corals", "choral"]);
  assert.deepEqual(
    tokensOf(atOnce(text.termsNear("coral", near))),
    tokens.filter((token) => isNear.has(token)),
  );
  assert.deepEqual(
    tokensOf(atOnce(text.termsNear("div", { ...near, distance: 0, isPrefix: true }))),
    tokens.filter((token) => token.startsWith("div")),
  );
  assert.deepEqual(
    tokensOf(atOnce(text.termsMatching(compileTokenPattern("(CORAL|DIVE).?"), spend))),
    tokens.filter((token) => /^(?:coral|dive).?$/.test(token)),
  );
}

function compareColumn(
  column: Column,
  model: Model,
  { numbers, field }: { readonly numbers: readonly number[]; readonly field: number },
): void {
  let hasBigints = false;
  for (const [i, { values }] of model.entries()) {
    const document = numbers[i] as number;
    const expected = values[field] ?? [];
    hasBigints ||= expected.some((value) => typeof value === "bigint");
    assert.equal(column.countOf(document), expected.length);
    for (const [at, value] of expected.entries()) {
      if (column.kind === "numbers") assert.ok(Object.is(column.valueOf(document, at), value));
      else {
        const ordinal = column.ordinalOf(document, at);
        assert.ok(ordinal < column.ordinalLimit);
        assert.equal(column.wordOf(ordinal), value);
        assert.equal(column.ordinalOfWord(value as Bytes), ordinal);
      }
    }
  }
  if (column.kind === "numbers") assert.equal(column.hasBigints, hasBigints);
  else assert.equal(column.ordinalOfWord("absent"), undefined);
}

/** Makes random calls, and the same changes to the model. */
function runHistory(index: SearchIndex, random: Random, callCount: number): number {
  const model: Model = [];
  const keys = Array.from({ length: 400 }, (_, i) => `d:${i}`);
  let copies = 0;
  let nextCheck = 300;
  for (let call = 0; call < callCount; call += 1) {
    const key = keys[random.below(keys.length)] as Bytes;
    const at = model.findIndex((entry) => entry.key === key);
    const old = model[at];
    assert.equal(index.has(key), old !== undefined);
    const kind = random.below(20);
    if (kind < 13) {
      const values = drawDocument(random, types);
      assert.equal(index.put(key, values), true);
      if (old !== undefined) model.splice(at, 1);
      model.push({ key, values });
      assert.equal(index.keyOf(index.documentLimit - 1), key);
    } else if (kind < 15 && old !== undefined) {
      assert.equal(index.put(key, structuredClone(old.values)), false);
    } else if (kind < 18) {
      assert.equal(index.remove(key), old !== undefined);
      if (old !== undefined) model.splice(at, 1);
    } else if (kind === 19 && index.isCompactable) {
      const limit = index.documentLimit;
      index.compact(random.below(4) === 0 ? 1_000_000 : random.below(20_000));
      if (index.documentLimit < limit) copies += 1;
    } else if (random.below(600) === 0) {
      index.clear();
      model.length = 0;
    }
    if (call === nextCheck || call === callCount - 1) {
      compare(index, model, random);
      nextCheck += 100 + random.below(900);
    }
  }
  return copies;
}

test(`random histories give what loops over the documents give (seed ${seed})`, () => {
  let copies = 0;
  for (let i = 0; i < (isProof ? 200 : 3); i += 1) {
    copies += runHistory(newIndex(), seededRandom(seed + i), i === 0 ? 3_000 : 800);
  }
  assert.ok(copies > 0, "no compaction ended");
});

test("a compaction drops removed documents and their words, and keeps the order of the others", () => {
  const index = newIndex(definitionOf(["TEXT", "KEYWORD"]));
  for (let i = 0; i < 1_200; i += 1)
    index.put(`d:${i}`, [[`word ${i % 3 === 0 ? "kept" : `gone${i}`}x`], [`zone${i}`]]);
  for (let i = 0; i < 1_200; i += 1) if (i % 3 !== 0) assert.equal(index.remove(`d:${i}`), true);
  const before = index.memoryBytes;
  let slices = 1;
  while (index.compact(1_000)) {
    slices += 1;
    assert.equal(index.documentLimit, 1_200);
    assert.ok(index.memoryBytes > before);
  }
  assert.ok(slices > 10, `${slices} slices`);
  assert.equal(index.documentLimit, 400);
  assert.equal(index.isCompactable, false);
  assert.ok(index.memoryBytes < before / 2, `${index.memoryBytes} of ${before}`);
  assert.deepEqual([...index.keys()].slice(0, 3), ["d:0", "d:3", "d:6"]);
  assert.deepEqual(
    atOnce(index.text(0).termsWithPrefix("", { limit: 10, spend })).map((term) => index.text(0).tokenOf(term)),
    ["keptx", "word"],
  );
  assert.equal(index.compact(1_000), false);
  assert.equal(index.put("d:3", [["word keptx"], ["zone3"]]), false);
  assert.equal(index.put("d:3", [["word keptx"], ["zone4"]]), true);
});

test("a compaction includes what changes between its slices", () => {
  const index = newIndex(definitionOf(["TEXT"]));
  for (let i = 0; i < 900; i += 1) index.put(`d:${i}`, [["same words here"]]);
  for (let i = 0; i < 300; i += 1) index.remove(`d:${i}`);
  assert.equal(index.compact(30_000), true);
  // One that was copied, one that was not, a new one, and one that changes.
  index.remove("d:301");
  index.remove("d:899");
  index.put("d:new", [["new words"]]);
  index.put("d:302", [["other words"]]);
  while (index.compact(30_000));
  assert.equal(index.documentCount, 599);
  assert.equal(index.has("d:301"), false);
  assert.deepEqual([...index.keys()].slice(-3), ["d:898", "d:new", "d:302"]);
  const term = index.text(0).term("words") as number;
  assert.equal(index.text(0).documentFrequency(term), 599);
  assert.equal(index.text(0).tokenCount, 597 * 3 + 4);
});

test("a compaction of one document at a time survives the removal of the last copied and of the next document", () => {
  const index = newIndex(definitionOf(["TEXT"]));
  for (let i = 0; i < 900; i += 1) index.put(`d:${i}`, [["word"]]);
  for (let i = 0; i < 300; i += 1) index.remove(`d:${i}`);
  index.compact(300);
  for (let i = 300; i < 800; i += 5) {
    assert.equal(index.compact(1), true);
    index.remove(`d:${i}`);
    index.remove(`d:${i + 1}`);
    for (let copied = 0; copied < 4; copied += 1) index.compact(1);
  }
  while (index.compact(1));
  assert.equal(index.documentCount, 400);
  assert.deepEqual([...index.keys()].slice(0, 4), ["d:302", "d:303", "d:304", "d:307"]);
  assert.equal(index.text(0).documentFrequency(index.text(0).term("word") as number), 400);
});

test("an index of a few large documents is compacted too", () => {
  const index = newIndex(definitionOf(["TEXT"]));
  const large = (i: number): Bytes => Array.from({ length: 30_000 }, (_, at) => words[(at * i) % 70]).join(" ");
  for (let i = 0; i < 30; i += 1) index.put(`d:${i}`, [["small"]]);
  for (let i = 1; i <= 8; i += 1) index.put("large", [[large(i)]]);
  const before = index.memoryBytes;
  assert.equal(index.isCompactable, true);
  while (index.compact(100_000));
  assert.ok(index.memoryBytes < before / 3, `${index.memoryBytes} of ${before}`);
  assert.equal(index.isCompactable, false);
});

test("an index whose long values change is compacted before a third of its documents are removed ones", () => {
  for (const [type, long] of [
    ["KEYWORD", (i: number) => "x".repeat(20_000) + i],
    ["TEXT", (i: number) => "x".repeat(20_000) + letters(i)],
    ["TEXT", (i: number) => `word${letters(i)} `.repeat(5_000)],
    ["I64", (i: number) => i],
  ] as const) {
    const index = newIndex(definitionOf([type]));
    const values = (i: number): SearchDocument => [type === "I64" ? new Array(5_000).fill(i) : [long(i)]];
    for (let i = 0; i < 2_000; i += 1) index.put(`d:${i}`, [type === "I64" ? [i] : ["small"]]);
    let changes = 0;
    for (; !index.isCompactable; changes += 1) index.put("large", values(changes));
    assert.ok(changes < 150, `${type} after ${changes} changes`);
    while (index.compact(1_000_000));
    assert.equal(index.isCompactable, false);
    assert.equal(index.documentCount, 2_001);
  }
});

test("an index without texts is compacted when a third of its documents are removed ones", () => {
  const index = newIndex(definitionOf(["U64"]));
  for (let i = 0; i < 1_200; i += 1) index.put(`d:${i}`, [[i]]);
  for (let i = 0; i < 399; i += 1) index.remove(`d:${i}`);
  assert.equal(index.isCompactable, false);
  index.remove("d:399");
  assert.equal(index.isCompactable, true);
  while (index.compact(1_000));
  assert.equal(index.documentLimit, 800);
});

test("a word without documents is no term any more for prefixes, distances and patterns", () => {
  const index = newIndex(definitionOf(["TEXT"]));
  index.put("d:1", [["coral corals"]]);
  index.put("d:2", [["coral"]]);
  index.remove("d:1");
  const text = index.text(0);
  const coral = [text.term("coral")];
  assert.deepEqual(atOnce(text.termsWithPrefix("cor", { limit: 9, spend })), coral);
  const near = { distance: 1, transpositionCostOne: true, isPrefix: false, spend };
  assert.deepEqual(atOnce(text.termsNear("coral", near)), coral);
  assert.deepEqual(atOnce(text.termsNear("corals", near)), coral);
  assert.deepEqual(atOnce(text.termsMatching(compileTokenPattern("corals?"), spend)), coral);
  const gone = text.term("corals");
  assert.ok(gone === undefined || text.documentFrequency(gone) === 0);
});

test("positions pass over one place between the values of an array", () => {
  const index = newIndex(definitionOf(["TEXT"]));
  index.put("d:1", [["a b", "", "a", "... a"]]);
  const text = index.text(0);
  const cursor = text.postings(text.term("a") as number);
  assert.equal(cursor.next(), 0);
  assert.deepEqual([...cursor.positions().subarray(0, cursor.frequency)], [0, 4, 6]);
  assert.equal(text.tokenCount, 4);
});

test("a document of many words, and one with the same word often, have all positions", () => {
  const index = newIndex(definitionOf(["TEXT"]));
  const often = "often ".repeat(300_000);
  index.put("d:1", [[often]]);
  index.put("d:2", [[Array.from({ length: 90_000 }, (_, i) => `w${letters(i)}`).join(" ")]]);
  for (let i = 3; i < 140; i += 1) index.put(`d:${i}`, [["often words"]]);
  const text = index.text(0);
  const cursor = text.postings(text.term("often") as number);
  assert.equal(cursor.next(), 0);
  assert.equal(cursor.frequency, 300_000);
  assert.equal(cursor.positions()[299_999], 299_999);
  assert.equal(cursor.next(), 2);
  assert.deepEqual([...cursor.positions().subarray(0, 1)], [0]);
  const { last, maxFrequency, minLength } = cursor.boundsAt(0);
  assert.deepEqual({ last, maxFrequency, minLength }, { last: 128, maxFrequency: 300_000, minLength: 2 });
  const rare = text.postings(text.term(`w${letters(89_999)}`) as number);
  assert.equal(rare.next(), 1);
  assert.equal(rare.positions()[0], 89_999);
  assert.equal(text.lengthOf(0), 294_936);
});

/** A number as letters. */
function letters(number: number): string {
  return number.toString(26).replace(/\d/g, (digit) => String.fromCharCode(113 + Number(digit)));
}

test("columns that are not in the index of texts keep integers beyond 2^53 and negative zeros", () => {
  const index = newIndex(definitionOf(["U64", "I64", "F64"]));
  index.put("d:1", [[2n ** 64n - 1n], [-(2n ** 63n), 5], [-0]]);
  index.put("d:2", [[2 ** 53 - 1], [-(2 ** 53 - 1)], [2 ** 53, 2 ** 54]]);
  const values = [0, 1, 2].map((field) => {
    const column = index.column(field);
    assert.ok(column.kind === "numbers");
    return [0, 1].map((document) =>
      Array.from({ length: column.countOf(document) }, (_, at) => column.valueOf(document, at)),
    );
  });
  assert.deepEqual(values, [
    [[18446744073709551615n], [9007199254740991]],
    [[-9223372036854775808n, 5], [-9007199254740991]],
    [[-0], [9007199254740992, 18014398509481984]],
  ]);
  assert.equal(index.put("d:1", [[2n ** 64n - 1n], [-(2n ** 63n), 5], [0]]), true);
  index.remove("d:1");
  const column = index.column(0);
  assert.equal(column.kind === "numbers" && column.hasBigints, false);
});

test("the figure of memory grows with documents and falls with a clear", () => {
  const index = newIndex();
  const empty = index.memoryBytes;
  assert.ok(empty < 25_000, `${empty}`);
  const random = seededRandom(3);
  for (let i = 0; i < 500; i += 1) index.put(`d:${i}`, drawDocument(random, types));
  assert.ok(index.memoryBytes > empty + 500 * 50);
  index.clear();
  assert.equal(index.memoryBytes, empty);
  assert.equal(index.documentCount, 0);
  assert.deepEqual([...index.keys()], []);
});
