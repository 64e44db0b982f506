/** Whether the table of the client's methods is all of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installedMethods, methodsOfFamilies } from "./methods.ts";

test("every method of the client is shown by a family", () => {
  const listed = new Set<string>(Object.values(methodsOfFamilies).flat());

  assert.deepEqual([...listed].toSorted(), [...installedMethods()].toSorted());
});
