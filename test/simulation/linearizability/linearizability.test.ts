/**
 * The checker of histories, itself checked: on histories written by hand, and on
 * small random ones beside a search of all orders.
 *
 * To repeat:  LARDER_LINEAR_SEED=… npm run t -- test/simulation/linearizability/linearizability.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { seedFrom } from "../../harness/seed.ts";
import { describeNotLinearizable, findNotLinearizable } from "./linearizability.ts";
import { applied, initialState } from "./objects.ts";
import { type Input, type Operation, OperationLog, type Output } from "./operations.ts";

const seed = seedFrom("LARDER_LINEAR_SEED");

const set = (value: string): Input => ({ object: "register", name: "SET", value });
const get: Input = { object: "register", name: "GET" };
const incr: Input = { object: "counter", name: "INCR" };
const count: Input = { object: "counter", name: "GET" };
const rpush = (value: string): Input => ({ object: "list", name: "RPUSH", value });
const lrange: Input = { object: "list", name: "LRANGE" };

/** From the call to the reply; without an output the end is unknown. */
type Row = readonly [calledAt: number, endsAt: number, input: Input, output?: Output];

function operations(rows: readonly Row[], key = "k"): Operation[] {
  return rows.map(([calledAt, endsAt, input, output]) => ({
    ...{ key, input, calledAt },
    ...(output !== undefined && { reply: { at: endsAt, output } }),
  }));
}

const NEVER = 0;

const linearizable: readonly (readonly [what: string, rows: readonly Row[]])[] = [
  ["nothing", []],
  ["a read of a key that does not exist", [[1, 2, get, null]]],
  [
    "one after the other",
    [
      [1, 2, set("a"), "OK"],
      [3, 4, get, "a"],
      [5, 6, set("b"), "OK"],
      [7, 8, get, "b"],
    ],
  ],
  [
    "a read during a write sees the old value",
    [
      [1, 4, set("a"), "OK"],
      [2, 3, get, null],
    ],
  ],
  [
    "a read during a write sees the new value",
    [
      [1, 4, set("a"), "OK"],
      [2, 3, get, "a"],
    ],
  ],
  [
    "two reads during a write, the later one sees the new value",
    [
      [1, 6, set("a"), "OK"],
      [2, 3, get, null],
      [4, 5, get, "a"],
    ],
  ],
  [
    "two writes at the same time, either is last",
    [
      [1, 4, set("a"), "OK"],
      [2, 3, set("b"), "OK"],
      [5, 6, get, "a"],
    ],
  ],
  [
    "a write without a reply is seen later",
    [
      [1, NEVER, set("a")],
      [2, 3, get, null],
      [4, 5, get, "a"],
    ],
  ],
  [
    "a write without a reply is never seen",
    [
      [1, NEVER, set("a")],
      [2, 3, get, null],
      [4, 5, get, null],
    ],
  ],
  [
    "a write without a reply takes effect after another one",
    [
      [1, NEVER, set("a")],
      [2, 3, set("b"), "OK"],
      [4, 5, get, "b"],
      [6, 7, get, "a"],
    ],
  ],
  [
    "increments at the same time",
    [
      [1, 6, incr, 2],
      [2, 5, incr, 3],
      [3, 4, incr, 1],
    ],
  ],
  [
    "an increment without a reply was applied",
    [
      [1, NEVER, incr],
      [2, 3, incr, 2],
      [4, 5, count, 2],
    ],
  ],
  [
    "one of three increments without a reply was applied",
    [
      [1, NEVER, incr],
      [2, NEVER, incr],
      [3, NEVER, incr],
      [4, 5, count, 1],
      [6, 7, count, 1],
    ],
  ],
  [
    "reads of a growing list",
    [
      [1, 2, rpush("a"), 1],
      [3, 6, rpush("b"), 2],
      [4, 5, lrange, ["a"]],
      [7, 8, lrange, ["a", "b"]],
    ],
  ],
  [
    "elements at the same time, in either order",
    [
      [1, 4, rpush("a"), 2],
      [2, 3, rpush("b"), 1],
      [5, 6, lrange, ["b", "a"]],
    ],
  ],
  [
    "an element without a reply comes late",
    [
      [1, NEVER, rpush("a")],
      [2, 3, rpush("b"), 1],
      [4, 5, lrange, ["b"]],
      [6, 7, lrange, ["b", "a"]],
    ],
  ],
];

const violations: readonly (readonly [what: string, rows: readonly Row[]])[] = [
  [
    "a stale read",
    [
      [1, 2, set("a"), "OK"],
      [3, 4, set("b"), "OK"],
      [5, 6, get, "a"],
    ],
  ],
  [
    "a read goes back in time",
    [
      [1, 8, set("a"), "OK"],
      [2, 3, get, "a"],
      [4, 5, get, null],
    ],
  ],
  [
    "a lost write",
    [
      [1, 2, set("a"), "OK"],
      [3, 4, get, null],
    ],
  ],
  [
    "a value that nobody wrote",
    [
      [1, 2, set("a"), "OK"],
      [3, 4, get, "b"],
    ],
  ],
  [
    "a write is seen before it was called",
    [
      [1, 2, get, "a"],
      [3, 4, set("a"), "OK"],
    ],
  ],
  [
    "a write without a reply takes effect twice",
    [
      [1, NEVER, set("a")],
      [2, 3, get, "a"],
      [4, 5, set("b"), "OK"],
      [6, 7, get, "b"],
      [8, 9, get, "a"],
    ],
  ],
  [
    "an increment is applied twice",
    [
      [1, 2, incr, 1],
      [3, 4, count, 2],
    ],
  ],
  [
    "an increment without a reply is applied twice",
    [
      [1, NEVER, incr],
      [2, 3, incr, 3],
    ],
  ],
  [
    "a lost increment",
    [
      [1, 2, incr, 1],
      [3, 4, incr, 1],
    ],
  ],
  [
    "two increments at the same time get the same number",
    [
      [1, 3, incr, 1],
      [2, 4, incr, 1],
    ],
  ],
  [
    "elements in the wrong order",
    [
      [1, 2, rpush("a"), 1],
      [3, 4, rpush("b"), 2],
      [5, 6, lrange, ["b", "a"]],
    ],
  ],
  [
    "two reads with different orders",
    [
      [1, NEVER, rpush("a")],
      [2, NEVER, rpush("b")],
      [3, 4, lrange, ["a", "b"]],
      [5, 6, lrange, ["b", "a"]],
    ],
  ],
  [
    "a read that is not a prefix of a later one",
    [
      [1, NEVER, rpush("a")],
      [2, NEVER, rpush("b")],
      [3, 4, lrange, ["b"]],
      [5, 6, lrange, ["a", "b"]],
    ],
  ],
  [
    "an element disappears",
    [
      [1, 2, rpush("a"), 1],
      [3, 4, lrange, ["a"]],
      [5, 6, lrange, []],
    ],
  ],
  [
    "an element is pushed twice",
    [
      [1, NEVER, rpush("a")],
      [2, 3, lrange, ["a", "a"]],
    ],
  ],
];

test("accepts linearizable histories", () => {
  for (const [what, rows] of linearizable) assert.equal(findNotLinearizable(operations(rows)), undefined, what);
});

test("finds planted violations", () => {
  for (const [what, rows] of violations) assert.equal(findNotLinearizable(operations(rows))?.key, "k", what);
});

test("each key is an object of its own, and the bad one is named", () => {
  const good = operations(
    [
      [1, 2, set("a"), "OK"],
      [5, 6, get, "a"],
    ],
    "good",
  );
  const bad = operations(
    [
      [3, 4, set("a"), "OK"],
      [7, 8, get, null],
    ],
    "bad",
  );
  assert.equal(findNotLinearizable(good), undefined);
  const found = findNotLinearizable([...good, ...bad]);
  assert.ok(found !== undefined);
  assert.equal(
    describeNotLinearizable(found),
    [
      "The operations on bad are not linearizable. After",
      '  SET bad a, called at 3: "OK" at 4',
      "comes none of",
      "  GET bad, called at 7: null at 8",
    ].join("\n"),
  );
});

test("a log numbers calls and replies in their order", () => {
  const log = new OperationLog();
  const first = log.call("k", set("a"));
  const second = log.call("k", get);
  second(null);
  first("OK");
  log.call("k", incr);
  assert.deepEqual(log.operations, [
    { key: "k", input: set("a"), calledAt: 1, reply: { at: 4, output: "OK" } },
    { key: "k", input: get, calledAt: 2, reply: { at: 3, output: null } },
    { key: "k", input: incr, calledAt: 5 },
  ]);
});

test("decides small random histories as a search of all orders does", () => {
  const random = seededRandom(seed);
  const counts = { linearizable: 0, violated: 0 };
  for (let round = 0; round < 4_000; round += 1) {
    const history = drawHistory(random, 2 + random.below(5));
    const isLinearizable = someOrderFits(history);
    const what = `round ${round}: ${JSON.stringify(history)}`;
    assert.equal(findNotLinearizable(history) === undefined, isLinearizable, what);
    counts[isLinearizable ? "linearizable" : "violated"] += 1;
  }
  assert.ok(counts.linearizable > 400 && counts.violated > 400, JSON.stringify(counts));
});

test("decides long histories with many operations without a reply", () => {
  const random = seededRandom(seed);
  for (const inputs of [
    [incr, count],
    [() => rpush(`${random.below(2 ** 32)}`), lrange],
    [() => set(`${random.below(2 ** 32)}`), get],
  ]) {
    const history = drawServed(random, 400, () => {
      const input = inputs[random.below(2)] as Input | (() => Input);
      return typeof input === "function" ? input() : input;
    });
    assert.equal(findNotLinearizable(history), undefined);
    // The last reply becomes that of a state long before.
    const last = history.findLast(({ reply, input }) => reply !== undefined && !("value" in input));
    assert.ok(last?.reply !== undefined);
    const stale: Output = Array.isArray(last.reply.output) ? [] : typeof last.reply.output === "number" ? 1 : null;
    const changed = history.map((operation) =>
      operation === last ? { ...last, reply: { at: last.reply?.at ?? 0, output: stale } } : operation,
    );
    assert.notEqual(findNotLinearizable(changed), undefined);
  }
});

/** Some order of all operations with replies, and of any of the others, gives each its reply. */
function someOrderFits(history: readonly Operation[]): boolean {
  const isAfter = (a: Operation, b: Operation): boolean => b.reply !== undefined && b.reply.at < a.calledAt;
  const fits = (state: ReturnType<typeof initialState>, left: readonly Operation[]): boolean => {
    if (left.every(({ reply }) => reply === undefined)) return true;
    return left.some((next) => {
      if (left.some((other) => isAfter(next, other))) return false;
      const { state: after, output } = applied(state, next.input);
      if (next.reply !== undefined && JSON.stringify(next.reply.output) !== JSON.stringify(output)) return false;
      return fits(
        after,
        left.filter((each) => each !== next),
      );
    });
  };
  const [first] = history;
  return first === undefined || fits(initialState(first.input.object), history);
}

/** Operations of a few clients with replies that are mostly possible. */
function drawHistory(random: Random, length: number): Operation[] {
  const values = ["a", "b", "c"];
  const value = (): string => values[random.below(values.length)] as string;
  const kinds: readonly (() => Input)[] = [
    () => (random.below(2) === 0 ? set(value()) : get),
    () => (random.below(3) > 0 ? incr : count),
    () => (random.below(2) === 0 ? rpush(value()) : lrange),
  ];
  const draw = kinds[random.below(kinds.length)] as () => Input;
  const history = drawServed(random, length, draw);
  if (random.below(4) === 0) return history;
  return history.map((operation) => {
    if (operation.reply === undefined || random.below(2) === 0) return operation;
    const others = history.filter(({ input }) => input.name === operation.input.name);
    const { reply } = others[random.below(others.length)] as Operation;
    return reply === undefined ? operation : { ...operation, reply: { at: operation.reply.at, output: reply.output } };
  });
}

/** What clients see of one object that serves them, up to four at a time: some never get a reply. */
function drawServed(random: Random, length: number, draw: () => Input): Operation[] {
  const log = new OperationLog();
  let state: ReturnType<typeof initialState> | undefined;
  const waiting: { readonly input: Input; readonly reply: (output: Output) => void; output: Output | undefined }[] = [];
  for (let called = 0; called < length || waiting.length > 0; ) {
    const chance = random.below(3);
    if (called < length && waiting.length < 4 && chance === 0) {
      const input = draw();
      state ??= initialState(input.object);
      waiting.push({ input, reply: log.call("k", input), output: undefined });
      called += 1;
      continue;
    }
    const index = random.below(waiting.length);
    const operation = waiting[index];
    if (operation === undefined || state === undefined) continue;
    if (operation.output === undefined) {
      // A client is gone before its operation took effect.
      if (random.below(8) === 0) waiting.splice(index, 1);
      else ({ state, output: operation.output } = applied(state, operation.input));
      continue;
    }
    if (random.below(8) > 0) operation.reply(operation.output);
    waiting.splice(index, 1);
  }
  return [...log.operations];
}
