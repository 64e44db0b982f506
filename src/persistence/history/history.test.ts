import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { History } from "./history.ts";
import { type HistoryQuery, MalformedCursor } from "./query.ts";
import { HistoryReader } from "./reader.ts";
import type { HistoryEntry, HistoryMessage } from "./record.ts";

const CREATED = 0;
const ACTIVE = 1;
const DELIVERED = 4;
const LAST_STATES = [DELIVERED];

function open(path = ":memory:"): History {
  return History.open(path, { lastStates: LAST_STATES, partitionEntries: 4 });
}

function message(number: number, attributes: HistoryMessage["attributes"] = [], user = 1): HistoryMessage {
  return { message: number, user, id: `msg_${number}`, attributes, detail: Buffer.from(`detail ${number}`) };
}

function entry(number: number, timeMs: number, state = CREATED): HistoryEntry {
  return { message: number, timeMs, state, detail: undefined };
}

/** `message@time/state` of each entry of a page, and its cursor. */
function list(history: History | HistoryReader, query: Partial<HistoryQuery> = {}) {
  const page = history.list({ user: 1, attributes: new Map(), order: "latest first", count: 100, ...query });
  return {
    ids: page.entries.map(({ entry: { message: id, timeMs, state } }) => `${id}@${timeMs}/${state}`),
    cursor: page.cursor,
  };
}

function labels(...values: string[]): { attributes: HistoryQuery["attributes"] } {
  return { attributes: new Map([["label", values]]) };
}

function inFolder(use: (path: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "larder-history-"));
  try {
    use(join(folder, "history.sqlite"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("an empty history has no entries and no cursor", () => {
  assert.deepEqual(list(open()), { ids: [], cursor: undefined });
});

test("an entry comes back with its detail and its message", () => {
  const history = open();
  const original = message(7, [
    ["label", "a"],
    ["label", "b"],
    ["url", "https://a.example/"],
  ]);
  const failed = { message: 7, timeMs: 20, state: 3, detail: Buffer.from("refused") };
  history.write({ messages: [original], entries: [entry(7, 10), failed], position: 2 });

  const { entries } = history.list({ user: 1, attributes: new Map(), order: "latest first", count: 1 });

  const plain = { ...original, detail: new Uint8Array(original.detail) };
  assert.deepEqual(entries, [{ entry: { ...failed, detail: new Uint8Array(failed.detail) }, message: plain }]);
  assert.equal(history.position, 2);
});

test("entries of one millisecond keep the order of writing", () => {
  const history = open();
  history.write({
    messages: [message(1)],
    entries: [entry(1, 5, CREATED), entry(1, 5, ACTIVE), entry(1, 5, DELIVERED)],
    position: 1,
  });

  assert.deepEqual(list(history, { order: "earliest first" }).ids, ["1@5/0", "1@5/1", "1@5/4"]);
  assert.deepEqual(list(history).ids, ["1@5/4", "1@5/1", "1@5/0"]);
});

/** Message n at time 10 n. All are labelled `any`, even ones `even`, message 9 `nine`; user 2 has the same messages. */
function ten(): History {
  const history = open();
  for (let n = 0; n < 10; n += 1) {
    const attributes: [string, string][] = [
      ["label", "any"],
      ["url", `https://a.example/${n}`],
    ];
    if (n % 2 === 0) attributes.push(["label", "even"]);
    if (n === 9) attributes.push(["label", "nine"]);
    history.write({
      messages: [message(n, attributes), message(100 + n, attributes, 2)],
      entries: [entry(n, 10 * n), entry(100 + n, 10 * n), entry(n, 10 * n + 3, n % 5 === 0 ? DELIVERED : ACTIVE)],
      position: n + 1,
    });
  }
  return history;
}

const filters: [name: string, query: Partial<HistoryQuery>, ids: string[]][] = [
  ["one value", labels("nine"), ["9@93/1", "9@90/0"]],
  ["either value", { ...labels("nine", "even"), states: [ACTIVE] }, ["9@93/1", "8@83/1", "6@63/1", "4@43/1", "2@23/1"]],
  ["an unknown value", labels("none"), []],
  ["an unknown name", { attributes: new Map([["host", ["any"]]]) }, []],
  [
    "values of two names",
    {
      attributes: new Map([
        ["label", ["even"]],
        ["url", ["https://a.example/4", "https://a.example/5"]],
      ]),
    },
    ["4@43/1", "4@40/0"],
  ],
  [
    "values that no message combines",
    {
      attributes: new Map([
        ["label", ["nine"]],
        ["url", ["https://a.example/4"]],
      ]),
    },
    [],
  ],
  ["an empty list of values", labels(), []],
  ["message ids", { messageIds: ["msg_3", "msg_5", "msg_x"], states: [CREATED] }, ["5@50/0", "3@30/0"]],
  ["the id of another user's message", { messageIds: ["msg_103"] }, []],
  ["states", { states: [DELIVERED] }, ["5@53/4", "0@3/4"]],
  ["an empty list of states", { states: [] }, []],
  ["a time range, both ends included", { fromMs: 40, toMs: 50 }, ["5@50/0", "4@43/1", "4@40/0"]],
  ["an empty time range", { fromMs: 50, toMs: 40 }, []],
  [
    "a value in a time range",
    { ...labels("even"), fromMs: 23, toMs: 63, states: [ACTIVE] },
    ["6@63/1", "4@43/1", "2@23/1"],
  ],
];

for (const [name, query, ids] of filters) {
  test(`filter: ${name}`, () => {
    assert.deepEqual(list(ten(), query), { ids, cursor: undefined });
    assert.deepEqual(list(ten(), { ...query, order: "earliest first" }), { ids: ids.toReversed(), cursor: undefined });
  });
}

test("values with SQL syntax are only values", () => {
  const history = open();
  const awkward = "'); DROP TABLE entry; --\u0000\ud83d";
  history.write({
    messages: [
      message(1, [
        ["label", awkward],
        ["__proto__", "x"],
      ]),
    ],
    entries: [entry(1, 1)],
    position: 1,
  });

  assert.deepEqual(list(history, labels(awkward)).ids, ["1@1/0"]);
  assert.deepEqual(list(history, { attributes: new Map([["__proto__", ["x"]]]) }).ids, ["1@1/0"]);
});

test("paging repeats and skips nothing while entries are added", () => {
  const history = ten();
  const seen: string[] = [];
  let cursor: string | undefined;
  let position = 10;
  do {
    const page = list(history, { ...labels("any"), count: 3, ...(cursor !== undefined && { cursor }) });
    seen.push(...page.ids);
    cursor = page.cursor;
    position += 1;
    history.write({ messages: [message(position, [["label", "any"]])], entries: [entry(position, 1_000)], position });
  } while (cursor !== undefined);

  assert.deepEqual(seen, list(ten()).ids);
});

test("a message with several of the wanted values is listed once", () => {
  const history = History.open(":memory:", { lastStates: LAST_STATES });
  const messages = Array.from({ length: 50 }, (_, n) =>
    message(
      n,
      n === 7
        ? [
            ["label", "a"],
            ["label", "b"],
          ]
        : [],
    ),
  );
  history.write({ messages, entries: messages.map(({ message: n }) => entry(n, n)), position: 1 });

  assert.deepEqual(list(history, labels("a", "b")).ids, ["7@7/0"]);
});

test("a page that ends with the last entry has no cursor", () => {
  assert.equal(list(ten(), { ...labels("nine"), count: 2 }).cursor, undefined);
  assert.equal(list(ten(), { ...labels("nine"), count: 1 }).cursor, "93-30");
});

test("a bare number is a cursor: the page begins with the entries of that millisecond", () => {
  const history = ten();

  assert.deepEqual(list(history, { cursor: "43", count: 2 }).ids, ["4@43/1", "4@40/0"]);
  assert.deepEqual(list(history, { cursor: "42", count: 1 }).ids, ["4@40/0"]);
  assert.deepEqual(list(history, { cursor: "43", count: 2, order: "earliest first" }).ids, ["4@43/1", "5@50/0"]);
});

for (const cursor of [
  "",
  "x",
  "-1",
  "1-",
  "1-2-3",
  "1.5",
  " 1",
  "1e3",
  "99999999999999999",
  "9007199254740991",
  "1-99999999999999999",
]) {
  test(`rejects the cursor ${JSON.stringify(cursor)}`, () => {
    assert.throws(() => list(ten(), { cursor }), MalformedCursor);
  });
}

test("a batch that was written before changes nothing", () => {
  const history = open();
  const batch = { messages: [message(1)], entries: [entry(1, 1), entry(1, 2, ACTIVE)], position: 5 };
  history.write(batch);

  history.write(batch);
  history.write({ ...batch, position: 4 });

  assert.deepEqual(list(history).ids, ["1@2/1", "1@1/0"]);
  assert.equal(history.position, 5);
});

test("a batch is written completely or not at all", () => {
  const history = open();
  history.write({ messages: [message(1, [["label", "a"]])], entries: [entry(1, 1)], position: 1 });

  assert.throws(() =>
    history.write({ messages: [message(2, [["label", "a"]])], entries: [entry(2, 2), entry(2, 3, 16)], position: 2 }),
  );
  assert.deepEqual(list(history, labels("a")).ids, ["1@1/0"]);

  history.write({ messages: [message(2, [["label", "a"]])], entries: [entry(2, 2)], position: 2 });
  assert.deepEqual(list(history, labels("a")).ids, ["2@2/0", "1@1/0"]);
});

test("skips entries of an unknown message", () => {
  const history = open();
  history.write({ messages: [], entries: [entry(1, 1)], position: 1 });

  assert.deepEqual(list(history).ids, []);
});

test("a message is found by its values in every time partition with its entries", () => {
  const history = open();
  history.write({ messages: [message(1, [["label", "slow"]])], entries: [entry(1, 1)], position: 1 });
  for (let n = 2; n < 40; n += 1) history.write({ messages: [message(n)], entries: [entry(n, n)], position: n });
  history.write({ messages: [], entries: [entry(1, 50, ACTIVE), entry(1, 20, 3)], position: 40 });

  assert.deepEqual(list(history, labels("slow")).ids, ["1@50/1", "1@20/3", "1@1/0"]);
});

test("removes old entries, and messages whose last state is old", () => {
  const history = ten();

  while (history.removeBefore(50));

  // Messages 1 to 4 have not ended: their later entries are listed.
  assert.deepEqual(list(history, { order: "earliest first", count: 3 }).ids, ["5@50/0", "5@53/4", "6@60/0"]);
  history.write({ messages: [], entries: [entry(4, 200, DELIVERED), entry(0, 200, ACTIVE)], position: 11 });
  assert.deepEqual(list(history, { fromMs: 200 }).ids, ["4@200/4"]);
  assert.deepEqual(list(history, { ...labels("even"), fromMs: 100 }).ids, ["4@200/4"]);
});

test("finds new entries after everything was removed", () => {
  const history = ten();
  const before = history.usedBytes;
  while (history.removeBefore(1_000));

  history.write({
    messages: [message(50, [["label", "any"]])],
    entries: [entry(50, 5), entry(50, 2_000)],
    position: 20,
  });

  assert.deepEqual(list(history, labels("any")).ids, ["50@2000/0", "50@5/0"]);
  assert.ok(history.usedBytes <= before);
});

test("a late entry is found by its values after the values of its old time partition were removed", () => {
  const history = open();
  const messages = [message(1, [["label", "late"]]), message(2), message(3)];
  const entries = [entry(1, 10), entry(2, 11), entry(2, 12), entry(3, 13), entry(3, 60)];
  history.write({ messages, entries, position: 1 });
  while (history.removeBefore(60));

  history.write({ messages: [], entries: [entry(1, 20, ACTIVE)], position: 2 });

  assert.deepEqual(list(history, labels("late")).ids, ["1@20/1"]);
});

test("removes in steps", () => {
  const history = open();
  const messages = Array.from({ length: 5_000 }, (_, n) => message(n, [["label", "a"]]));
  history.write({ messages, entries: messages.map(({ message: n }) => entry(n, n, DELIVERED)), position: 1 });

  let steps = 1;
  while (history.removeBefore(4_999)) steps += 1;

  assert.ok(steps > 3, `${steps} steps`);
  assert.deepEqual(list(history, labels("a")).ids, ["4999@4999/4"]);
});

test("removes the oldest entries first when there is no room", () => {
  const history = ten();

  assert.equal(history.removeOldest(), true);

  // One step removes all entries of the state with the oldest entry.
  assert.deepEqual(list(history).ids, ["9@93/1"]);
});

test("a deleted user's entries are no longer listed, and are removed later", () => {
  const history = ten();
  history.write({ messages: [], entries: [], position: 11, droppedUsers: [1] });

  assert.deepEqual(list(history).ids, []);
  assert.deepEqual(list(history, labels("any")).ids, []);
  assert.equal(list(history, { user: 2 }).ids.length, 10);
  history.write({
    messages: [message(200, [["label", "any"]])],
    entries: [entry(200, 300), entry(3, 300)],
    position: 12,
  });
  assert.deepEqual(list(history, labels("any")).ids, ["200@300/0"]);

  while (history.removeBefore(0));
  assert.deepEqual(list(history).ids, ["200@300/0"]);
  assert.equal(list(history, { user: 2 }).ids.length, 10);
});

test("a reopened history continues where it was closed", () => {
  inFolder((path) => {
    const first = open(path);
    first.write({ messages: [message(1, [["label", "a"]])], entries: [entry(1, 1)], position: 3 });
    first.close();

    const second = open(path);
    second.write({ messages: [], entries: [entry(1, 1, ACTIVE)], position: 4 });
    assert.deepEqual(list(second, labels("a")).ids, ["1@1/1", "1@1/0"]);
    assert.equal(second.position, 4);
    second.close();
  });
});

test("a reader sees entries written by another connection", () => {
  inFolder((path) => {
    const history = open(path);
    const reader = HistoryReader.open(path);
    assert.deepEqual(list(reader).ids, []);

    history.write({ messages: [message(1, [["label", "a"]])], entries: [entry(1, 1)], position: 1 });

    assert.deepEqual(list(reader, labels("a")).ids, ["1@1/0"]);
    reader.close();
    history.close();
  });
});

test("distinguishes the synced position from the written one", () => {
  inFolder((path) => {
    const history = open(path);
    history.write({ messages: [], entries: [], position: 9 });
    assert.equal(history.syncedPosition, 0);

    history.sync();

    assert.equal(history.syncedPosition, 9);
    history.close();
  });
});
