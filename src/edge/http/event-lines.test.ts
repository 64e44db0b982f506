import assert from "node:assert/strict";
import { test } from "node:test";
import { eventOf, MONITOR_BEGINS, pushEvent, subscribedEvent } from "./event-lines.ts";

test("writes the line of each kind of event", () => {
  assert.equal(MONITOR_BEGINS, 'data: "OK"\n\n');
  assert.equal(subscribedEvent("subscribe", "news", 1), "data: subscribe,news,1\n\n");
  assert.equal(subscribedEvent("psubscribe", "n*", 2), "data: psubscribe,n*,2\n\n");
  assert.equal(pushEvent({ kind: "message", channel: "c", payload: "a,b" }), "data: message,c,a,b\n\n");
  assert.equal(pushEvent({ kind: "pmessage", pattern: "c*", channel: "c", payload: "" }), "data: pmessage,c*,c,\n\n");
  assert.equal(pushEvent({ kind: "monitor", line: '1.0 [0 a:1] "X"' }), 'data: 1.0 [0 a:1] "X"\n\n');
});

test("A-17: a line end begins another data line of the same event", () => {
  const rows: [string, string][] = [
    ["a\nb", "data: a\ndata:b\n\n"],
    ["a\rb", "data: a\ndata:b\n\n"],
    ["a\r\nb", "data: a\ndata:b\n\n"],
    ["a\n b", "data: a\ndata:  b\n\n"],
    ["a\n\n  b", "data: a\ndata:\ndata:   b\n\n"],
    ["a\n\nevent: x", "data: a\ndata:\ndata:event: x\n\n"],
    ["\n", "data: \ndata:\n\n"],
    ["", "data: \n\n"],
  ];
  for (const [text, event] of rows) assert.equal(eventOf(text), event, JSON.stringify(text));
});

test("invalid UTF-8 becomes U+FFFD", () => {
  assert.equal(eventOf("a\xff\xc3\xa9"), "data: a\xef\xbf\xbd\xc3\xa9\n\n");
});
