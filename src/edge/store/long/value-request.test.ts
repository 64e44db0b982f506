import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Bytes } from "../../../kernel/bytes.ts";
import { malformedCommand, RequestFailure } from "../../errors.ts";
import { parseCommand } from "../json-commands.ts";
import { PIECE_BYTES_MAX } from "./json-strings.ts";
import { readCommandWithValue } from "./value-request.ts";

const LONG = "v".repeat(4_096);

/** The words with the value in its place, or undefined if the body is left to the other readers. */
function wordsOf(body: Buffer, valueAt = 2): readonly Bytes[] | undefined {
  const command = readCommandWithValue(body);
  if (command === undefined) return undefined;
  assert.equal(command.words[valueAt], "");
  return command.words.with(valueAt, command.value.latin1Slice());
}

/** A body with this text between the quotes of the value. */
function setting(content: string): Buffer {
  return Buffer.from(`["SET","k","${content}"]`);
}

function textOf(content: string): string | undefined {
  return readCommandWithValue(setting(content))?.value.toString();
}

test("each command whose row has a value gives it beside its other words", () => {
  const rows: [unknown[], number][] = [
    [["SET", "k", LONG], 2],
    [["set", "k", LONG, "EX", 3600, "NX"], 2],
    [["SET", "é", LONG, "PX", "100", "GET"], 2],
    [["SETNX", "k", LONG], 2],
    [["GETSET", 7, LONG], 2],
    [["SETEX", "k", -1, LONG], 3],
    [["psetex", "k", 0, LONG], 3],
  ];
  for (const [words, valueAt] of rows)
    for (const indent of [0, 2]) {
      const body = Buffer.from(JSON.stringify(words, undefined, indent));
      const expected = words.map((word) => Buffer.from(String(word)).latin1Slice());
      assert.deepEqual(wordsOf(body, valueAt), expected, JSON.stringify(words.with(valueAt, "…")));
    }
});

test("other commands and other forms are left to the other readers", () => {
  const bodies = [
    `["APPEND","k","${LONG}"]`,
    `["SET","k"]`,
    `["SET","k",12]`,
    `["SET","k","${"v".repeat(4_095)}"]`,
    `["SET","k","${"\\u0041".repeat(4_095)}"]`,
    `["SET","k\\n","${LONG}"]`,
    `["SET","k","${"v".repeat(PIECE_BYTES_MAX)}"]`,
    `["SET","${"k".repeat(2_000)}","${LONG}"]`,
    `["SET","k","${LONG}","EX",1.0]`,
    `["SET","k","${LONG}","EX",-0]`,
    `["SET","k","${LONG}","EX",12345678901234567890]`,
    `["SET","k","${LONG}",null]`,
    `["SET","k","${LONG}",true]`,
    `["SET","k","${LONG}",["EX"]]`,
    `["SET","k","${LONG}"${',"NX"'.repeat(40)}]`,
    `[["SET","k","${LONG}"]]`,
    `{"SET":"${LONG}"}`,
  ];
  for (const body of bodies) assert.equal(wordsOf(Buffer.from(body)), undefined, body.slice(0, 40));
});

test("a body that is not valid is left to the other readers, which refuse it", () => {
  const bodies = [
    `["SET","k","${LONG}`,
    `["SET","k","${LONG}\\`,
    `["SET","k","${LONG}\\"`,
    `["SET","k","${LONG}\\u`,
    `["SET","k","${LONG}\\u12"]`,
    `["SET","k","${LONG}\\u12g4"]`,
    `["SET","k","${LONG}\\x"]`,
    `["SET","k","${LONG}\\U0041"]`,
    `["SET","k","${LONG}"`,
    `["SET","k","${LONG}",`,
    `["SET","k","${LONG}",]`,
    `["SET","k","${LONG}"]]`,
    `["SET","k","${LONG}"] x`,
    `["SET","k" "${LONG}"]`,
    `["SET","k","${LONG}" "NX"]`,
    `["SET","k","${LONG}",01]`,
    `["SET","k","${LONG}",1x]`,
  ];
  for (let code = 0; code < 32; code += 1) bodies.push(`["SET","k","${LONG}${String.fromCharCode(code)}"]`);
  for (const body of bodies) {
    assert.equal(wordsOf(Buffer.from(body)), undefined, JSON.stringify(body.slice(4_000)));
    assert.throws(() => parseCommand(Buffer.from(body), malformedCommand), JSON.stringify(body.slice(4_000)));
  }
});

test("a body with invalid UTF-8 is left to the other readers", () => {
  for (const hex of ["ff", "c3", "eda080", "f09f98"])
    assert.equal(
      wordsOf(Buffer.concat([Buffer.from(`["SET","k","${LONG}`), Buffer.from(hex, "hex"), Buffer.from('"]')])),
      undefined,
    );
});

test("every escape has its bytes, at each place of a block", () => {
  const rows: [string, string][] = [
    ['\\"\\\\\\/\\b\\f\\n\\r\\t', '"\\/\b\f\n\r\t'],
    ["\\u0000\\u001F\\u007f\\u0080\\u07ff\\u0800\\u2028\\uFfFd", "\u0000\u001f\u007f\u0080\u07ff\u0800\u2028\ufffd"],
    ["\\ud83d\\ude00", "\u{1f600}"],
    ["\\uD800\\uDC00\\udbff\\udfff", "\u{10000}\u{10ffff}"],
    ["\\ud83d", "\ufffd"],
    ["\\ude00\\ud83d", "\ufffd\ufffd"],
    ["\\ud83d\\ud83d\\ude00", "\ufffd\u{1f600}"],
    ["\\ud83d\\n\\ud83dx\\ud83d\\\\ude00", "\ufffd\n\ufffdx\ufffd\\ude00"],
    ["\\\\u0041\\u0041", "\\u0041A"],
    ["é世\u{1f600}", "é世\u{1f600}"],
  ];
  for (const [content, text] of rows)
    for (let place = 0; place < 16; place += 1) {
      const before = LONG + "v".repeat(place);
      assert.equal(textOf(before + content), before + text, `${content} at ${place}`);
      assert.equal(textOf(`${before}${content}w`), `${before}${text}w`, `${content} at ${place}, and more`);
    }
});

test("an escape, a character or the end on the border of two pieces is whole", () => {
  for (const content of ["\\n", "\\u0041", "\\ud83d\\ude00", "\\ud83d\\u0041", "世", ""])
    for (let place = PIECE_BYTES_MAX - 13; place <= PIECE_BYTES_MAX; place += 1) {
      const before = `\\t${"v".repeat(place - 2)}`;
      for (const after of ["", "w", "w".repeat(70_000)]) {
        const expected = Buffer.from(JSON.parse(`"${content}"`) as string).toString();
        assert.ok(
          textOf(before + content + after) === JSON.parse(`"${before}"`) + expected + after,
          `${content} at ${place}`,
        );
      }
      assert.equal(textOf(`${before}\\`), undefined);
      assert.equal(textOf(`${before}\\u00`), undefined);
      assert.equal(textOf(`${before}\n`), undefined);
    }
});

test("random bodies have the words of the other readers, and only valid ones are read", () => {
  const part = fc.oneof(
    fc.constantFrom("\\n", '\\"', "\\\\", "\\u00e9", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\/", "é", "世", "😀"),
    fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => JSON.stringify(text).slice(1, -1)),
    fc.integer({ min: 1, max: 40 }).map((count) => "v".repeat(count)),
  );
  const fault = fc.option(fc.constantFrom('"', "\\", "\n", "\\x", "\\u12", "\u0000"), { freq: 1 });
  const content = fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 900 }), fault)
    .map(([parts, repeats, wrong]) => `\\t${LONG}${parts.join("").repeat(repeats)}${wrong ?? ""}`);
  fc.assert(
    fc.property(content, fc.boolean(), (text, hasOption) => {
      const body = Buffer.from(`["SET","k","${text}"${hasOption ? ',"EX",60' : ""}]`);
      assert.ok(isDeepStrictEqual(wordsOf(body), otherWordsOf(body)), "the words differ");
    }),
    { numRuns: 60 },
  );
});

/** The words as the other readers see them; undefined if they refuse the body. */
function otherWordsOf(body: Buffer): readonly Bytes[] | undefined {
  try {
    return parseCommand(body, malformedCommand);
  } catch (error) {
    if (error instanceof RequestFailure) return undefined;
    throw error;
  }
}

test("a value without escapes is a part of the body", () => {
  const body = setting(LONG);
  const value = readCommandWithValue(body)?.value;
  assert.equal(value?.toString(), LONG);
  assert.equal(value?.buffer, body.buffer);
});

test("a value with escapes has memory of its own: neither the body nor the next value changes it", () => {
  for (const content of [`${LONG}\\n`, `\\n${"v".repeat(200_000)}`, "\\n".repeat(200_000)]) {
    const body = setting(content);
    const value = readCommandWithValue(body)?.value;
    body.fill(0x78);
    readCommandWithValue(setting("w".repeat(200_000)));
    assert.ok(value?.toString() === JSON.parse(`"${content}"`), content.slice(0, 10));
    assert.equal(value?.buffer.byteLength, value?.length);
  }
});
