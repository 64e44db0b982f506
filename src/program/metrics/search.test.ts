import assert from "node:assert/strict";
import { test } from "node:test";
import { startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { INDEXES_NAMED_MAX, measureSearch } from "./search.ts";

test("each search index has its figures, the smallest of many together", () => {
  const { store, call } = startSession();
  const schema = ["ON", "HASH", "PREFIX", "1", "d:", "SCHEMA", "t", "TEXT"];
  call("SEARCH.CREATE", "\xc3\xa4", ...schema);
  for (let i = 0; i < 3; i += 1) call("HSET", `d:${i}`, "t", "some words");
  call("SEARCH.COUNT", "\xc3\xa4", "{}");
  call("HSET", "d:0", "t", "other words");
  for (let i = 0; i < 60; i += 1)
    for (const name of ["one", "two"]) store.database(name).execute(testCaller, ["SEARCH.CREATE", `i${i}`, ...schema]);
  const metrics = new Metrics();
  measureSearch(metrics, store);
  const valuesOf = (name: string): ReadonlyMap<string, number | undefined> => {
    const { series = [] } = metrics.snapshot().find((family) => family.name === name) ?? {};
    assert.equal(series.length, INDEXES_NAMED_MAX + 1);
    return new Map(series.map(({ labelValues, values }) => [labelValues.join(" "), values[0]]));
  };
  assert.equal(valuesOf("larder_search_documents").get("main ä"), 3);
  assert.equal(valuesOf("larder_search_pending_keys").get("main ä"), 1);
  const bytes = valuesOf("larder_search_memory_bytes");
  assert.equal(bytes.get("other other"), 21 * (bytes.get("one i0") ?? 0));
});
