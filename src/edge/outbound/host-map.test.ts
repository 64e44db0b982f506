import assert from "node:assert/strict";
import { test } from "node:test";
import { parseOutboundMap } from "./host-map.ts";
import { HostTable } from "./host-table.ts";

test("reads the items of a map", () => {
  assert.deepEqual(parseOutboundMap(" A.test=127.0.0.1:80 ,*.b=[::1]:65535,,10.0.0.1=10.0.0.2:1"), [
    { host: "a.test", address: "127.0.0.1", port: 80 },
    { host: "*.b", address: "::1", port: 65_535 },
    { host: "10.0.0.1", address: "10.0.0.2", port: 1 },
  ]);
  assert.deepEqual(parseOutboundMap(""), []);
});

test("names an invalid item of a map", () => {
  const wrong = ["a", "a=", "a=b:80", "a=127.0.0.1", "a=127.0.0.1:0", "a=127.0.0.1:65536", "a=::1:80", "*=127.0.0.1:1"];
  for (const item of wrong) {
    assert.throws(() => parseOutboundMap(`ok.test=127.0.0.1:80,${item}`), {
      message: `"${item}" is not host=address:port or *.suffix=address:port`,
    });
  }
});

test("a name wins over a suffix, a longer suffix over a shorter one, and a suffix does not match its own name", () => {
  const table = new HostTable([
    ["a.b.test", 1],
    ["*.b.test", 2],
    ["*.test", 3],
    ["::1", 4],
  ]);
  const expected: Record<string, number | undefined> = {
    "a.b.test": 1,
    "c.b.test": 2,
    "d.c.b.test": 2,
    "b.test": 3,
    test: undefined,
    "xb.test": 3,
    "::1": 4,
    "a.b.example": undefined,
  };
  for (const [host, value] of Object.entries(expected)) assert.equal(table.find(host), value, host);
});
