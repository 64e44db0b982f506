/** The words of texts against a slow rule, and the cases of the documentation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Bytes, bytesFromText, textFromBytes } from "../../../kernel/bytes.ts";
import type { Language } from "../definition.ts";
import { type Analyzer, analyzerFor, lowerCase } from "./analyzer.ts";
import { KnownWords } from "./known-words.ts";

interface Token {
  readonly term: string;
  readonly start: number;
  readonly end: number;
}

interface Options {
  readonly language?: Language;
  readonly isTokenized?: boolean;
  readonly isStemmed?: boolean;
}

const analyzerOf = ({ language = "english", isTokenized = true, isStemmed = true }: Options) =>
  analyzerFor(language, { isTokenized, isStemmed });

/** The tokens of bytes, with their terms as they are. Checks that the numbers of an index are those of the same terms. */
function tokensOf(text: Bytes, options: Options = {}): Token[] {
  const tokens: Token[] = [];
  const analyzer = analyzerOf(options);
  analyzer.analyse(text, (term, start, end) => tokens.push({ term, start, end }));
  const terms = tokens.map(({ term }) => term);
  for (let i = 0; i < 2; i += 1) assert.deepEqual(numberedTermsOf(analyzer, text), terms);
  return tokens;
}

/** By analyzer: the words of all texts so far, and the terms by number. */
const numbered = new Map<Analyzer, { readonly known: KnownWords; readonly terms: Map<Bytes, number> }>();

function numberedTermsOf(analyzer: Analyzer, text: Bytes): Bytes[] {
  const { known, terms } = numbered.get(analyzer) ?? { known: new KnownWords(), terms: new Map<Bytes, number>() };
  numbered.set(analyzer, { known, terms });
  const termFor = (term: Bytes): number => {
    const number = terms.get(term) ?? terms.size;
    terms.set(term, number);
    return number;
  };
  const numbers: number[] = [];
  analyzer.number?.(text, { known, termFor }, numbers);
  const byNumber = [...terms.keys()];
  return numbers.map((number) => byNumber[number] as Bytes);
}

/** The terms of a text, as text. */
const termsOf = (text: string, options?: Options): string[] =>
  tokensOf(bytesFromText(text), options).map(({ term }) => textFromBytes(term));

/** Each code point for itself: what the analysis says in the words of Unicode. */
function slowTokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let word: { term: string; start: number } | undefined;
  let at = 0;
  for (const character of [...text, " "]) {
    if (/[\p{Alphabetic}\p{N}]/u.test(character)) {
      word ??= { term: "", start: at };
      word.term += character === "İ" ? "i" : character.toLowerCase();
    } else if (word !== undefined) {
      tokens.push({ term: bytesFromText(word.term), start: word.start, end: at });
      word = undefined;
    }
    at += Buffer.byteLength(character);
  }
  return tokens;
}

const unstemmed: Options = { isStemmed: false };

/** Letters of one to four bytes, capitals without a pair, marks inside and outside Alphabetic, digits and separators. */
const characters = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(..."abzABZ019 .,-_'@\n") },
  {
    weight: 4,
    arbitrary: fc.constantFrom(..."éÉßẞİıΣσςÅK½Ⅳ²ⅷжЖ漢字かなक\u0301\u093f\u200d—…\u00a0ⱥȺ𐐀𐐨😀𝟘\u0000\u007f\u0080"),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
);
const texts = fc.array(characters, { maxLength: 40 }).map((parts) => parts.join("").toWellFormed());

test("tokens are maximal runs of alphabetic code points and numbers, in lower case", () => {
  fc.assert(
    fc.property(texts, (text) => {
      assert.deepEqual(tokensOf(bytesFromText(text), unstemmed), slowTokensOf(text));
    }),
    { numRuns: 1_000 },
  );
});

test("offsets cut the token out of the text", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const bytes = bytesFromText(text);
      for (const { term, start, end } of tokensOf(bytes, unstemmed))
        assert.equal(lowerCase(bytes.slice(start, end)), term);
    }),
    { numRuns: 500 },
  );
});

test("lower case is the same when it is applied twice", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const once = lowerCase(bytesFromText(text));
      assert.equal(lowerCase(once), once);
      assert.equal([...textFromBytes(once)].length, [...text].length);
    }),
    { numRuns: 500 },
  );
});

test("bytes that are not UTF-8 part words, and change no others", () => {
  for (const [text, expected] of [
    ["ab\xffcd", ["ab@0", "cd@3"]],
    ["caf\xc3", ["caf@0"]],
    ["\xc3\xa9\xa9x", ["\xc3\xa9@0", "x@3"]],
    ["x\xed\xa0\x80y", ["x@0", "y@4"]],
    ["x\xc0\xafy", ["x@0", "y@3"]],
    ["x\xe0\x81\xa1y", ["x@0", "y@4"]],
    ["x\xf0\x80\x81\xa1y", ["x@0", "y@5"]],
    ["x\xf4\x90\x80\x80y", ["x@0", "y@5"]],
    ["\xe6\xbc", []],
    ["\xf0\x9f\x98", []],
  ] as const)
    assert.deepEqual(
      tokensOf(text, unstemmed).map(({ term, start }) => `${term}@${start}`),
      expected,
    );
  assert.equal(lowerCase("A\xffB\xc3\x89\xc3"), "a\xffb\xc3\xa9\xc3");
});

test("any bytes have tokens that lie one after the other", () => {
  const bytes = fc.array(fc.oneof(fc.nat(255), fc.constantFrom(0x61, 0xc3, 0xe2, 0xf0, 0x9f, 0x80, 0xbf)));
  fc.assert(
    fc.property(bytes, (codes) => {
      const text = String.fromCharCode(...codes);
      let last = -1;
      for (const { start, end } of tokensOf(text, unstemmed)) {
        assert.ok(start > last && end > start && end <= text.length);
        last = end;
      }
    }),
    { numRuns: 1_000 },
  );
});

test("the cases of the documentation", () => {
  const table: readonly [string, Options, string[]][] = [
    ["user@example.com", {}, ["user", "exampl", "com"]],
    ["user@example.com", unstemmed, ["user", "example", "com"]],
    ["noise-cancelling", unstemmed, ["noise", "cancelling"]],
    ["Running studies of the RUNNER", {}, ["run", "studi", "of", "the", "runner"]],
    ["don't", {}, ["don", "t"]],
    ["", {}, []],
    [" ,. ", {}, []],
    ["Straße ΟΔΟΣ İstanbul", unstemmed, ["straße", "οδοσ", "istanbul"]],
    ["Les chevaux chantaient", { language: "french" }, ["le", "cheval", "chant"]],
    ["Mädchenhäuser", { language: "german" }, ["madchenhaus"]],
    ["Книгами", { language: "russian" }, ["книг"]],
    ["New-York  City", { isTokenized: false }, ["new-york  city"]],
    ["RUNNING Über", { isTokenized: false, isStemmed: true }, ["running über"]],
    ["", { isTokenized: false }, []],
    ["2^53+1 = 9007199254740993", {}, ["2", "53", "1", "9007199254740993"]],
  ];
  for (const [text, options, terms] of table) assert.deepEqual(termsOf(text, options), terms, text);
});

test("an ending that is a word keeps its letters", () => {
  assert.deepEqual(termsOf("ları", { language: "turkish" }), ["ları"]);
});

test("words of a filter have their form before and after stemming", () => {
  assert.deepEqual(analyzerOf({}).words("The Octopuses"), [
    { lower: "the", term: "the" },
    { lower: "octopuses", term: "octopus" },
  ]);
  assert.deepEqual(analyzerOf({ isTokenized: false }).words("The Octopuses"), [
    { lower: "the octopuses", term: "the octopuses" },
  ]);
});

test("tokens above 65,530 bytes are dropped, and those above 1,000 bytes are not stemmed", () => {
  const lengthsOf = (text: string, options: Options): number[] =>
    tokensOf(text, options).map(({ term }) => term.length);
  const running = (bytes: number): string => `${"a".repeat(bytes - 7)}running`;
  assert.deepEqual(lengthsOf(`x ${"a".repeat(65_530)} y`, {}), [1, 65_530, 1]);
  assert.deepEqual(lengthsOf(`x ${"a".repeat(65_531)} y`, {}), [1, 1]);
  assert.deepEqual(lengthsOf("a".repeat(65_530), { isTokenized: false }), [65_530]);
  assert.deepEqual(lengthsOf("a".repeat(65_531), { isTokenized: false }), []);
  assert.deepEqual(lengthsOf(bytesFromText("é".repeat(32_765)), unstemmed), [65_530]);
  assert.deepEqual(lengthsOf(bytesFromText("é".repeat(32_766)), unstemmed), []);
  assert.deepEqual(lengthsOf(`${running(1_000)} ${running(1_001)}`, {}), [996, 1_001]);
});

test("an analyzer is made once for a language and its options", () => {
  assert.equal(analyzerOf({}), analyzerOf({}));
  assert.notEqual(analyzerOf({}), analyzerOf({ language: "dutch" }));
  assert.notEqual(analyzerOf({}), analyzerOf(unstemmed));
  assert.notEqual(analyzerOf(unstemmed), analyzerOf({ isTokenized: false }));
});

test("stems are right after more words than the cache has", () => {
  const words = Array.from({ length: 20_000 }, (_, at) => `w${at}ing`);
  const text = [...words, "running", ...words, "Running"].join(" ");
  const terms = tokensOf(text).map(({ term }) => term);
  assert.equal(terms.length, 40_002);
  assert.deepEqual([terms[0], terms[20_000], terms[20_001], terms[40_001]], ["w0ing", "run", "w0ing", "run"]);
});
