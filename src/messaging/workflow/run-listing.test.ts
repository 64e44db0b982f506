/** Pages of runs: their order, their cursors, their filters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunsFilter } from "../api.ts";
import { Run, type RunRecord, runState } from "../state/run.ts";
import { User } from "../state/user.ts";
import { listRuns, startedRuns } from "./run-listing.ts";

function userOf(records: readonly Partial<RunRecord>[]): User {
  const user = new User("main", 1, { keys: { current: "a", next: "b" }, windowMs: 1 });
  for (const record of records) addRun(user, record);
  return user;
}

function addRun(user: User, record: Partial<RunRecord>): Run {
  const facts = { id: "", url: "https://a.test", createdAtMs: 0, callerIp: "::1", config: { headers: [] }, depth: 0 };
  const run = new Run(user, { ...facts, ...record });
  user.runs.set(run.id, run);
  user.runOrder.add(run);
  return run;
}

const five = ["a", "b", "c", "d", "e"].map((id, index) => ({ id, createdAtMs: 10 * index }));

function idsOf(user: User, filter: RunsFilter, page: { count: number; cursor?: string }): readonly unknown[] {
  const { runs, cursor } = listRuns(user, filter, page);
  return [runs.map(({ id }) => id).join(""), cursor];
}

const pages: readonly (readonly [
  filter: RunsFilter,
  page: { count: number; cursor?: string },
  ids: string,
  cursor?: string,
])[] = [
  [{}, { count: 5 }, "edcba"],
  [{}, { count: 2 }, "ed", "30-d"],
  [{}, { count: 2, cursor: "30-d" }, "cb", "10-b"],
  [{}, { count: 2, cursor: "10-b" }, "a"],
  [{}, { count: 9, cursor: "20-gone" }, "cba"],
  [{}, { count: 9, cursor: "19" }, "ba"],
  [{ fromMs: 10, toMs: 30 }, { count: 9 }, "dcb"],
  [{ fromMs: 10, toMs: 30 }, { count: 9, cursor: "20-c" }, "b"],
  [{ toMs: 10 }, { count: 9, cursor: "30-d" }, "ba"],
  [{ ids: ["b", "gone", "d", "b", "a"] }, { count: 2 }, "db", "10-b"],
  [{ ids: ["b", "d", "a"] }, { count: 2, cursor: "10-b" }, "a"],
  [{ createdAtMs: [0, 40] }, { count: 9 }, "ea"],
  [{ states: [runState.success] }, { count: 9 }, ""],
];

for (const [filter, page, ids, cursor] of pages) {
  test(`a page of ${JSON.stringify(page)} by ${JSON.stringify(filter)}`, () => {
    assert.deepEqual(idsOf(userOf(five), filter, page), [ids, cursor]);
  });
}

test("finds runs by host and path, and passes over a text that is not a URL", () => {
  const urls = ["https://a.test/x?y=1", "https://a.test:81/x", "https://b.test/z", "no url"];
  const user = userOf(urls.map((url, index) => ({ id: "abcd"[index] ?? "", url })));
  for (const [filter, ids] of [
    [{ hosts: ["a.test"] }, "a"],
    [{ hosts: ["a.test:81", "b.test"] }, "cb"],
    [{ paths: ["/x"] }, "ba"],
    [{ hosts: ["a.test"], paths: ["/z"] }, ""],
  ] as const)
    assert.deepEqual(idsOf(user, filter, { count: 9 }), [ids, undefined]);
});

test("rejects an invalid cursor", () => {
  for (const cursor of ["wfr_1", "", "-1", "1.5", "9999999999999999"]) {
    assert.throws(() => listRuns(userOf(five), {}, { count: 1, cursor }), {
      kind: "bad request",
      text: `Invalid value for cursor: ${JSON.stringify(cursor)}`,
    });
  }
});

test("a page without matching runs ends early, and the next one continues from there", () => {
  const user = userOf(five);
  for (let index = 0; index < 50_000; index += 1)
    addRun(user, { id: `${index}`, createdAtMs: 100, url: "https://b.test" });
  const filter = { urls: ["https://a.test"] };
  const first = listRuns(user, filter, { count: 2 });
  assert.deepEqual(first, { runs: [], cursor: "100-0" });
  assert.deepEqual(idsOf(user, filter, { count: 2, cursor: "100-0" }), ["ed", "30-d"]);
});

test("finds started runs earliest first, up to the limit", () => {
  const user = userOf(five);
  (user.runs.get("b") as Run).state = runState.canceled;
  assert.equal(
    startedRuns(user, {}, 2)
      .map(({ id }) => id)
      .join(""),
    "ac",
  );
  assert.equal(
    startedRuns(user, { fromMs: 10, toMs: 30 }, 9)
      .map(({ id }) => id)
      .join(""),
    "cd",
  );
  assert.equal(
    startedRuns(user, { ids: ["e", "b", "a"] }, 9)
      .map(({ id }) => id)
      .join(""),
    "ae",
  );
});
