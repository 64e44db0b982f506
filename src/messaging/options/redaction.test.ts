import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { InvalidRedaction, joinedRedaction, parseRedactFields, redactedHeaders, redactedText } from "./redaction.ts";

test("body, all headers, some headers", () => {
  const table: [string, object][] = [
    ["body", { body: true }],
    ["headers", { headers: true }],
    ["header", { headers: true }],
    ["header[Authorization]", { headers: ["authorization"] }],
    ["headers[Authorization]", { headers: ["authorization"] }],
    ["body,header[X-Secret],header[x-token]", { body: true, headers: ["x-secret", "x-token"] }],
    [" body , header[ X-Secret ] ", { body: true, headers: ["x-secret"] }],
    ["header[A],header[a]", { headers: ["a"] }],
    ["header[A],header", { headers: true }],
    ["body,body", { body: true }],
    ["header[__proto__]", { headers: ["__proto__"] }],
    ["", {}],
    ["  ", {}],
    ["body,", { body: true }],
    [", body,, header[A] ,", { body: true, headers: ["a"] }],
  ];
  for (const [text, fields] of table) assert.deepEqual(parseRedactFields(text), fields, text);
});

test("rejects invalid lists with the reason", () => {
  const names = "known fields are body, headers and header[<name>]";
  const table: [string, string][] = [
    ["url", `Unknown field "url"; ${names}`],
    ["Body", `Unknown field "Body"; ${names}`],
    ["body,,url", `Unknown field "url"; ${names}`],
    ["header[]", `Unknown field "header[]"; ${names}`],
    ["header[A", `Unknown field "header[A"; ${names}`],
    ["header[A]]", `Unknown field "header[A]]"; ${names}`],
    ["header[A B]", `Unknown field "header[A B]"; ${names}`],
    ["header[é]", `Unknown field "header[é]"; ${names}`],
    ["header(A)", `Unknown field "header(A)"; ${names}`],
    ["body;header", `Unknown field "body;header"; ${names}`],
    ["body,".repeat(2_000), "Longer than 8192 characters"],
  ];
  for (const [text, message] of table)
    assert.throws(
      () => parseRedactFields(text),
      (failure) => failure instanceof InvalidRedaction && failure.message === message,
      text,
    );
});

test("C.redaction: a redacted part is shown as its SHA-256 in hexadecimal", () => {
  const ofHello = "REDACTED:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const ofNothing = "REDACTED:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  assert.equal(redactedText("hello"), ofHello);
  assert.equal(redactedText(Buffer.from("hello")), ofHello);
  assert.equal(redactedText(""), ofNothing);
  assert.equal(redactedText("ü"), redactedText(Buffer.from([0xc3, 0xbc])));
});

test("random text of any length is rejected with InvalidRedaction or names parts", () => {
  const words = ["body", "header", "headers", "[", "]", "X-A", ",", " "];
  const junk = fc.oneof(
    fc.string({ maxLength: 10_000 }),
    fc.array(fc.constantFrom(...words), { maxLength: 20 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(junk, (text) => {
      try {
        const { headers } = parseRedactFields(text);
        assert.ok(headers === undefined || headers === true || headers.length > 0);
      } catch (failure) {
        assert.ok(failure instanceof InvalidRedaction, String(failure));
      }
    }),
    { numRuns: 500 },
  );
});

test("hides headers value by value, all of them or the named ones", () => {
  const headers = ["X-A", "1", "x-a", "1", "X-B", "2"];
  const one = "REDACTED:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
  const two = "REDACTED:d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35";
  assert.deepEqual(redactedHeaders({}, headers), headers);
  assert.deepEqual(redactedHeaders({ body: true }, headers), headers);
  assert.deepEqual(redactedHeaders({ headers: ["x-a"] }, headers), ["X-A", one, "x-a", one, "X-B", "2"]);
  assert.deepEqual(redactedHeaders({ headers: true }, headers), ["X-A", one, "x-a", one, "X-B", two]);
});

test("a header is hashed over the bytes that are sent: a name in UTF-8 has the hash of its UTF-8", () => {
  const ofZoe = "REDACTED:c6a12698582fc1104ea24107a2d7268145ff06ef859707729d01fd060897f067";
  const [, shown] = redactedHeaders({ headers: true }, ["X-Name", "Zo\u00c3\u00ab"]);
  assert.equal(shown, ofZoe);
});

test("other settings hide more, and never less", () => {
  const secret = { headers: ["x-a"] };
  assert.equal(joinedRedaction(undefined, undefined), undefined);
  assert.deepEqual(joinedRedaction({ body: true }, undefined), { body: true });
  assert.deepEqual(joinedRedaction(undefined, secret), secret);
  assert.deepEqual(joinedRedaction({ body: true, headers: true }, secret), { body: true, headers: true });
  assert.deepEqual(joinedRedaction(secret, { headers: true }), { headers: true });
  assert.deepEqual(joinedRedaction(secret, { headers: ["x-b", "x-a"] }), { headers: ["x-a", "x-b"] });
});
