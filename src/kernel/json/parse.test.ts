/**
 * Names with escapes are read rightly, whatever was read before. The tests of
 * pairs fail with the `JSON.parse` of Node 24 and 26.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson } from "./document.ts";
import { parseJsonString, parseJsonText, parseWithNumbers } from "./parse.ts";
import { parseSpelled, parseWithLarge } from "./spelling.ts";

const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  parseJsonText,
  parseJson: (text) => parseJson(Buffer.from(text)),
  parseWithNumbers: (text) => parseWithNumbers(text, (value) => value),
  parseSpelled,
  parseWithLarge: (text) => parseWithLarge(text, Number),
};

/** Spellings of names that are prefixes, decodings or escapes of each other, or look like more than a name. */
const spellings = [
  ["\\\\", "\\"],
  ['\\"', '"'],
  ['\\\\\\"', '\\"'],
  ['\\"\\\\', '"\\'],
  ["\\\\\\\\", "\\\\"],
  ["\\n", "\n"],
  ["\\\\n", "\\n"],
  ["n", "n"],
  ["\\/", "/"],
  ["\\u0041", "A"],
  ["A", "A"],
  ["\\\\u", "\\u"],
  ["\\u005cu", "\\u"],
  ["\\u0041x", "Ax"],
  ["\\\\u0041", "\\u0041"],
  ["\\u0041bcdef", "Abcdef"],
  ["ab\\\\", "ab\\"],
  ["ab\\n", "ab\n"],
  ["ab\\u0022", 'ab"'],
  ["\u0100\\\\", "\u0100\\"],
  ['\u0100\\"', '\u0100"'],
  ["\\ud800", "\ud800"],
  ["\\udc00", "\udc00"],
  ["\\ud83d\\ude00", "\u{1f600}"],
  ['x\\":1,\\"y', 'x":1,"y'],
  ["__proto__\\\\", "__proto__\\"],
  ["__proto__\\n", "__proto__\n"],
  ["\\u005f_proto__", "__proto__"],
  ["\\u0031", "1"],
  [`${"long".repeat(20)}\\\\`, `${"long".repeat(20)}\\`],
  [`${"long".repeat(20)}\\t`, `${"long".repeat(20)}\t`],
] as const;

/** Texts of objects that begin with these members, and then have the name. */
const shapes: readonly ((start: string, name: string) => string)[] = [
  (start, name) => `{${start},"${name}":2}`,
  (start, name) => `[{${start},"${name}" : {}},{${start},"${name}":[]}]`,
  (start, name) => `{"o":{${start},"${name}":[{${start},"${name}":"\u0100"}]}}`,
];

/**
 * The first members of objects that no other count has: V8 expects a name only while all objects that begin in one way
 * continue in one way, and forgets shapes when more than about 1,500 begin in one way.
 */
function startOf(parser: string, count: number): string {
  return `"${parser} ${Math.floor(count / 100)}":1,"${count}th":null`;
}

for (const [name, parse] of Object.entries(parsers))
  test(`A-21: ${name} reads a name with an escape rightly after each other name at its place`, () => {
    let count = 0;
    for (const [before] of spellings)
      for (const [spelling, expected] of spellings)
        for (const shape of shapes) {
          count += 1;
          const start = startOf(name, count);
          for (let time = 0; time < 3; time += 1) parse(shape(start, before));
          const text = shape(start, spelling);
          assert.deepEqual(namesAfter(parse(text), `${count}th`), new Set([expected]), `${before} before ${text}`);
        }
  });

/** The names in objects that have this one, apart from their first two; an index comes before them. */
function namesAfter(value: unknown, second: string): Set<string> {
  if (typeof value !== "object" || value === null) return new Set();
  const names = Object.hasOwn(value, second) ? Object.keys(value) : [];
  const own = names.filter((name, at) => name !== second && names[at + 1] !== second);
  return new Set([...own, ...Object.values(value).flatMap((member) => [...namesAfter(member, second)])]);
}

test("A-21: a text without escapes in its names is read rightly after names with backslashes at the same place", () => {
  const plain = ["n", "A", "Ax", "ab", "x", "u0041", "\u0100x", `${"long".repeat(20)}t`];
  let count = 0;
  for (const [before] of spellings)
    for (const name of plain) {
      count += 1;
      for (let time = 0; time < 3; time += 1) JSON.parse(`{"plain":1,"${count}th":1,"${before}":2}`);
      const value = parseJsonText(`{"plain":1,"${count}th":1,"${name}":"\\\\\\"","x":3,"y":4}`);
      assert.deepEqual(Object.keys(value ?? {}), [...new Set(["plain", `${count}th`, name, "x", "y"])], before);
    }
});

test("reads texts with escaped names as JSON.parse reads others", () => {
  const rows: [text: string, printed: string][] = [
    [' { "\\n" : [ ] , "a" : { } }\r\n\t', '{"\\n":[],"a":{}}'],
    ['{"\\n":1,"b":2,"\\u000a":3}', '{"\\n":3,"b":2}'],
    ['{"\\n":1,"10":2,"9":3,"01":4,"-1":5}', '{"9":3,"10":2,"\\n":1,"01":4,"-1":5}'],
    ['{"\\u005f_proto__":{"a":1},"toString":null}', '{"__proto__":{"a":1},"toString":null}'],
    ['{"\\u005f_proto__":1,"b":2,"__proto__":3}', '{"__proto__":3,"b":2}'],
    ['{"\\n":[1.50,1e2,-1E-2,0.1,12345678901234567890]}', '{"\\n":[1.5,100,-0.01,0.1,12345678901234567000]}'],
    ['{"\\n":[true,false,null,"","\\ud800","\\b\\f\\/"]}', '{"\\n":[true,false,null,"","\\ud800","\\b\\f/"]}'],
    ['[[],[[]],{"\\n":{"\\n":[{}]}}]', '[[],[[]],{"\\n":{"\\n":[{}]}}]'],
  ];
  for (const [text, printed] of rows) assert.equal(JSON.stringify(parseJsonText(text)), printed, text);
  assert.equal(Object.getPrototypeOf(parseJsonText('{"\\u005f_proto__":{}}')), Object.prototype);
  assert.deepEqual(parseJsonText('{"\\n":-0}'), { "\n": -0 });
  assert.deepEqual(parseJsonText('{"\\n":1e999}'), { "\n": Number.POSITIVE_INFINITY });
});

test("keeps the spelling of numbers in texts with escaped names", () => {
  const text = '{"\\"":[1.0,-0,12345678901234567890,1,"1.0"]}';
  assert.equal(JSON.stringify(parseSpelled(text)), text);
  assert.deepEqual(parseWithLarge(text, BigInt), { '"': [1, -0, 12345678901234567890n, 1, "1.0"] });
});

test("rejects what JSON.parse rejects, with its messages", () => {
  const faults = ["", "x", "01", "1.", ".5", "+1", "-", "1e", "tru", "nullx", "[1,]", "[1 2]", "[", "]", "{]", '{"a"}'];
  const more = [
    '{"a":1,}',
    "{a:1}",
    "{,}",
    '"',
    '"\n"',
    '"\\x"',
    '"\\u00g0"',
    '"\\',
    "\u00a0",
    "\ufeff1",
    "//",
    "'a'",
    "NaN",
  ];
  for (const fault of [...faults, ...more])
    for (const text of [`{"\\n":${fault}}`, `{"\\n":1}${fault}`, `[{"\\n":${fault}`, `{"\\n${fault}":1`]) {
      const error = errorOf(() => JSON.parse(text));
      assert.deepEqual(
        errorOf(() => parseJsonText(text)),
        error,
        text,
      );
      assert.deepEqual(
        errorOf(() => parseJson(Buffer.from(text))),
        error,
        text,
      );
    }
});

function errorOf(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

test("a text with an escaped name may nest as deep as another", () => {
  const depth = 100_000;
  let value = parseJsonText(`${'{"\\n":['.repeat(depth)}${"]}".repeat(depth)}`);
  for (let level = 0; level < depth; level += 1) {
    assert.ok(typeof value === "object" && value !== null && "\n" in value && Array.isArray(value["\n"]));
    value = value["\n"][0];
  }
  assert.equal(value, undefined);
});

test("a string literal is a string", () => {
  assert.equal(parseJsonString('"\\"\\u00e9"'), '"\u00e9');
  for (const text of ["1", '"', '["a"]']) assert.throws(() => parseJsonString(text), SyntaxError);
});

/** What a text says, known without parsing it: the oracle of the random test. */
type Said =
  | string
  | number
  | boolean
  | null
  | readonly Said[]
  | { readonly members: readonly (readonly [string, Said])[] };

interface Spelled {
  readonly text: string;
  readonly said: Said;
}

const spelledText: fc.Arbitrary<{ text: string; said: string }> = fc
  .array(fc.tuple(fc.constantFrom('"', "\\", "\n", "\ud800", "a", "u", "0", "1", "\u0100"), fc.boolean()), {
    maxLength: 4,
  })
  .map((units) => ({
    text: `"${units.map(([unit, isEscaped]) => (isEscaped ? escapeOf(unit) : JSON.stringify(unit).slice(1, -1))).join("")}"`,
    said: units.map(([unit]) => unit).join(""),
  }));

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const { value: spelledValue } = fc.letrec<{ value: Spelled; list: Spelled; object: Spelled }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<Spelled>({ text: "-1.5", said: -1.5 }, { text: "true", said: true }, { text: "null", said: null }),
    spelledText,
    tie("list"),
    tie("object"),
  ),
  list: fc.tuple(fc.array(tie("value"), { maxLength: 3 }), fc.constantFrom("", " ")).map(([items, gap]) => ({
    text: `[${gap}${items.map(({ text }) => text).join(`${gap},`)}]`,
    said: items.map(({ said }) => said),
  })),
  object: fc
    .tuple(fc.array(fc.tuple(spelledText, tie("value")), { maxLength: 4 }), fc.constantFrom("", "\n\t"))
    .map(([members, gap]) => ({
      text: `{${members.map(([name, { text }]) => `${gap}${name.text}${gap}:${gap}${text}`).join(",")}${gap}}`,
      said: { members: inOrder(new Map(members.map(([name, { said }]) => [name.said, said]))) },
    })),
}));

test("reads random texts as they were spelled", () => {
  fc.assert(
    fc.property(spelledValue, fc.constantFrom(...Object.values(parsers)), ({ text, said }, parse) => {
      assert.deepEqual(saidBy(parse(text)), said);
    }),
    { numRuns: 2_000 },
  );
});

/** The order of members in JavaScript: names that are indices first, by number. */
function inOrder(members: ReadonlyMap<string, Said>): readonly (readonly [string, Said])[] {
  const indices = [...members].filter(([name]) => /^(?:0|[1-9]\d*)$/.test(name));
  const others = [...members].filter(([name]) => !/^(?:0|[1-9]\d*)$/.test(name));
  return [...indices.sort(([one], [other]) => Number(one) - Number(other)), ...others];
}

function saidBy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(saidBy);
  if (typeof value !== "object" || value === null) return value;
  return { members: Object.entries(value).map(([name, member]) => [name, saidBy(member)]) };
}
