/**
 * The reader of short bodies against `JSON.parse` and the exact reader.
 *
 * Run again:  LARDER_SHORT_WORDS_SEED=… npm run t -- src/edge/store/short-words.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../test/harness/seed.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { malformedCommand } from "../errors.ts";
import { readBatchExactly, readCommandExactly } from "./json-reader.ts";
import { readShortBatch, readShortCommand, SHORT_BODY_BYTES_MAX } from "./short-words.ts";

const seed = seedFrom("LARDER_SHORT_WORDS_SEED");

/** The words of the body, or undefined. */
const bodies: readonly (readonly [body: string, words: readonly Bytes[] | undefined])[] = [
  ["[]", []],
  ['["PING"]', ["PING"]],
  ['["SET","k","v","EX",60]', ["SET", "k", "v", "EX", "60"]],
  ['["k",0,-1,999999999999999,-999999999999999]', ["k", "0", "-1", "999999999999999", "-999999999999999"]],
  ['["k","",""]', ["k", "", ""]],
  ['["k","é"]', ["k", "\xc3\xa9"]],
  ['["k","\\"\\\\\\/\\b\\f\\n\\r\\t"]', ["k", '"\\/\b\f\n\r\t']],
  ['["\\\\"]', ["\\"]],
  ['["k","a\\nb and 20 more bytes…"]', ["k", "a\nb and 20 more bytes\xe2\x80\xa6"]],
  ['["__proto__","constructor"]', ["__proto__", "constructor"]],
  [`["${"n".repeat(64)}"]`, ["n".repeat(64)]],
  // Everything else is for the other readers.
  [`["${"n".repeat(65)}"]`, undefined],
  ['["k","\\u00e9"]', undefined],
  ['["k", "v"]', undefined],
  [' ["k"]', undefined],
  ['["k"]\n', undefined],
  ['["k",true]', undefined],
  ['["k",null]', undefined],
  ['["k",{}]', undefined],
  ['["k",["v"]]', undefined],
  ['["k",1.5]', undefined],
  ['["k",1e3]', undefined],
  ['["k",-0]', undefined],
  ['["k",1000000000000000]', undefined],
  ["", undefined],
  ["[", undefined],
  ["[1", undefined],
  ["[1,", undefined],
  ["[1,]", undefined],
  ["[,1]", undefined],
  ["[-]", undefined],
  ["[01]", undefined],
  ["[1]]", undefined],
  ['["a]', undefined],
  ['["a\\', undefined],
  ['["a\\"]', undefined],
  ['["a\\x"]', undefined],
  ['["a\nb"]', undefined],
  ['["a\\n\nb"]', undefined],
  ['["a"x]', undefined],
  ["{}", undefined],
  ["null", undefined],
];

test("reads strings and integers without white space, and leaves any other command to the other readers", () => {
  for (const [body, words] of bodies) assert.deepEqual(readShortCommand(Buffer.from(body)), words, body);
});

test("a batch is read like its commands, or not at all", () => {
  for (const [body, words] of bodies) {
    if (words?.some((word) => word.length > 24)) continue;
    const batch = words === undefined ? undefined : [["GET", "k"], words, words];
    assert.deepEqual(readShortBatch(Buffer.from(`[["GET","k"],${body},${body}]`)), batch, body);
  }
  for (const body of ["[]", "[[]", "[[],]", "[[]]]", "[[],[]", '["a"]', "[[1],2]", '[["a"] ,["b"]]', "[[]]x"])
    assert.equal(readShortBatch(Buffer.from(body)), undefined, body);
  assert.deepEqual(readShortBatch(Buffer.from("[[]]")), [[]]);
  assert.equal(readShortBatch(Buffer.from(`[["SET","k","${"v".repeat(25)}"]]`)), undefined);
});

test("leaves invalid UTF-8 and long bodies to the other readers", () => {
  assert.equal(readShortCommand(Buffer.from('["SET","k","a\xffb"]', "latin1")), undefined);
  assert.equal(readShortBatch(Buffer.from('[["SET","k\xc3","\xa9b"]]', "latin1")), undefined);
  const longest = Buffer.from(`[${"10,".repeat(21_844)}10]`);
  assert.equal(longest.length, SHORT_BODY_BYTES_MAX);
  assert.equal(readShortCommand(longest)?.length, 21_845);
  assert.equal(readShortCommand(Buffer.from(`[${"10,".repeat(21_844)}100]`)), undefined);
});

test("random commands have the words that JSON.parse finds", () => {
  const random = seededRandom(seed);
  for (let count = 1; count <= 2_000; count += 1) {
    const commands = Array.from({ length: 1 + random.below(4) }, () =>
      Array.from({ length: random.below(6) }, () => drawWord(random)),
    );
    const label = `SEED=${seed}, batch ${count}`;
    const text = JSON.stringify(commands);
    const expected = commands.map((words) => words.map((word) => Buffer.from(String(word)).toString("latin1")));
    const batch = readShortBatch(Buffer.from(text));
    assert.deepEqual(batch, text.includes("\\u") ? undefined : expected, label);
  }
});

test("what it reads of a damaged body, the exact reader reads too", () => {
  const random = seededRandom(seed);
  const signs = '"\\[],: 0-9nut{}\n\x7f\xc3\xa9';
  let readCount = 0;
  for (let count = 1; count <= 4_000; count += 1) {
    const words = Array.from({ length: 1 + random.below(4) }, () => drawWord(random));
    const bytes = Buffer.from(JSON.stringify(count % 2 === 0 ? words : [words, words]));
    for (let left = random.below(3); left > 0; left -= 1)
      bytes[random.below(bytes.length)] = signs.charCodeAt(random.below(signs.length));
    const label = `SEED=${seed}, body ${count}: ${bytes.toString("latin1")}`;
    const command = readShortCommand(bytes);
    if (command !== undefined) assert.deepEqual(command, readCommandExactly(bytes, malformedCommand), label);
    const batch = readShortBatch(bytes);
    if (batch !== undefined) assert.deepEqual(batch, readBatchExactly(bytes, malformedCommand), label);
    if (command !== undefined || batch !== undefined) readCount += 1;
  }
  assert.ok(readCount > 500, `SEED=${seed}: only ${readCount} bodies were read`);
});

function drawWord(random: Random): string | number {
  if (random.below(4) === 0) return random.below(2) === 0 ? random.below(1_000) : -1 - random.below(1e9);
  const alphabet = ["abcXYZ019 _:", 'a"\\/\n\t\r\b\f', "aéß→😀", "ab\u0001"][
    random.below(random.below(8) === 0 ? 4 : 3)
  ] as string;
  const letters = [...alphabet];
  return Array.from({ length: random.below(7) }, () => letters[random.below(letters.length)]).join("");
}
