import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { TrustedProxies } from "../http/trusted-proxies.ts";
import { ConnectionGate, type ConnectionGateOptions } from "./connection-gate.ts";

function gateWith(options: Partial<ConnectionGateOptions>) {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const counts: string[] = [];
  const gate = new ConnectionGate({
    clock,
    log: createLog({ level: "warn", format: "json", clock, sink: (line) => lines.push(line) }),
    proxies: new TrustedProxies(["10.0.0.0/8"]),
    perAddressMax: 2,
    onRefused: (reason) => counts.push(reason),
    ...options,
  });
  return { gate, clock, lines, counts };
}

/** The part of a socket that the gate reads. */
function from(remoteAddress: string, fd = 20): Socket {
  return Object.assign(new EventEmitter(), { remoteAddress, _handle: { fd } }) as unknown as Socket;
}

test("S-01: limits the connections of an address, and accepts another after one has closed", () => {
  const { gate } = gateWith({});
  const first = from("203.0.113.9");
  assert.equal(gate.refusalOf(first), undefined);
  assert.equal(gate.refusalOf(from("::ffff:203.0.113.9")), undefined);
  assert.equal(gate.refusalOf(from("203.0.113.9")), "address");
  assert.equal(gate.refusalOf(from("203.0.113.10")), undefined);
  first.emit("close");
  assert.equal(gate.refusalOf(from("203.0.113.9")), undefined);
  assert.equal(gate.refusalOf(from("203.0.113.9")), "address");
});

test("S-01: addresses of one /64 network of IPv6 count as one", () => {
  const { gate } = gateWith({});
  assert.equal(gate.refusalOf(from("2001:db8::1")), undefined);
  assert.equal(gate.refusalOf(from("2001:db8::2")), undefined);
  assert.equal(gate.refusalOf(from("2001:db8::3")), "address");
  assert.equal(gate.refusalOf(from("2001:db8:0:1::1")), undefined);
});

test("loopback and trusted proxies may have any number, and so may every address without a limit", () => {
  const { gate } = gateWith({});
  for (const address of ["127.0.0.1", "::1", "10.1.1.1"])
    for (let count = 0; count < 10; count += 1) assert.equal(gate.refusalOf(from(address)), undefined);
  const open = gateWith({ perAddressMax: undefined });
  for (let count = 0; count < 10; count += 1) assert.equal(open.gate.refusalOf(from("203.0.113.9")), undefined);
});

test("refuses connections of any address for the last descriptors", () => {
  const { gate, counts } = gateWith({ descriptorsMax: 100 });
  assert.equal(gate.refusalOf(from("127.0.0.1", 99)), undefined);
  assert.equal(gate.refusalOf(from("127.0.0.1", 100)), "descriptors");
  assert.equal(gate.refusalOf(from("127.0.0.1", 101)), "descriptors");
  assert.deepEqual(counts, ["descriptors", "descriptors"]);
});

test("logs refusals once a minute, with their number", () => {
  const { gate, clock, lines } = gateWith({ perAddressMax: 0 });
  for (let count = 0; count < 1_000; count += 1) gate.refusalOf(from("203.0.113.9"));
  assert.equal(lines.length, 1);
  clock.advance(60_000);
  gate.refused("port", "203.0.113.8");
  assert.deepEqual(
    lines.map((line) => {
      const { event, reason, address, count } = JSON.parse(line);
      return [event, reason, address, count];
    }),
    [
      ["connections are refused", "address", "203.0.113.9", 1],
      ["connections are refused", "port", "203.0.113.8", 1_000],
    ],
  );
});

test("S-01: a connection that another node passes on counts for the address of its client", () => {
  const { gate } = gateWith({});
  for (const port of [1, 2]) assert.equal(gate.refusalOf(from("10.0.0.2", port), "203.0.113.9"), undefined);
  assert.equal(gate.refusalOf(from("10.0.0.2"), "203.0.113.9"), "address");
  assert.equal(gate.refusalOf(from("10.0.0.2"), "203.0.113.10"), undefined);
});
