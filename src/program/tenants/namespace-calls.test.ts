import assert from "node:assert/strict";
import { test } from "node:test";
import type { WantedNamespaces } from "../areas/area.ts";
import { namespaceCalls } from "./namespace-calls.ts";

test("the namespaces of an index come from the area, 100 at a time unless the query says otherwise", async () => {
  const asked: WantedNamespaces[] = [];
  const namespaces = async (wanted: WantedNamespaces) => {
    asked.push(wanted);
    return { namespaces: [] };
  };
  const calls = namespaceCalls({ data: () => ({ namespaces }), indexes: () => [] });
  assert.deepEqual(await calls.namespaces("docs", {}), { namespaces: [] });
  await calls.namespaces("docs", { count: 7, cursor: 3, prefix: "a" });
  assert.deepEqual(asked, [
    { index: "docs", count: 100 },
    { index: "docs", count: 7, cursor: 3, prefix: "a" },
  ]);
});

test("a node that does not serve the index refuses, and says whether it exists", async () => {
  const elsewhere = {
    kind: "conflict",
    text: "Another node serves the data of the index docs: send the request to the admin port of that node",
  };
  for (const data of [() => undefined, () => ({ namespaces: async () => undefined })]) {
    const calls = namespaceCalls({ data, indexes: () => [{ name: "docs" }] });
    await assert.rejects(calls.namespaces("docs", {}), elsewhere);
    await assert.rejects(calls.namespaces("none", {}), { kind: "not found", text: "There is no index none" });
  }
});
