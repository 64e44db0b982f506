/**
 * The expiry of fields of a hash: input and literal reply. Texts and codes are those that Redis' own tests expect of
 * 7.4 and 8.0, except that moments after the year 4199 are accepted, and Unix times in seconds are rounded down.
 */
import { test } from "node:test";
import { error, nil, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { map, type Reply } from "../reply/reply.ts";

const NOW_SECONDS = 2_000_000_000;
const NOW_MS = NOW_SECONDS * 1_000;

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const negative = error("ERR invalid expire time, must be >= 0");
const fieldsMissing = error("ERR Mandatory argument FIELDS is missing or not at the right position");
const mismatch = error("ERR The `numfields` parameter must match the number of arguments");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

function tooLate(name: string): Reply {
  return error(`ERR invalid expire time in '${name}' command`);
}

/** Fields a, b, c at the key `h`, a string at the key `s`; the time is 2,000,000,000 seconds after the epoch. */
function sessionWithHash() {
  const session = startSession({ clock: new VirtualClock(NOW_MS) });
  session.run("HSET h a 1 b 2 c 3");
  session.run("SET s text");
  return session;
}

test("HEXPIRE and its variants set the expiry in seconds or milliseconds, relative or absolute", () => {
  sessionWithHash().expect([
    ["HEXPIRE h 10 FIELDS 2 a z", [1, -2]],
    ["HPEXPIRETIME h FIELDS 2 a b", [NOW_MS + 10_000, -1]],
    ["HPEXPIRE h 10 FIELDS 1 a", [1]],
    ["HPEXPIRETIME h FIELDS 1 a", [NOW_MS + 10]],
    ["HEXPIREAT h 2000000100 FIELDS 1 a", [1]],
    ["HPEXPIRETIME h FIELDS 1 a", [NOW_MS + 100_000]],
    ["HPEXPIREAT h 2000000000777 fields 1 a", [1]],
    ["HPEXPIRETIME h FIELDS 1 a", [NOW_MS + 777]],
    ["HEXPIRE none 10 FIELDS 2 a b", [-2, -2]],
    ["EXISTS none", 0],
    ["HEXPIRE s 10 FIELDS 1 a", wrongType],
    ["HEXPIRE s nonsense FIELDS 1 a", wrongType],
  ]);
});

test("an expiry that is not in the future removes the field at once, and the key with its last field", () => {
  sessionWithHash().expect([
    ["HEXPIRE h 0 FIELDS 1 a", [2]],
    ["HEXISTS h a", 0],
    ["HEXPIREAT h 1999999999 FIELDS 2 b b", [2, -2]],
    ["HPEXPIREAT h 2000000000000 FIELDS 1 c", [2]],
    ["EXISTS h", 0],
  ]);
});

test("NX, XX, GT and LT are checked before anything is removed", () => {
  sessionWithHash().expect([
    ["HEXPIRE h 100 XX FIELDS 1 a", [0]],
    ["HEXPIRE h 100 GT FIELDS 1 a", [0]],
    ["HEXPIRE h 100 NX FIELDS 2 a b", [1, 1]],
    ["HEXPIRE h 200 NX FIELDS 2 a c", [0, 1]],
    ["HEXPIRE h 100 GT FIELDS 1 a", [0]],
    ["HEXPIRE h 150 GT FIELDS 1 a", [1]],
    ["HEXPIRE h 150 LT FIELDS 1 a", [0]],
    ["HEXPIRE h 120 LT FIELDS 1 a", [1]],
    ["HPERSIST h FIELDS 1 c", [1]],
    ["HEXPIRE h 50 lt FIELDS 1 c", [1]],
    ["HEXPIRE h 60 XX FIELDS 1 c", [1]],
    ["HTTL h FIELDS 3 a b c", [120, 100, 60]],
    ["HPEXPIREAT h 1 NX FIELDS 2 a z", [0, -2]],
    ["HLEN h", 3],
  ]);
});

test("HEXPIRE and its variants refuse what Redis refuses, with its texts", () => {
  sessionWithHash().expect([
    ["HEXPIRE h x FIELDS 1 a", notInteger],
    ["HEXPIRE h -1 FIELDS 1 a", negative],
    ["HEXPIRE h -9223372036854775808 FIELDS 1 a", negative],
    ["HEXPIRE h 9223372036854775808 FIELDS 1 a", notInteger],
    ["HEXPIRE h 9223372036854775 FIELDS 1 a", tooLate("hexpire")],
    ["HEXPIREAT h 9223372036854775807 FIELDS 1 a", tooLate("hexpireat")],
    ["HPEXPIRE h 9223372036854775807 FIELDS 1 a", tooLate("hpexpire")],
    ["HGETEX h EX 9223372036854775 FIELDS 1 a", tooLate("hgetex")],
    ["HSETEX h EXAT 9223372036854776 FIELDS 1 a 1", tooLate("hsetex")],
    ["HPEXPIRETIME h FIELDS 1 a", [-1]],
    ["HEXPIRE h 10 FIELD 1 a", fieldsMissing],
    ["HEXPIRE h 10 NX XX FIELDS 1 a", fieldsMissing],
    ["HEXPIRE h 10 FIELDS 0 a", error("ERR Parameter `numFields` should be greater than 0")],
    ["HEXPIRE h 10 FIELDS x a", error("ERR Parameter `numFields` should be greater than 0")],
    ["HEXPIRE h 10 FIELDS 2 a", mismatch],
    ["HEXPIRE h 10 FIELDS 1 a b", mismatch],
    ["HEXPIRE h 10 NX FIELDS 1", error("ERR The `numfields` parameter must match the number of arguments")],
    ["HEXPIRE h 10 FIELDS 1", arity("hexpire")],
    ["HPEXPIRE h 10 FIELDS 1", arity("hpexpire")],
    ["HEXPIREAT h 10 FIELDS 1", arity("hexpireat")],
    ["HPEXPIREAT h 10 FIELDS 1", arity("hpexpireat")],
  ]);
});

test("an expiry of fields after the year 10889 is stored as that year", () => {
  for (const line of [
    "HEXPIRE h 9223370036854775 FIELDS 1 a",
    "HEXPIREAT h 2000000000000 FIELDS 1 a",
    "HPEXPIRE h 9223370036854775807 FIELDS 1 a",
    "HPEXPIREAT h 9223372036854775807 FIELDS 1 a",
  ])
    sessionWithHash().expect([
      [line, [1]],
      ["HPEXPIRETIME h FIELDS 1 a", [281_474_976_710_655]],
    ]);
  sessionWithHash().expect([
    ["HPEXPIREAT h 281474976710654 FIELDS 1 a", [1]],
    ["HPEXPIRETIME h FIELDS 1 a", [281_474_976_710_654]],
    ["HGETEX h EXAT 2000000000000 FIELDS 1 b", ["2"]],
    ["HSETEX h EX 2000000000000 FIELDS 1 c 4", 1],
    ["HEXPIRETIME h FIELDS 2 b c", [281_474_976_710, 281_474_976_710]],
  ]);
});

test("HEXPIRETIME after HEXPIRE is at most now plus those seconds by a clock of seconds", () => {
  const session = startSession({ clock: new VirtualClock(NOW_MS + 999) });
  session.expect([
    ["HSET h a 1", 1],
    ["HEXPIRE h 5 FIELDS 1 a", [1]],
    ["HEXPIRETIME h FIELDS 1 a", [NOW_SECONDS + 5]],
    ["HTTL h FIELDS 1 a", [5]],
  ]);
});

test("HTTL rounds up to seconds, HEXPIRETIME rounds down", () => {
  sessionWithHash().expect([
    ["HPEXPIREAT h 2000000001001 FIELDS 1 a", [1]],
    ["HTTL h FIELDS 3 a b z", [2, -1, -2]],
    ["HPTTL h FIELDS 3 a b z", [1_001, -1, -2]],
    ["HEXPIRETIME h FIELDS 3 a b z", [NOW_SECONDS + 1, -1, -2]],
    ["HPEXPIRETIME h FIELDS 3 a b z", [NOW_MS + 1_001, -1, -2]],
    ["HTTL none FIELDS 2 a b", [-2, -2]],
    ["HTTL s FIELDS 1 a", wrongType],
    ["HTTL h FIELD 1 a", fieldsMissing],
    ["HTTL h FIELDS 0 a", error("ERR Number of fields must be a positive integer")],
    ["HTTL h FIELDS 2 a", mismatch],
    ["HTTL h FIELDS 1", arity("httl")],
    ["HPTTL h FIELDS 1", arity("hpttl")],
    ["HEXPIRETIME h FIELDS 1", arity("hexpiretime")],
    ["HPEXPIRETIME h FIELDS 1", arity("hpexpiretime")],
  ]);
});

test("HPERSIST removes the expiry of fields", () => {
  const session = sessionWithHash();
  session.expect([
    ["HEXPIRE h 10 FIELDS 1 a", [1]],
    ["HPERSIST h FIELDS 3 a b z", [1, -1, -2]],
    ["HPERSIST none FIELDS 1 a", [-2]],
    ["HPERSIST s FIELDS 1 a", wrongType],
    ["HPERSIST h FIELDS 2 a", mismatch],
    ["HPERSIST h", arity("hpersist")],
  ]);
  session.clock.advance(20_000);
  session.expect([["HGET h a", "1"]]);
});

test("a field exists through the millisecond of its expiry, then every command misses it", () => {
  const session = sessionWithHash();
  session.run("HPEXPIRE h 10 FIELDS 2 a b");
  session.clock.advance(10);
  session.expect([
    ["HGET h a", "1"],
    ["HPTTL h FIELDS 1 a", [0]],
  ]);
  session.clock.advance(1);
  session.expect([
    ["HGET h a", nil],
    ["HLEN h", 1],
    ["HGETALL h", map([["c", "3"]])],
    ["HTTL h FIELDS 1 a", [-2]],
    ["HDEL h a", 0],
    ["HINCRBY h b 5", 5],
    ["HTTL h FIELDS 1 b", [-1]],
  ]);
});

test("a hash whose fields are all expired does not exist", () => {
  const session = startSession();
  session.expect([
    ["HSET h a 1 b 2", 2],
    ["HPEXPIRE h 10 FIELDS 2 a b", [1, 1]],
    ["SET other 1", { kind: "simple", text: "OK" }],
  ]);
  session.clock.advance(11);
  session.expect([
    ["EXISTS h", 0],
    ["TYPE h", { kind: "simple", text: "none" }],
    ["DBSIZE", 1],
    ["SET h text", { kind: "simple", text: "OK" }],
    ["GET h", "text"],
  ]);
});

test("setting a field removes its expiry; changing its number, RENAME and COPY preserve it", () => {
  sessionWithHash().expect([
    ["HEXPIRE h 100 FIELDS 3 a b c", [1, 1, 1]],
    ["HSET h a 9", 0],
    ["HINCRBY h b 1", 3],
    ["HINCRBYFLOAT h c 0.5", "3.5"],
    ["HTTL h FIELDS 3 a b c", [-1, 100, 100]],
    ["RENAME h g", { kind: "simple", text: "OK" }],
    ["COPY g copy", 1],
    ["HTTL g FIELDS 3 a b c", [-1, 100, 100]],
    ["HTTL copy FIELDS 3 a b c", [-1, 100, 100]],
    ["HPERSIST copy FIELDS 1 b", [1]],
    ["HTTL g FIELDS 1 b", [100]],
    ["HSETNX g a 1", 0],
    ["HDEL g b", 1],
    ["HSETNX g b 1", 1],
    ["HTTL g FIELDS 1 b", [-1]],
  ]);
});

test("HGETDEL returns the values and removes the fields", () => {
  sessionWithHash().expect([
    ["HGETDEL h FIELDS 3 a z a", ["1", nil, nil]],
    ["HLEN h", 2],
    ["HGETDEL h FIELDS 2 b c", ["2", "3"]],
    ["EXISTS h", 0],
    ["HGETDEL h FIELDS 1 b", [nil]],
    ["HGETDEL s FIELDS 1 b", wrongType],
    ["HGETDEL h FIELD 1 b", fieldsMissing],
    ["HGETDEL h FIELDS 0 b", error("ERR Number of fields must be a positive integer")],
    ["HGETDEL h FIELDS 2 b", mismatch],
    ["HGETDEL h FIELDS 1", arity("hgetdel")],
  ]);
});

test("HGETEX returns the values and sets, removes or preserves their expiry", () => {
  sessionWithHash().expect([
    ["HGETEX h FIELDS 2 a z", ["1", nil]],
    ["HTTL h FIELDS 1 a", [-1]],
    ["HGETEX h EX 10 FIELDS 1 a", ["1"]],
    ["HGETEX h px 1500 FIELDS 1 b", ["2"]],
    ["HGETEX h EXAT 2000000100 FIELDS 1 c", ["3"]],
    ["HPTTL h FIELDS 3 a b c", [10_000, 1_500, 100_000]],
    ["HGETEX h PXAT 2000000000009 FIELDS 1 c", ["3"]],
    ["HGETEX h PERSIST FIELDS 2 a b", ["1", "2"]],
    ["HPTTL h FIELDS 3 a b c", [-1, -1, 9]],
    ["HGETEX h PXAT 1 FIELDS 3 a b c", ["1", "2", "3"]],
    ["EXISTS h", 0],
    ["HGETEX h FIELDS 1 a", [nil]],
  ]);
});

test("HGETEX refuses what Redis refuses, with its texts", () => {
  const notPositive = error("ERR Number of fields must be a positive integer");
  sessionWithHash().expect([
    ["HGETEX s FIELDS 1 a", wrongType],
    ["HGETEX h FIELDS 1", arity("hgetex")],
    ["HGETEX h XFIELDX 1 a", fieldsMissing],
    ["HGETEX h PXAT 1 1", fieldsMissing],
    ["HGETEX h PERSIST 1 FIELDS 1 a", fieldsMissing],
    ["HGETEX h EX 10 PX 10 FIELDS 1 a", fieldsMissing],
    ["HGETEX h EX 10 FIELDS", notPositive],
    ["HGETEX h FIELDS 2 a", mismatch],
    ["HGETEX h FIELDS 0 a", notPositive],
    ["HGETEX h FIELDS -1 a", notPositive],
    ["HGETEX h FIELDS 9223372036854775808 a", notPositive],
    ["HGETEX h EX bla FIELDS 1 a", notInteger],
    ["HGETEX h EX 9223372036854775808 FIELDS 1 a", notInteger],
    ["HGETEX h PX -1 FIELDS 1 a", negative],
    ["HGETEX h EX 9223372036854776 FIELDS 1 a", tooLate("hgetex")],
    ["HGETEX h PX 9223372036854775807 FIELDS 1 a", tooLate("hgetex")],
  ]);
});

test("HSETEX sets fields and sets, preserves or removes their expiry", () => {
  sessionWithHash().expect([
    ["HSETEX h EX 10 FIELDS 2 a 11 d 4", 1],
    ["HPTTL h FIELDS 3 a b d", [10_000, -1, 10_000]],
    ["HSETEX h KEEPTTL FIELDS 2 a 12 b 22", 1],
    ["HPTTL h FIELDS 2 a b", [10_000, -1]],
    ["HSETEX h FIELDS 1 a 13", 1],
    ["HPTTL h FIELDS 1 a", [-1]],
    ["HSETEX h PX 5 FIELDS 1 a 14", 1],
    ["HSETEX h EXAT 2000000007 FIELDS 1 b 23", 1],
    ["HSETEX h PXAT 2000000000008 FIELDS 1 c 33", 1],
    ["HPTTL h FIELDS 3 a b c", [5, 7_000, 8]],
    [
      "HGETALL h",
      map([
        ["a", "14"],
        ["b", "23"],
        ["c", "33"],
        ["d", "4"],
      ]),
    ],
    ["HSETEX h PXAT 1 FIELDS 2 a 1 new 1", 1],
    ["HMGET h a new", [nil, nil]],
    ["HSETEX fresh PXAT 1 FIELDS 1 a 1", 1],
    ["EXISTS fresh", 0],
  ]);
});

test("HSETEX with FNX or FXX sets all fields or none", () => {
  sessionWithHash().expect([
    ["HSETEX h FNX FIELDS 2 z 1 a 9", 0],
    ["HSETEX h FXX FIELDS 2 a 9 z 1", 0],
    ["HMGET h a z", ["1", nil]],
    ["HSETEX h FNX EX 10 FIELDS 2 y 1 z 2", 1],
    ["HSETEX h PX 10 FXX FIELDS 2 y 3 z 4", 1],
    ["HMGET h y z", ["3", "4"]],
    ["HSETEX none FXX FIELDS 1 a 1", 0],
    ["EXISTS none", 0],
    ["HSETEX none FNX FIELDS 1 a 1", 1],
  ]);
});

test("HSETEX with NX or XX is about the key, as in Valkey", () => {
  sessionWithHash().expect([
    ["HSETEX h NX FIELDS 1 a 9", 0],
    ["HSETEX none XX FIELDS 1 a 9", 0],
    ["EXISTS none", 0],
    ["HSETEX fresh nx EX 10 FIELDS 1 a 9", 1],
    ["HTTL fresh FIELDS 1 a", [10]],
    ["HSETEX fresh XX FNX FIELDS 1 a 8", 0],
    ["HSETEX fresh XX FXX KEEPTTL FIELDS 1 a 8", 1],
    ["HGET fresh a", "8"],
    ["HTTL fresh FIELDS 1 a", [10]],
    ["HSETEX s NX FIELDS 1 a 9", wrongType],
  ]);
});

test("options of the expiry of fields may follow the fields", () => {
  const session = startSession();
  session.expect([
    ["HSET h a 1 b 2 NX 3", 3],
    ["HEXPIRE h 100 FIELDS 2 a b NX", [1, 1]],
    ["HPEXPIRE h 50000 FIELDS 1 a GT", [0]],
    ["HPEXPIRE h 200000 FIELDS 1 a xx", [1]],
    // A field may be named like an option.
    ["HEXPIRE h 100 FIELDS 2 a NX", [1, 1]],
    ["HEXPIRE h 100 NX FIELDS 1 a NX", error("ERR The `numfields` parameter must match the number of arguments")],
    ["HGETEX h FIELDS 2 a b PERSIST", ["1", "2"]],
    ["HTTL h FIELDS 2 a b", [-1, -1]],
    ["HGETEX h FIELDS 1 a EX 10", ["1"]],
    ["HTTL h FIELDS 1 a", [10]],
    ["HGETEX h FIELDS 1 a EX", error("ERR The `numfields` parameter must match the number of arguments")],
    ["HGETEX h PERSIST FIELDS 1 a EX 10", error("ERR The `numfields` parameter must match the number of arguments")],
    ["HSETEX h FIELDS 2 c 3 d 4 FNX EX 20", 1],
    ["HTTL h FIELDS 2 c d", [20, 20]],
    ["HSETEX h FXX FIELDS 1 c 5 KEEPTTL", 1],
    ["HMGET h c d", ["5", "4"]],
    ["HTTL h FIELDS 1 c", [20]],
    ["HPERSIST h FIELDS 1 c NX", error("ERR The `numfields` parameter must match the number of arguments")],
  ]);
});

test("HSETEX refuses what Redis refuses, with its texts", () => {
  const oneTime = error("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified");
  const oneCondition = error("ERR Only one of FXX or FNX arguments can be specified");
  const badCount = error("ERR invalid number of fields");
  sessionWithHash().expect([
    ["HSETEX s FIELDS 1 a b", wrongType],
    ["HSETEX h FIELDS 1 a", arity("hsetex")],
    ["HSETEX h FIELDS 2 a b", arity("hsetex")],
    ["HSETEX h FIELDS 1 a b unknown", arity("hsetex")],
    ["HSETEX h EX 5 FIELDS 1 a", arity("hsetex")],
    ["HSETEX h NX XX FIELDS 1 a b", error("ERR Only one of NX or XX arguments can be specified")],
    ["HSETEX h FIELDS 1 a b FIELDS 1 c d", arity("hsetex")],
    ["HSETEX h FIELDS 1 a b EX 10 KEEPTTL", oneTime],
    ["HSETEX h gt FIELDS 1 a b", error("ERR unknown argument: gt")],
    ["HSETEX h 1 FIELDS 1 a b", error("ERR unknown argument: 1")],
    ["HSETEX h FNX FXX FIELDS 1 a b", oneCondition],
    ["HSETEX h FNX FNX FIELDS 1 a b", oneCondition],
    ["HSETEX h EX 10 PX 10 FIELDS 1 a b", oneTime],
    ["HSETEX h KEEPTTL EX 10 FIELDS 1 a b", oneTime],
    ["HSETEX h EX 10 KEEPTTL FIELDS 1 a b", oneTime],
    ["HSETEX h KEEPTTL KEEPTTL FIELDS 1 a b", oneTime],
    ["HSETEX h EX FIELDS 1 a b", notInteger],
    ["HSETEX h EXAT -1 FIELDS 1 a b", negative],
    ["HSETEX h PX 9223372036854775807 FIELDS 1 a b", tooLate("hsetex")],
    ["HSETEX h FNX KEEPTTL FNX EX", oneCondition],
    ["HSETEX h FNX FNX FNX EX", oneCondition],
    ["HSETEX h FXX FIELD a b", error("ERR unknown argument: FIELD")],
    ["HSETEX h FNX EX 5 EX", oneTime],
    ["HSETEX h FNX EX 5 a", error("ERR unknown argument: a")],
    ["HSETEX h FIELDS x a b", badCount],
    ["HSETEX h FIELDS 0 a b", badCount],
    ["HSETEX h FIELDS -1 a b", badCount],
    ["HSETEX h FIELDS 9223372036854775808 a b", badCount],
  ]);
});
