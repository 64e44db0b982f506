import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bufferFrom } from "../../../kernel/bytes.ts";
import type { Reply } from "../../../store/mod.ts";
import { replyTooLarge } from "../../../store/reply/mod.ts";
import { PIECE_BYTES_MAX } from "./json-strings.ts";
import { jsonBody, jsonResultWithLong } from "./value-reply.ts";

const MAX = 100_000_000;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function bodyOf(reply: Reply, bytesMax = MAX): Buffer {
  const body = jsonBody(reply, bytesMax);
  return typeof body === "string" ? bufferFrom(body) : body;
}

/** The body as `JSON.stringify` and a decoder of the WHATWG make it. */
function expectedBody(value: Buffer): Buffer {
  return Buffer.from(JSON.stringify({ result: decoder.decode(value) }));
}

function assertPrinted(value: Buffer, message?: string): void {
  assert.ok(bodyOf(value).equals(expectedBody(value)), message ?? "the bodies differ");
}

const prefix = "v".repeat(5_000);

test("a long value is escaped as JSON.stringify escapes it, each ASCII character at each place of a block", () => {
  for (let code = 0; code < 128; code += 1)
    for (let place = 0; place < 16; place += 1) {
      const value = `${"v".repeat(1_024 + place)}${String.fromCharCode(code)}v`;
      assert.equal(bodyOf(Buffer.from(value)).toString(), JSON.stringify({ result: value }), `${code} at ${place}`);
    }
});

test("characters beyond ASCII are not escaped, nor are U+007F, U+2028 and a byte order mark", () => {
  assert.equal(
    bodyOf(Buffer.from(`\ufeff${prefix}\u007fé\u2028\u2029世😀\u0000\u001f"\\/\n`)).toString(),
    `{"result":"\ufeff${prefix}\u007fé\u2028\u2029世😀\\u0000\\u001f\\"\\\\/\\n"}`,
  );
});

test("invalid UTF-8 and surrogates in WTF-8 become U+FFFD, as a decoder of the WHATWG replaces them", () => {
  for (const hex of ["ff", "c3", "e4b8", "f09f98", "eda0bd", "eda0bdedb880", "f4908080", "c080", "e4b8e4b896", "80"]) {
    for (const end of ["", '"', "\u0001", "世"]) {
      const value = Buffer.concat([Buffer.from(prefix), Buffer.from(hex, "hex"), Buffer.from(end)]);
      assertPrinted(value, `${hex} before ${JSON.stringify(end)}`);
      assertPrinted(Buffer.concat([value, Buffer.from(prefix)]), `${hex} before ${JSON.stringify(end)} inside`);
    }
  }
});

test("random values print as JSON.stringify prints their text", () => {
  const part = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).map((text) => Buffer.from(text)),
    fc.constantFrom('"', "\\", "\n", '":{"', "\u0000\u001f", "世界").map((text) => Buffer.from(text)),
  );
  const value = fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 8_000 }))
    .map(([parts, repeats]) => Buffer.concat(Array<Buffer[]>(repeats).fill(parts).flat()).subarray(0, 300_000));
  fc.assert(
    fc.property(value, (bytes) => assertPrinted(bytes)),
    { numRuns: 150 },
  );
});

test("values of about a piece, and of several, are whole", () => {
  for (const length of [1_023, 1_024, 1_025, PIECE_BYTES_MAX - 1, PIECE_BYTES_MAX, PIECE_BYTES_MAX + 1, 200_000]) {
    for (const text of ["v", '"', "\u0001", "é\n"])
      assertPrinted(Buffer.from(text.repeat(length)).subarray(0, length), `${JSON.stringify(text)}, ${length}`);
    // A character on the border of two pieces.
    assertPrinted(Buffer.from(`${"v".repeat(length - 2)}世"`), `a character after ${length - 2} bytes`);
  }
});

test("a value fits if its text between quotes has as many bytes as the limit", () => {
  const value = Buffer.from('v"\u0000'.repeat(30_000));
  const textBytes = 2 + 9 * 30_000;
  assert.equal(bodyOf(value, textBytes).length, textBytes + '{"result":}'.length);
  assert.throws(() => bodyOf(value, textBytes - 1), replyTooLarge);
  assert.throws(() => bodyOf(value, value.length), replyTooLarge);
  assert.throws(() => jsonResultWithLong([value], textBytes - 1), replyTooLarge);
});

test("long items of a list print as their texts", () => {
  const items = [prefix, '"\n\u0001é'.repeat(40_000), "short", "世".repeat(500)];
  const reply = items.map((item) => Buffer.from(item));
  assert.equal(
    bodyOf([reply[0], null, 7, reply] as Reply).toString(),
    JSON.stringify({ result: [items[0], null, 7, items] }),
  );
  assert.equal(
    bodyOf([Buffer.concat([Buffer.from(prefix), Buffer.of(0xff)])]).toString(),
    `{"result":["${prefix}\ufffd"]}`,
  );
});

test("the reply has memory of its own: it does not change with the next one", () => {
  const first = bodyOf(Buffer.from(prefix));
  bodyOf(Buffer.from('"'.repeat(5_000)));
  assert.equal(first.toString(), `{"result":"${prefix}"}`);
  assert.equal(first.buffer.byteLength, first.length);
});
