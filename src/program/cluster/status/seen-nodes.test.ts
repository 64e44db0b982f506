import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeView } from "../../../cluster/log-store/log-store.ts";
import { SeenNodes } from "./seen-nodes.ts";

function node(name: string, facts: Partial<NodeView> = {}): NodeView {
  return {
    ...{
      name,
      life: `life of ${name}`,
      beat: 1,
      isDead: false,
      address: "",
      format: 2,
      isDrained: false,
      keyNumber: 0,
    },
    ...facts,
  };
}

test("a node is in its state since the first poll that had it, and again after its death or a new start", () => {
  const seen = new SeenNodes();
  const sinceOf = (nodes: readonly NodeView[], atMs: number) => {
    seen.saw(nodes, atMs);
    return seen.figures(nodes).map(({ name, isAlive, since }) => [name, isAlive, Date.parse(since)]);
  };
  assert.deepEqual(sinceOf([node("a"), node("b")], 1), [
    ["a", true, 1],
    ["b", true, 1],
  ]);
  assert.deepEqual(sinceOf([node("a", { beat: 7 }), node("b", { isDead: true })], 2), [
    ["a", true, 1],
    ["b", false, 2],
  ]);
  assert.deepEqual(sinceOf([node("a", { life: "another" })], 3), [["a", true, 3]]);
  assert.deepEqual(seen.figures([node("c")]), []);
  const kinds = seen.figures([node("a", { isDrained: true }), node("b")]).map(({ since: _, ...facts }) => facts);
  assert.deepEqual(kinds, [{ name: "a", isAlive: true, isDrained: true, isFront: false, format: 2 }]);
  assert.deepEqual(
    seen.figures([node("a", { format: 0 })]).map(({ isFront }) => isFront),
    [true],
  );
});
