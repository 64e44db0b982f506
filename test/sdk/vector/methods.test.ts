/** The table of the client's methods is complete. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installedMethods, methodsOfFamilies } from "./methods.ts";

test("every method of the client is tested by a family", () => {
  const listed = new Set<string>(Object.values(methodsOfFamilies).flat());

  assert.deepEqual([...listed].toSorted(), [...installedMethods()].toSorted());
});
