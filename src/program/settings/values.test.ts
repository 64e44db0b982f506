import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopback } from "./values.ts";

const hosts: readonly (readonly [host: string, loopback: boolean])[] = [
  ["127.0.0.1", true],
  ["127.8.9.10", true],
  ["::1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["127.0.0.1.example", false],
  ["localhost.example", false],
];

for (const [host, loopback] of hosts) {
  test(`${host} is ${loopback ? "" : "not "}loopback`, () => assert.equal(isLoopback(host), loopback));
}
