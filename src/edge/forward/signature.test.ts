import assert from "node:assert/strict";
import { test } from "node:test";
import { endToEnd, readSignature, SIGNATURE_MS_MAX, type SignedHead, signatureOf } from "./signature.ts";

const KEY = new Uint8Array(32).fill(1);
const NOW_MS = 1_800_000_000_000;
const caller = { address: "2001:db8::7", port: 4_711 };
const head: SignedHead = {
  method: "POST",
  target: "/set/k",
  rawHeaders: ["Host", "a", "Authorization", "Bearer t", "X-A", "1"],
  bodyBytes: 3,
};
const [, value] = signatureOf(KEY, head, { caller, sentMs: NOW_MS });

test("a signature proves the client of a request", () => {
  assert.deepEqual(readSignature(KEY, head, { value, nowMs: NOW_MS }), caller);
});

test("a signature is valid for as long as clocks may differ", () => {
  for (const nowMs of [NOW_MS - SIGNATURE_MS_MAX, NOW_MS + SIGNATURE_MS_MAX])
    assert.deepEqual(readSignature(KEY, head, { value, nowMs }), caller);
  for (const nowMs of [NOW_MS - SIGNATURE_MS_MAX - 1, NOW_MS + SIGNATURE_MS_MAX + 1])
    assert.equal(readSignature(KEY, head, { value, nowMs }), undefined);
});

test("a signature is valid for no other request", () => {
  const others: Partial<SignedHead>[] = [
    { method: "GET" },
    { target: "/set/j" },
    { bodyBytes: 4 },
    { rawHeaders: ["Host", "b", "Authorization", "Bearer t", "X-A", "1"] },
    { rawHeaders: ["Host", "a", "Authorization", "Bearer u", "X-A", "1"] },
    { rawHeaders: ["Host", "a", "Authorization", "Bearer t"] },
    { rawHeaders: ["Host", "a", "Authorization", "Bearer t", "X-A", "1", "X-B", "2"] },
    { rawHeaders: ["Host", "a", "X-A", "1", "Authorization", "Bearer t"] },
  ];
  for (const other of others)
    assert.equal(readSignature(KEY, { ...head, ...other }, { value, nowMs: NOW_MS }), undefined, JSON.stringify(other));
});

test("a signature of another key, of another client, or none at all proves nothing", () => {
  const bad = [
    undefined,
    "",
    "1",
    value.replace("4711", "4712"),
    value.replace("db8::7", "db8::8"),
    value.replace(/^1;/, "2;"),
    value.slice(0, -1),
    `${value}A`,
    `${value}, ${value}`,
    value.replace(/;[^;]*$/, `;${"A".repeat(43)}`),
  ];
  for (const each of bad)
    assert.equal(readSignature(KEY, head, { value: each, nowMs: NOW_MS }), undefined, String(each));
  assert.equal(readSignature(new Uint8Array(32).fill(2), head, { value, nowMs: NOW_MS }), undefined);
});

test("headers of one connection, and a signature that a client sent, do not pass through a node", () => {
  const rawHeaders = [
    ...["Host", "a", "connection", "close, X-Own", "X-Own", "1", "Keep-Alive", "timeout=5", "TE", "trailers"],
    ...["Transfer-Encoding", "chunked", "Content-Length", "3", "Upgrade", "h2c", "Expect", "100-continue"],
    ...["Larder-Forwarded", value, "Accept", "*/*"],
  ];
  assert.deepEqual(endToEnd(rawHeaders), ["Host", "a", "Accept", "*/*"]);
});
