/** Routes of messaging read the query parameters in their OpenAPI document, and no others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parameters } from "../../src/edge/messaging/parameters.ts";
import { describedAreas } from "../../src/edge/openapi/area-documents.ts";
import type { Parameter } from "../../src/edge/openapi/operation.ts";
import type { Schema } from "../../src/edge/openapi/schema.ts";
import { subjects, TOKEN } from "../fuzz/api/subjects.ts";
import { edgeRequest } from "../harness/messaging-edge.ts";

/** Accepted for clients that send it, and ignored. */
const ignored: readonly string[] = ["cancelRuns all", "listRunLogs groupBy"];
/** Refused with an error of its own. */
const refused: readonly string[] = ["listDeadLetters host", "listDeadLetters path"];

test("each route of messaging reads the query parameters in its document, and no others", async (context) => {
  await using subject = (await subjects[2]?.(1)) ?? assert.fail();
  let read = new Set<string>();
  const { all } = Parameters.prototype;
  context.mock.method(Parameters.prototype, "all", function (this: Parameters, name: string) {
    read.add(name);
    return all.call(this, name);
  });
  for (const { id, method, path, parameters } of describedAreas.messaging().operations) {
    read = new Set();
    const inQuery = parameters.filter((parameter) => parameter.in === "query");
    const pairs = inQuery.map((parameter) => `${parameter.name}=${sampleOf(parameter)}`);
    const line = `${method.toUpperCase()} ${path.replace("{destination}", "https://a.test").replace(/\{\w+\}/g, "n")}`;
    // Some parameters are read only beside another one, or only without it.
    for (const query of [...pairs, pairs.join("&"), pairs.slice(1).join("&")])
      await subject.area.handle(edgeRequest(`${line}?${query}`, { token: TOKEN }));
    const isExpected = (name: string): boolean => !ignored.includes(`${id} ${name}`);
    const isUnexpected = (name: string): boolean => !refused.includes(`${id} ${name}`);
    const expected = inQuery.map(({ name }) => name).filter(isExpected);
    assert.deepEqual([...read].filter(isUnexpected).toSorted(), expected.toSorted(), id);
  }
});

function sampleOf({ schema }: Parameter): string {
  const { enum: words, type, items = {} }: Schema = schema;
  if (type === "array") return sampleOf({ name: "", in: "query", schema: items });
  return String(words?.[0] ?? (type === "integer" ? 1 : "x"));
}
