/** Whether the table of the client's methods is all of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installedMethods, methodsOfFamilies, methodsToCome } from "./methods.ts";

test("every method of the client is shown by a family, or belongs to a part that is not built", () => {
  const listed = [...Object.values(methodsOfFamilies).flat(), ...methodsToCome.flatMap(([, methods]) => methods)];

  assert.deepEqual(listed.toSorted(), installedMethods().toSorted());
});
