/** Checks the check: a correct server passes, and each way of breaking a promise is found. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import { type Session, startSession } from "../../../harness/store-harness.ts";
import { type Damage, Ledger, type Write } from "./ledger.ts";
import { type Command, type Kind, kinds, type Value } from "./writes.ts";

const CLIENT = "client-0";

/** How the server runs the third of five acknowledged writes of a kind. */
type Fault = (session: Session, write: Write) => unknown;

const faults: readonly (readonly [name: string, kind: string, fault: Fault, what: RegExp])[] = [
  ["a hole", "log", () => {}, /after 2 comes "4;5;" \(acknowledged 5/],
  ["a duplicate", "log", (session, write) => runAll(session, write, write), /after 3 comes "3;4;5"/],
  ["a lost increment", "counter", () => {}, /write 5 was acknowledged, 4 is there/],
  [
    "an increment that was never sent",
    "counter",
    (session, write) => runAll(session, write, write),
    /5 was the last one sent, 6/,
  ],
  ["a lost shared increment", "shared counter", () => {}, /write 5 was acknowledged, 4 is there/],
  [
    "half a transaction",
    "transaction",
    (session, write) => run(session, write.commands[0]),
    /parts of one write differ: \["5","4","5"\]/,
  ],
  [
    "half a shared transaction",
    "shared transaction",
    (session, write) => run(session, write.commands[0]),
    /parts of one write/,
  ],
];

/** The same with the last of five writes. */
const lastFaults: readonly (readonly [name: string, kind: string, fault: Fault, what: RegExp])[] = [
  ["a lost hash", "hash", () => {}, /write 5 was acknowledged, 4 is there/],
  [
    "half a hash",
    "hash",
    (session, { owner }) => run(session, ["HSET", `hash:${owner}`, "first", 5]),
    /parts of one write/,
  ],
  ["a lost deletion", "set and delete", () => {}, /write 5 was acknowledged, 4 is there/],
  ["a lost large value", "large value", () => {}, /write 5 was acknowledged, 4 is there/],
  [
    "a torn large value",
    "large value",
    (session, { owner }) => run(session, ["SETRANGE", `blob:${owner}`, 9_000, "5,5"]),
    /a mixed value/,
  ],
  ["a lost value with an expiry", "late expiry", () => {}, /not among the possible ones/],
  ["a lost expiry", "late expiry", (session, { owner }) => run(session, ["SET", `late:${owner}`, 5]), /expires at -1/],
  [
    "an extended expiry",
    "late expiry",
    (session, { owner }) => run(session, ["SET", `late:${owner}`, 5, "PX", 3_600_001]),
    /expires at/,
  ],
  [
    "a field without its expiry",
    "late field expiry",
    (session, { commands }) => run(session, commands[0]),
    /expires at -1/,
  ],
  [
    "a key that expires too soon",
    "soon expiry",
    (session, { owner }) => run(session, ["DEL", `soon:${owner}`]),
    /before write 5 expires/,
  ],
];

test("a server that keeps its acknowledgements passes", async () => {
  for (const kind of kinds) assert.deepEqual(await damages({ kind, fault: undefined, faultAt: 0 }), []);
});

for (const [name, kindName, fault, what] of faults) {
  test(`${name} is found`, async () => {
    const [damage, ...others] = await damages({ kind: kindOf(kindName), fault, faultAt: 3 });

    assert.match(damage?.what ?? "", what);
    assert.deepEqual(others, []);
  });
}

for (const [name, kindName, fault, what] of lastFaults) {
  test(`${name} is found`, async () => {
    const [damage, ...others] = await damages({ kind: kindOf(kindName), fault, faultAt: 5 });

    assert.match(damage?.what ?? "", what);
    assert.deepEqual(others, []);
  });
}

test("an unacknowledged write may exist or not", async () => {
  for (const isThere of [true, false]) {
    for (const kind of kinds) {
      const clock = new VirtualClock();
      const session = startSession({ clock });
      const ledger = new Ledger(1, clock);
      const first = ledger.next(kind, CLIENT);
      runAll(session, first);
      ledger.acknowledge(first);
      const second = ledger.next(kind, CLIENT);
      if (isThere) runAll(session, second);
      ledger.closeOpenWrites();

      assert.deepEqual(await ledger.check(reader(session)), [], kind.name);
      assert.deepEqual(await ledger.check(reader(session)), [], `${kind.name}, a second time`);
    }
  }
});

/** The report of a ledger after five acknowledged writes, one of them with a fault. */
async function damages(options: { kind: Kind; fault: Fault | undefined; faultAt: number }): Promise<readonly Damage[]> {
  const { kind, fault, faultAt } = options;
  const clock = new VirtualClock();
  const session = startSession({ clock });
  const ledger = new Ledger(1, clock);
  for (let n = 1; n <= 5; n += 1) {
    const write = ledger.next(kind, CLIENT);
    if (fault !== undefined && n === faultAt) fault(session, write);
    else runAll(session, write);
    ledger.acknowledge(write);
  }
  ledger.closeOpenWrites();
  return ledger.check(reader(session));
}

function kindOf(name: string): Kind {
  const kind = kinds.find((each) => each.name === name);
  assert.ok(kind !== undefined, name);
  return kind;
}

function runAll(session: Session, ...writes: readonly Write[]): void {
  for (const { commands } of writes) for (const command of commands) run(session, command);
}

function run(session: Session, command: Command | undefined): Value {
  assert.ok(command !== undefined);
  const reply = session.call(...command.map(String));
  return (Buffer.isBuffer(reply) ? reply.latin1Slice() : reply) as Value;
}

function reader(session: Session): (commands: readonly Command[]) => Promise<readonly Value[]> {
  return async (commands) => commands.map((command) => run(session, command));
}
