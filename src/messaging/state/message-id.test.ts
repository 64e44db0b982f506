import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { idText, messageId, parseId, parseMessageId } from "./message-id.ts";

const LAST = 9_007_199_254_740_991;

test("C.ids: an id is a prefix, nine digits of the sequence and nine of the nonce", () => {
  const table: [number, number, string][] = [
    [0, 0, "msg_000000000000000000"],
    [1, 61, "msg_00000000100000000z"],
    [61, 62, "msg_00000000z000000010"],
    [3_844, 3_843, "msg_0000001000000000zz"],
    [LAST, LAST, "msg_fFgnDxSe7fFgnDxSe7"],
  ];
  for (const [sequence, nonce, text] of table) {
    assert.equal(messageId(sequence, nonce), text);
    assert.deepEqual(parseMessageId(text), { sequence, nonce });
  }
  assert.equal(idText("scd_", { sequence: 1, nonce: 2 }), "scd_000000001000000002");
  assert.deepEqual(parseId("jwt_", "jwt_000000001000000002"), { sequence: 1, nonce: 2 });
});

test("any other text is not an id", () => {
  const table = [
    "",
    "msg_",
    "000000000000000000",
    "msg_00000000000000000",
    "msg_0000000000000000000",
    "MSG_000000000000000000",
    "scd_000000000000000000",
    "msg_00000000000000000-",
    "msg_00000000000000000é",
    "msg_00000000000000000\u0130",
    "msg_ 00000000000000000",
    "msg_fFgnDxSe8000000000",
    "msg_000000000fFgnDxSe8",
    "msg_zzzzzzzzz000000000",
    "msg_000000000zzzzzzzzz",
  ];
  for (const text of table) assert.equal(parseMessageId(text), undefined, text);
  assert.equal(parseId("scd_", "msg_000000000000000000"), undefined);
});

test("numbers that do not fit fail an assertion", () => {
  for (const bad of [-1, 0.5, LAST + 1, Number.NaN]) {
    assert.throws(() => messageId(bad, 0), /whole numbers/);
    assert.throws(() => messageId(0, bad), /whole numbers/);
  }
});

test("ids are parsed to their numbers, and sort as their sequences", () => {
  const number = fc.oneof(
    fc.maxSafeNat(),
    fc.nat(5_000),
    fc.nat(100).map((below) => LAST - below),
  );
  fc.assert(
    fc.property(number, number, number, number, (first, second, nonce, otherNonce) => {
      assert.deepEqual(parseMessageId(messageId(first, nonce)), { sequence: first, nonce });
      assert.equal(
        messageId(first, nonce) < messageId(second, otherNonce),
        first < second || (first === second && nonce < otherNonce),
      );
    }),
  );
});

test("an accepted text is the text of its numbers", () => {
  const digits = fc.stringMatching(/^[0-9A-Za-z]{18}$/);
  fc.assert(
    fc.property(fc.oneof(digits, fc.string({ maxLength: 10_000 })), (text) => {
      const numbers = parseMessageId(`msg_${text}`);
      if (numbers !== undefined) assert.equal(messageId(numbers.sequence, numbers.nonce), `msg_${text}`);
    }),
  );
});
