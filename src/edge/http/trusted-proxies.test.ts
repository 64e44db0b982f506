import assert from "node:assert/strict";
import { test } from "node:test";
import { addressGroup, isLoopbackAddress, parseTrustedProxies, TrustedProxies } from "./trusted-proxies.ts";

const proxies = new TrustedProxies(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);

const chains: readonly (readonly [peer: string, forwardedFor: string | undefined, caller: string])[] = [
  ["203.0.113.9", undefined, "203.0.113.9"],
  // Every client can send the header.
  ["203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["10.1.1.1", undefined, "10.1.1.1"],
  ["10.1.1.1", "198.51.100.1", "198.51.100.1"],
  ["::ffff:10.1.1.1", "198.51.100.1", "198.51.100.1"],
  ["2001:db8::5", "2001:4860::1", "2001:4860::1"],
  // Addresses after the caller are trusted, the caller's own header is not.
  ["10.1.1.1", "6.6.6.6, 198.51.100.1, 192.0.2.7,10.9.9.9", "198.51.100.1"],
  // A caller inside a trusted network is the first address.
  ["10.1.1.1", "10.3.3.3, 10.2.2.2", "10.3.3.3"],
  // Forms with ports and brackets.
  ["10.1.1.1", "198.51.100.1:4711", "198.51.100.1"],
  ["10.1.1.1", "[2001:4860::1]:4711", "2001:4860::1"],
  ["10.1.1.1", "::ffff:198.51.100.1", "198.51.100.1"],
  // An invalid address ends the chain.
  ["10.1.1.1", "unknown", "10.1.1.1"],
  ["10.1.1.1", "198.51.100.1, secret, 192.0.2.7", "192.0.2.7"],
  ["10.1.1.1", "", "10.1.1.1"],
  ["10.1.1.1", ", ,", "10.1.1.1"],
];

for (const [peer, forwardedFor, caller] of chains) {
  test(`${peer} with ${forwardedFor ?? "no header"} is ${caller}`, () => {
    assert.equal(
      proxies.callerOf(peer, () => forwardedFor),
      caller,
    );
  });
}

test("a chain of 100,000 proxies is followed for 32 hops", () => {
  const chain = new Array<string>(100_000).fill("10.0.0.1").join(",");
  assert.equal(
    proxies.callerOf("10.0.0.2", () => `198.51.100.1,${chain}`),
    "10.0.0.1",
  );
});

test("does not read the header without trusted proxies", () => {
  assert.equal(
    new TrustedProxies().callerOf("10.1.1.1", () => assert.fail("the header was read")),
    "10.1.1.1",
  );
});

test("trusted proxies are addresses and networks", () => {
  assert.deepEqual(parseTrustedProxies(" 10.0.0.0/8, ::1 ,,fd00::/8"), ["10.0.0.0/8", "::1", "fd00::/8"]);
  for (const item of ["10.0.0.0/33", "proxy.test", "*", "10.0.0.0/8/8", "::1/129", "10.0.0.0/", "10.0.0/8"])
    assert.throws(() => parseTrustedProxies(item), new Error(`"${item}" is not an address or a CIDR block`));
});

test("all addresses of a /64 network count as one", () => {
  for (const [address, group] of [
    ["203.0.113.9", "203.0.113.9"],
    ["::ffff:203.0.113.9", "203.0.113.9"],
    ["2001:db8:0:1::9", "2001:db8:0:1::/64"],
    ["2001:db8::1:2:3:4", "2001:db8:0:0::/64"],
    ["2001:db8::", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["1:2:3:4:5:6:7:8", "1:2:3:4::/64"],
  ] as const)
    assert.equal(addressGroup(address), group);
});

test("recognizes loopback addresses", () => {
  for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) assert.ok(isLoopbackAddress(address));
  for (const address of ["10.0.0.1", "::2", "", "localhost"]) assert.ok(!isLoopbackAddress(address));
});
