/** The table of the client's methods is complete. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installedMethods, methodsOfFamilies, methodsToCome } from "./methods.ts";

test("every method of the client is tested by a family, or belongs to an unsupported part", () => {
  const listed = [...Object.values(methodsOfFamilies).flat(), ...methodsToCome.flatMap(([, methods]) => methods)];

  assert.deepEqual(listed.toSorted(), installedMethods().toSorted());
});
