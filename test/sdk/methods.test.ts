/** Whether the table of the client's methods is all of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { installedMethods, methodsOfFamilies, methodsOfTheClient, methodsToCome } from "./methods.ts";

const listed: readonly string[] = [
  ...Object.values(methodsOfFamilies).flat(),
  ...methodsOfTheClient,
  ...methodsToCome.flatMap(([, methods]) => methods),
];

test("every method of the client is shown by a family, or belongs to a part that is not built", () => {
  assert.deepEqual(listed.toSorted(), installedMethods().toSorted());
});

test("a pipeline has no method that the client lacks", () => {
  const pipeline = new Redis({ url: "http://unreachable.test", token: "none" }).pipeline();
  const names = Object.keys(pipeline).filter((name) => typeof Reflect.get(pipeline, name) === "function");

  assert.deepEqual(
    names.filter((name) => !listed.includes(name)),
    [],
  );
});
