import assert from "node:assert/strict";
import { test } from "node:test";
import { Parameters } from "../parameters.ts";
import { readTrimming } from "./trim-body.ts";

const hash = `REDACTED:${"0".repeat(64)}`;

test("truncates only bodies, at any depth, to a number of characters or bytes", () => {
  const view = {
    body: "long body",
    responseBodyBase64: Buffer.from("answer").toString("base64"),
    url: "https://long.test",
    steps: [{ steps: [{ out: "result", callBody: hash, errors: [{ body: "a😀", status: 500 }] }] }],
    failureFunction: { failResponse: "no", responseBody: undefined },
  };
  const shown = readTrimming(new Parameters("trimBody=2"))(view);
  assert.deepEqual(JSON.parse(JSON.stringify(shown)), {
    body: "lo",
    responseBodyBase64: "YW4=",
    url: "https://long.test",
    steps: [{ steps: [{ out: "re", callBody: hash, errors: [{ body: "a", status: 500 }] }] }],
    failureFunction: { failResponse: "no" },
  });
});

test("bodies in log entries are in base64", () => {
  const view = { body: Buffer.from("hello").toString("base64"), responseBody: hash };
  const shown = readTrimming(new Parameters("trimBody=4"))(view, true);
  assert.deepEqual({ ...shown }, { body: "aGVsbA==", responseBody: hash });
});

test("leaves bodies unchanged without a number, and refuses other values", () => {
  const view = { body: "hello" };
  for (const query of ["", "trimBody=", "trimBody=false"]) {
    assert.equal(readTrimming(new Parameters(query))(view), view, query);
  }
  assert.deepEqual({ ...readTrimming(new Parameters("trimBody=0"))(view) }, { body: "" });
  for (const [query, text] of [
    ["trimBody=some", 'Invalid value for trimBody: "some": it must be a whole number'],
    ["trimBody=true", 'Invalid value for trimBody: "true": it must be a whole number'],
  ] as const) {
    assert.throws(() => readTrimming(new Parameters(query)), { kind: "bad request", text });
  }
});
