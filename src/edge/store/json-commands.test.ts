import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bytesFromText } from "../../kernel/bytes.ts";
import { malformedCommand, malformedPipeline, RequestFailure } from "../errors.ts";
import { parseBatch, parseCommand } from "./json-commands.ts";
import { InvalidCommand, readBatchExactly, readCommandExactly, WORDS_MAX } from "./json-reader.ts";

const accepted: [string, string[]][] = [
  ['["GET","k"]', ["GET", "k"]],
  ["[]", []],
  [' [ "GET" ,\n"k"\t]\r\n', ["GET", "k"]],
  ['["a",""]', ["a", ""]],
  ['["SET","k",12345678901234567890]', ["SET", "k", "12345678901234567890"]],
  ['["SET","k",9223372036854775807]', ["SET", "k", "9223372036854775807"]],
  ["[1.10,1e3,-0,0,-1.5E+7,1E400]", ["1.10", "1e3", "-0", "0", "-1.5E+7", "1E400"]],
  ['["k",true,false]', ["k", "true", "false"]],
  ['["k","\\"\\\\\\/\\b\\f\\n\\r\\t"]', ["k", '"\\/\b\f\n\r\t']],
  ['["k","\\\\"]', ["k", "\\"]],
  ['["\\\\\\"","b"]', ['\\"', "b"]],
  ['["k","é"]', ["k", "\xc3\xa9"]],
  ['["k","\\u00e9"]', ["k", "\xc3\xa9"]],
  ['["k","\\u00e9 and é"]', ["k", "\xc3\xa9 and \xc3\xa9"]],
  ['["k","\\ud83d\\ude00"]', ["k", "\xf0\x9f\x98\x80"]],
  ['["k","\\ud83d"]', ["k", "\xef\xbf\xbd"]],
  ['["k","a\\ud83db"]', ["k", "a\xef\xbf\xbdb"]],
  ['["k","\\u0000"]', ["k", "\x00"]],
  ['["k","\\\\u0041"]', ["k", "\\u0041"]],
  ['["__proto__","constructor"]', ["__proto__", "constructor"]],
  ['["k","{\\"a\\":[1,{\\"b\\":null}]}",1]', ["k", '{"a":[1,{"b":null}]}', "1"]],
];

for (const [body, words] of accepted) {
  test(`A2: ${body.trim()} is read as it was written`, () => {
    assert.deepEqual(parseCommand(Buffer.from(body), malformedCommand), words);
    assert.deepEqual(readCommandExactly(Buffer.from(body), malformedCommand), words);
    assert.deepEqual(parseBatch(Buffer.from(`[${body}, ${body}]`), malformedPipeline), [words, words]);
    assert.deepEqual(readBatchExactly(Buffer.from(`[${body}, ${body}]`), malformedPipeline), [words, words]);
  });
}

const malformed = [
  "",
  " ",
  "null",
  "{}",
  '"GET"',
  "1",
  "[",
  "]",
  "[,]",
  '["a",]',
  '["a" "b"]',
  '["a"]]',
  '["a"],',
  '["a"] x',
  '["a]',
  '["a\\"]',
  '["a\\x"]',
  '["\\u12"]',
  '["a\nb"]',
  '["long enough for the parser\nb"]',
  '["a\u0000"]',
  "[01]",
  "[1.]",
  "[.5]",
  "[+1]",
  "[-]",
  "[1e]",
  "[0x10]",
  "[NaN]",
  "[Infinity]",
  "[tru]",
  "[True]",
  "[undefined]",
  "['a']",
  "\ufeff[]",
  '["a"]\u0000',
  "[1 2]",
];

for (const body of malformed) {
  test(`A2: ${JSON.stringify(body)} fails to parse`, () => {
    for (const read of [parseCommand, readCommandExactly]) {
      assert.throws(
        () => read(Buffer.from(body), malformedCommand),
        (thrown) => thrown === malformedCommand,
      );
    }
  });
}

test("A2: refuses null, objects and nested arrays with the index of the word", () => {
  const rows: [string, string][] = [
    ['["SET","k",null]', "ERR failed to parse command: word 2 of a command must be a string, a number or a boolean"],
    ['[{"a":1}]', "ERR failed to parse command: word 0 of a command must be a string, a number or a boolean"],
    ['["a",["b"]]', "ERR failed to parse command: word 1 of a command must be a string, a number or a boolean"],
  ];
  for (const [body, text] of rows) {
    assert.throws(
      () => parseCommand(Buffer.from(body), malformedCommand),
      (thrown) => thrown instanceof RequestFailure && thrown.text === text && thrown.kind === "bad request",
      body,
    );
  }
});

test("A3: a body that is not an array of arrays fails to parse", () => {
  for (const body of ['["GET","k"]', "{}", '[["a"],1]', '[["a"],"b"]', "[null]", '[["a"],{}]', '[["a"]', '[["a"]]x'])
    assert.throws(
      () => parseBatch(Buffer.from(body), malformedPipeline),
      (thrown) => thrown === malformedPipeline,
      body,
    );
});

test("A3: a null invalidates its own command of a batch, objects and arrays invalidate the whole batch", () => {
  assert.deepEqual(parseBatch(Buffer.from('[["a"],["SET","k",null],["b",1,null,null],[null]]'), malformedPipeline), [
    ["a"],
    new InvalidCommand(2),
    new InvalidCommand(2),
    new InvalidCommand(0),
  ]);
  for (const word of ["{}", "[]", '[["c"]]', "nul", "nullx", "null 1"])
    assert.throws(() => parseBatch(Buffer.from(`[["a"],["b",${word}]]`), malformedPipeline), RequestFailure, word);
});

test("A3: empty commands and an empty batch are not malformed", () => {
  assert.deepEqual(parseBatch(Buffer.from("[]"), malformedPipeline), []);
  assert.deepEqual(parseBatch(Buffer.from("[[]]"), malformedPipeline), [[]]);
  assert.deepEqual(readBatchExactly(Buffer.from(" [ ] "), malformedPipeline), []);
  assert.deepEqual(readBatchExactly(Buffer.from("[[ ],[1]]"), malformedPipeline), [[], ["1"]]);
});

test("A-14: refuses deep nesting where it begins, at any length", () => {
  for (const depth of [129, 100_000, 5_000_000]) {
    const body = Buffer.from("[".repeat(depth));
    assert.throws(() => parseCommand(body, malformedCommand), RequestFailure);
    assert.throws(() => parseBatch(body, malformedPipeline), RequestFailure);
  }
});

test("invalid UTF-8 in a body becomes U+FFFD", () => {
  const body = Buffer.from('["SET","k","a\xff\xe9b"]', "latin1");
  assert.deepEqual(parseCommand(body, malformedCommand), ["SET", "k", "a\xef\xbf\xbd\xef\xbf\xbdb"]);
});

test("A.words: limits the words of a request", () => {
  const body = Buffer.from(`[${"1,".repeat(WORDS_MAX)}1]`);
  assert.throws(
    () => parseCommand(body, malformedCommand),
    (thrown) => thrown instanceof RequestFailure && thrown.text === "ERR too many words in one request. Limit: 1048576",
  );
});

test("a long body reads the same through the exact reader", () => {
  const words = ["SET", "k", 'x\\"é\n'.repeat(20_000)];
  assert.deepEqual(parseCommand(Buffer.from(JSON.stringify(words)), malformedCommand), words.map(bytesFromText));
});

/** Words by JSON.parse; undefined for another shape. */
function wordsByParse(text: string): string[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const words: string[] = [];
  for (const word of value) {
    if (!["string", "number", "boolean"].includes(typeof word)) return undefined;
    words.push(typeof word === "string" ? bytesFromText(word) : String(word));
  }
  return words;
}

function wordsByReader(text: string): string[] | undefined {
  try {
    return readCommandExactly(Buffer.from(text), malformedCommand);
  } catch (thrown) {
    assert.ok(thrown instanceof RequestFailure);
    return undefined;
  }
}

const word = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\\", '"', "a", "\n", "\u00e9", "\ud83d", "/", "u", "0") }),
  fc.maxSafeInteger(),
  fc.boolean(),
);

test("the exact reader and JSON.parse agree on arrays of scalars with any white space", () => {
  fc.assert(
    fc.property(fc.array(word), fc.constantFrom(undefined, 1, "\t"), (words, space) => {
      const text = JSON.stringify(words, null, space);
      assert.deepEqual(wordsByReader(text), wordsByParse(text));
      assert.deepEqual(parseCommand(Buffer.from(text), malformedCommand), wordsByParse(text));
    }),
  );
});

test("the exact reader and JSON.parse agree on invalid JSON and other shapes", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.nat(), fc.string({ maxLength: 2 }), (json, at, junk) => {
      const text = `[${json}]`;
      const place = at % text.length;
      for (const mutant of [text, text.slice(0, place) + junk + text.slice(place + 1), text.slice(0, place)]) {
        const expected = wordsByParse(mutant);
        const found = wordsByReader(mutant);
        assert.equal(found === undefined, expected === undefined, JSON.stringify(mutant));
        if (expected !== undefined) assert.equal(found?.length, expected.length);
      }
    }),
    { numRuns: 1_000 },
  );
});
