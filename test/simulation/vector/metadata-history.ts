/**
 * Histories of metadata: writes, deletes and queries with filters in any order,
 * in steps of any size. After each completed step, the bits of a filter are
 * compared with its result on each record's metadata alone.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { compileFilter, type Filter } from "../../../src/vector/filter/filter.ts";
import { parseMetadata } from "../../../src/vector/filter/json.ts";
import { type FilterMatch, FilterMatcher } from "../../../src/vector/metadata/filter-matcher.ts";
import { MetadataStore } from "../../../src/vector/metadata/metadata-store.ts";
import { RowMemory } from "../../../src/vector/rows/row-memory.ts";

/** One for all histories: each takes its memory again. */
const memory = new RowMemory();

/** The reference for the store. */
type Records = (string | undefined | "absent")[];

type Action =
  | { readonly do: "set"; readonly record: number; readonly text: string | undefined }
  | { readonly do: "remove" | "truncate"; readonly record: number }
  | { readonly do: "fill"; readonly record: number; readonly count: number; readonly texts: readonly string[] }
  | { readonly do: "start"; readonly filter: number }
  | { readonly do: "step"; readonly match: number; readonly work: number };

/** Names that filters write in backticks. */
const QUOTED_NAMES = ["a b", "a.b", "a`b", "größe", "[*]", "0", "\\", '"', "a\n"];
const names = ["a", "b", "c", "__proto__", "constructor", "toString", ...QUOTED_NAMES];
const name = fc.oneof({ weight: 3, arbitrary: fc.constantFrom("a", "b") }, fc.constantFrom(...names));
/** UTF-16 units order these differently than code points do. */
const farText = fc.constantFrom("😀", "\uffee", "a😀", "a\ue000");
const scalar = fc.oneof(
  farText,
  fc.constantFrom("", "a", "ab", "ba", "it's", "1", "true", "😀"),
  fc.constantFrom(0, 1, -1, 2, 2.5, 1000, -0.001, 1e21),
  fc.boolean(),
);

const { metadata } = fc.letrec<{ metadata: object; value: unknown; list: unknown[] }>((tie) => ({
  metadata: fc.dictionary(fc.oneof(name, fc.constant("")), tie("value"), { maxKeys: 5 }),
  list: fc.array(fc.oneof(scalar, fc.constant(null), tie("value")), { maxLength: 4 }),
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    { weight: 6, arbitrary: scalar },
    fc.constant(null),
    tie("list"),
    tie("metadata"),
  ),
}));
/** JSON that JSON.stringify does not write: numbers that are not finite, -0, and more digits than float64 has. */
const oddText = fc.constantFrom(
  '{"a":1e999,"b":[1e999]}',
  '{"a":-0,"b":-1e999}',
  '{"a":[-0,true,[1],null]}',
  "{}",
  '{"a":9007199254740992,"b":9007199254740993}',
  '{"a":9007199254740993,"b":[9007199254740992,1.0]}',
  '{"a":[9007199254740993,-9007199254740993],"b":12345678901234567890}',
);
/** An array of objects, whose elements updates change one by one. */
const items = fc.record({
  a: fc.array(fc.oneof({ weight: 4, arbitrary: fc.record({ b: scalar, c: scalar }, { requiredKeys: [] }) }, scalar), {
    maxLength: 4,
  }),
});
const metadataText = fc.oneof(
  { weight: 7, arbitrary: metadata.map((each) => JSON.stringify(each)) },
  { weight: 3, arbitrary: items.map((each) => JSON.stringify(each)) },
  oddText,
);

const anyPath = fc
  .tuple(
    name,
    fc.array(
      fc.oneof(
        name.map((step) => `.${spelled(step)}`),
        fc.constantFrom("[0]", "[1]", "[#-1]"),
        fc.constant("[*]"),
      ),
      { maxLength: 2 },
    ),
  )
  .map(([first, more]) => spelled(first) + more.join(""));
const path = fc.oneof({ weight: 3, arbitrary: anyPath }, fc.constantFrom("a[*]", "a[*].b"));
const literal = fc.oneof(
  { weight: 9, arbitrary: scalar.map((value) => (typeof value === "string" ? `"${value}"` : String(value))) },
  fc.constantFrom("9007199254740991", "9007199254740992", "9007199254740993", "12345678901234567890"),
);
const condition = fc.oneof(
  fc.tuple(
    path,
    fc.constantFrom("<", "<=", ">", ">="),
    farText.map((text) => `'${text}'`),
  ),
  fc.tuple(path, fc.constantFrom("=", "!=", "<", "<=", ">", ">=", "CONTAINS", "NOT CONTAINS"), literal),
  fc.tuple(path, fc.constantFrom("GLOB", "NOT GLOB"), fc.constantFrom("'*a*'", "'?'", "'[^a]*'", "'ab'")),
  fc.tuple(
    path,
    fc.constantFrom("IN", "NOT IN"),
    fc.array(literal, { minLength: 1, maxLength: 4 }).map((all) => `(${all.join()})`),
  ),
  fc.tuple(fc.constantFrom("HAS FIELD", "HAS NOT FIELD"), path),
);
const { filter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    { weight: 3, arbitrary: condition.map((words) => words.join(" ")) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(" AND ", " OR "), fc.array(tie("filter"), { minLength: 2, maxLength: 3 }))
        .map(([word, parts]) => parts.map((part) => `(${part})`).join(word)),
    },
  ),
}));

const record = fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 9 }) }, fc.nat({ max: 200 }));
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("set" as const),
      record,
      text: fc.option(metadataText, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), record }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("truncate" as const), record }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fill" as const),
      record,
      count: fc.nat({ max: 3_000 }),
      texts: fc.array(metadataText, { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("start" as const), filter: fc.nat({ max: 9 }) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("step" as const),
      match: fc.nat({ max: 9 }),
      work: fc.constantFrom(0, 1, 1_000, 30_000, 1_000_000, 1e9),
    }),
  },
);

export interface MetadataHistory {
  /** At least one. */
  readonly filterTexts: readonly string[];
  readonly actions: readonly Action[];
}

/** Parts with a planted bug. */
export interface HistoryParts {
  store?(memory: RowMemory): MetadataStore;
  /** The filter that the records are matched with. They are compared with the product's. */
  compile?(text: string): Filter;
}

export const metadataHistory: fc.Arbitrary<MetadataHistory> = fc.record({
  filterTexts: fc.array(filter, { minLength: 1, maxLength: 6 }),
  actions: fc.array(action, { minLength: 5, maxLength: 60, size: "max" }),
});

/** Runs the operations, and compares after each completed step. Returns the number of comparisons. */
export function play({ filterTexts, actions }: MetadataHistory, made: HistoryParts = {}): number {
  const store = made.store?.(memory) ?? new MetadataStore(memory);
  const compile = made.compile ?? compileFilter;
  const matcher = new FilterMatcher(store);
  const records: Records = [];
  const matches: FilterMatch[] = [];
  let compared = 0;
  const put = (record: number, text: string | undefined): void => {
    store.set(record, text);
    while (records.length <= record) records.push("absent");
    records[record] = text;
  };
  for (const each of actions) {
    switch (each.do) {
      case "set":
        put(each.record, each.text);
        break;
      case "fill":
        for (let i = 0; i < each.count; i += 1) put(each.record + i, each.texts[(i * i) % each.texts.length]);
        break;
      case "remove":
        store.remove(each.record);
        if (each.record < records.length) records[each.record] = "absent";
        break;
      case "truncate":
        store.truncate(each.record);
        records.length = Math.min(records.length, each.record);
        break;
      case "start":
        matches.push(matcher.start(compile(filterTexts[each.filter % filterTexts.length] ?? "")));
        break;
      case "step": {
        const match = matches[each.match % matches.length];
        if (match === undefined || !match.step(each.work)) break;
        compare(match, records);
        compared += 1;
        break;
      }
    }
  }
  for (const match of matches) {
    for (let steps = 0; !match.step(20_000); steps += 1) assert.ok(steps < 10_000, "a match terminates");
    compare(match, records);
    for (const [record, text] of records.slice(0, 20).entries())
      assert.equal(matcher.passesNow(record, match.filter), passes(compileFilter(match.filter.text), text));
  }
  store.clear();
  return compared + matches.length;
}

function compare(match: FilterMatch, records: Records): void {
  const filter = compileFilter(match.filter.text);
  // Thousands of records share a text, and to read it again takes most of the time.
  const results = new Map<Records[number], boolean>();
  let count = 0;
  for (const [record, text] of records.entries()) {
    const expected = results.get(text) ?? passes(filter, text);
    results.set(text, expected);
    const found = (((match.matches[record >>> 5] ?? 0) >>> (record & 31)) & 1) === 1;
    if (found !== expected) assert.equal(found, expected, `${match.filter.text} on record ${record}, ${text}`);
    if (expected) count += 1;
  }
  assert.equal(match.count, count, `count of ${match.filter.text}`);
  let set = 0;
  for (const word of match.matches) for (let rest = word; rest !== 0; rest &= rest - 1) set += 1;
  assert.equal(set, count, `bits of records that do not exist, ${match.filter.text}`);
}

/** A name as filters write it. */
function spelled(name: string): string {
  return QUOTED_NAMES.includes(name) ? `\`${name.replace(/[\\`]/g, "\\$&")}\`` : name;
}

function passes(filter: Filter, text: Records[number]): boolean {
  if (text === "absent") return false;
  return filter.matches(text === undefined ? undefined : parseMetadata(text));
}
