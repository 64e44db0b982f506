import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalName } from "../../kernel/header-name.ts";
import { MessagingFailure } from "../failure.ts";
import { checkHeaderName, checkHeaderValue, isForwarded } from "./forwarded-headers.ts";

test("C.header-maps: names are spelled like MIME headers", () => {
  for (const [given, canonical] of [
    ["x-team-id", "X-Team-Id"],
    ["CONTENT-type", "Content-Type"],
    ["a", "A"],
    ["x--y", "X--Y"],
    ["1st-x", "1st-X"],
    ["bypass-tunnel-reminder", "Bypass-Tunnel-Reminder"],
  ] as const) {
    assert.equal(canonicalName(given), canonical);
    assert.equal(canonicalName(given), canonical, "from the cache");
  }
});

test("C-11: framing, hop-by-hop headers and our own names are not forwarded", () => {
  for (const name of [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "proxy-authorization",
    "proxy-connection",
    "accept-encoding",
    "content-type",
    "upstash-signature",
    "service-signature",
    "upstash-message-id",
    "service-caller-ip",
    "upstash-region",
    "service-retried",
    "upstash-topic-name",
    "service-schedule-id",
    "upstash-hops",
    "larder-forwarded",
  ]) {
    assert.equal(isForwarded(name), false, name);
  }
  for (const name of [
    "authorization",
    "cookie",
    "x-team",
    "upstash-workflow-callback",
    "accept",
    "content-language",
    "user-agent",
  ]) {
    assert.equal(isForwarded(name), true, name);
  }
});

test("C-10: a name is a token", () => {
  for (const name of ["x-a", "X_A", "a.b", "!#$%&'*+-.^_`|~9z"]) checkHeaderName(name);
  for (const name of ["", "a b", "a:b", "a\r\nb", "é", 'a"', "a(b)", "{a}"]) {
    assert.throws(() => checkHeaderName(name), MessagingFailure, JSON.stringify(name));
  }
  assert.throws(() => checkHeaderName("a b"), { kind: "bad request", text: 'Invalid header name: "a b"' });
});

test("C-10: a value has no control characters and nothing outside Latin-1", () => {
  for (const value of ["", "a b", "a\tb", "é", "\xff", "~"]) checkHeaderValue("X-A", value);
  for (const value of ["a\rb", "a\nb", "a\0b", "\x7f", "\x1b", "Ā", "😀"]) {
    assert.throws(() => checkHeaderValue("X-A", value), {
      kind: "bad request",
      text: "Invalid value for the header X-A: control characters and characters outside Latin-1 are not allowed",
    });
  }
});
