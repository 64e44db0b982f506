/** Commands on the expiry of keys: input and literal reply. Redis 7.0.15 gives the same, but rounds EXPIRETIME. */
import { test } from "node:test";
import { error, nil, ok, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import type { Reply } from "../reply/reply.ts";

const NOW_SECONDS = 2_000_000_000;
const NOW_MS = NOW_SECONDS * 1_000;

const notInteger = error("ERR value is not an integer or out of range");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

function invalidExpire(name: string): Reply {
  return error(`ERR invalid expire time in '${name}' command`);
}

/** A string at `k`; the time is 2,000,000,000 seconds after the epoch. */
function sessionWithKey() {
  const session = startSession({ clock: new VirtualClock(NOW_MS) });
  session.run("SET k v");
  return session;
}

test("EXPIRE and its variants set the expiry in seconds or milliseconds, relative or absolute", () => {
  sessionWithKey().expect([
    ["EXPIRE k 10", 1],
    ["PEXPIRETIME k", NOW_MS + 10_000],
    ["PEXPIRE k 1500", 1],
    ["PTTL k", 1_500],
    ["EXPIREAT k 2000000100", 1],
    ["TTL k", 100],
    ["PEXPIREAT k 2000000000777", 1],
    ["PEXPIRETIME k", NOW_MS + 777],
    ["EXPIRE none 10", 0],
    ["PEXPIREAT none 1", 0],
    ["EXPIRE k", arity("expire")],
    ["PEXPIRE k", arity("pexpire")],
    ["EXPIREAT k", arity("expireat")],
    ["PEXPIREAT k", arity("pexpireat")],
  ]);
});

test("EXPIRETIME after EXPIRE is at most now plus those seconds by a clock of seconds", () => {
  const session = startSession({ clock: new VirtualClock(NOW_MS + 999) });
  session.expect([
    ["SET k v", ok],
    ["EXPIRE k 5", 1],
    ["EXPIRETIME k", NOW_SECONDS + 5],
    ["TTL k", 5],
  ]);
});

test("TTL rounds to the nearest second, EXPIRETIME down; -1 without an expiry, -2 without a key", () => {
  sessionWithKey().expect([
    ["TTL k", -1],
    ["PTTL k", -1],
    ["EXPIRETIME k", -1],
    ["PEXPIRETIME k", -1],
    ["TTL none", -2],
    ["PTTL none", -2],
    ["EXPIRETIME none", -2],
    ["PEXPIRETIME none", -2],
    ["PEXPIRE k 1499", 1],
    ["TTL k", 1],
    ["EXPIRETIME k", NOW_SECONDS + 1],
    ["PEXPIRE k 1500", 1],
    ["TTL k", 2],
    ["EXPIRETIME k", NOW_SECONDS + 1],
    ["PEXPIRE k 499", 1],
    ["TTL k", 0],
    ["TTL", arity("ttl")],
    ["PTTL", arity("pttl")],
    ["EXPIRETIME", arity("expiretime")],
    ["PEXPIRETIME", arity("pexpiretime")],
  ]);
});

test("an expiry that is not in the future removes the key at once", () => {
  const lines = [
    "EXPIRE k 0",
    "EXPIRE k -1",
    "PEXPIREAT k 2000000000000",
    "EXPIREAT k -9223372036854775",
    "PEXPIRE k -9223372036854775808",
  ];
  for (const line of lines)
    sessionWithKey().expect([
      [line, 1],
      ["EXISTS k", 0],
    ]);
});

test("NX, XX, GT and LT compare with the old expiry, and no expiry counts as infinite", () => {
  sessionWithKey().expect([
    ["EXPIRE k 100 XX", 0],
    ["EXPIRE k 100 GT", 0],
    ["EXPIRE k 100 nx", 1],
    ["EXPIRE k 200 NX", 0],
    ["EXPIRE k 100 GT", 0],
    ["EXPIRE k 150 GT", 1],
    ["EXPIRE k 150 LT", 0],
    ["EXPIRE k 120 XX LT", 1],
    ["EXPIRE k 130 XX GT", 1],
    ["TTL k", 130],
    ["EXPIRE k -1 GT", 0],
    ["EXPIRE k -1 NX", 0],
    ["PERSIST k", 1],
    ["EXPIRE k 50 XX LT", 0],
    ["EXPIRE k 50 LT", 1],
    ["EXPIRE k -1 LT", 1],
    ["EXISTS k", 0],
  ]);
});

test("EXPIRE refuses incompatible options, and names unknown ones", () => {
  const together = error("ERR NX and XX, GT or LT options at the same time are not compatible");
  sessionWithKey().expect([
    ["EXPIRE k 10 NX XX", together],
    ["EXPIRE k 10 NX GT", together],
    ["EXPIRE k 10 LT NX", together],
    ["EXPIRE k 10 GT LT", error("ERR GT and LT options at the same time are not compatible")],
    ["EXPIRE k 10 nonsense", error("ERR Unsupported option nonsense")],
    ["EXPIRE k x nonsense", error("ERR Unsupported option nonsense")],
    ["EXPIRE none x", notInteger],
    ["EXPIRE k 10 NX NX", 1],
  ]);
});

test("an expiry beyond 64 bits of milliseconds is refused; one beyond TIME_MS_MAX is stored as TIME_MS_MAX", () => {
  sessionWithKey().expect([
    ["EXPIRE k 9223372036854775808", notInteger],
    ["EXPIRE k 9223372036854775807", invalidExpire("expire")],
    ["EXPIRE k 9223370036854776", invalidExpire("expire")],
    ["EXPIRE k -9223372036854776", invalidExpire("expire")],
    ["EXPIREAT k 9223372036854776", invalidExpire("expireat")],
    ["PEXPIRE k 9223372036854775807", invalidExpire("pexpire")],
    ["PEXPIREAT k 9223372036854775807", 1],
    ["PEXPIRETIME k", 281_474_976_710_655],
    ["EXPIREAT k 9223372036854775", 1],
    ["PEXPIRETIME k", 281_474_976_710_655],
    ["EXPIREAT k -9223372036854776", invalidExpire("expireat")],
    ["GET k", "v"],
  ]);
});

test("PERSIST removes the expiry", () => {
  const session = sessionWithKey();
  session.expect([
    ["PERSIST k", 0],
    ["EXPIRE k 10", 1],
    ["PERSIST k", 1],
    ["TTL k", -1],
    ["PERSIST none", 0],
    ["PERSIST", arity("persist")],
  ]);
  session.clock.advance(20_000);
  session.expect([["GET k", "v"]]);
});

test("a key exists through the millisecond of its expiry", () => {
  const session = sessionWithKey();
  session.run("PEXPIRE k 10");
  session.clock.advance(10);
  session.expect([
    ["GET k", "v"],
    ["PTTL k", 0],
  ]);
  session.clock.advance(1);
  session.expect([
    ["PTTL k", -2],
    ["GET k", nil],
    ["SET k w", ok],
    ["TTL k", -1],
  ]);
});
