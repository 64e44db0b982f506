/** OpenAPI documents are consistent. The type checker requires a description of every route. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../store/commands/table.ts";
import { areaDocument, describedAreas } from "./area-documents.ts";
import { namesIn } from "./operation.ts";

for (const area of ["store", "vector", "messaging", "admin", "console"] as const) {
  const { operations } = describedAreas[area]();

  test(`${area}: operations have unique ids, paths and answers`, () => {
    const ids = operations.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const places = operations.map(({ method, path }) => `${method} ${path}`);
    assert.equal(new Set(places).size, places.length);
    for (const { id, answers } of operations) {
      const statuses = answers.map(({ status }) => status);
      assert.equal(new Set(statuses).size, statuses.length, id);
    }
  });

  test(`${area}: the names of a path are its path parameters, and each name appears once`, () => {
    for (const { id, path, parameters } of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
      assert.deepEqual(inPath, namesIn(path), id);
      const places = parameters.map((parameter) => {
        const name = parameter.in === "header" ? parameter.name.toLowerCase() : parameter.name;
        return `${parameter.in} ${name}`;
      });
      assert.equal(new Set(places).size, places.length, `${id}: ${places.join(", ")}`);
    }
  });

  test(`${area}: only open operations have no 401`, () => {
    for (const { id, answers, token } of operations)
      assert.equal(
        answers.some(({ status }) => status === 401),
        token !== "open",
        id,
      );
  });

  test(`${area}: every reference in the document resolves`, () => {
    const text = areaDocument(area, "1.2.3");
    const document: unknown = JSON.parse(text);
    for (const [, reference = ""] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = reference.split("/").reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
      assert.notEqual(found, undefined, reference);
    }
  });
}

test("the document is OpenAPI 3.1, has this version, and its server is relative", () => {
  const document = JSON.parse(areaDocument("vector", "1.2.3"));
  assert.equal(document.openapi, "3.1.0");
  assert.deepEqual([document.info.title, document.info.version], ["larder: the vector index", "1.2.3"]);
  assert.deepEqual(document.servers, [{ url: "." }]);
  assert.deepEqual(document.paths["/info"].get, {
    operationId: "getInfo",
    summary: "Returns the definition of the index and the size of its namespaces",
    "x-rule": "B3",
    "x-token": "read-only",
    responses: document.paths["/info"].post.responses,
  });
  assert.deepEqual(document.paths["/info"].get.responses[200].content["application/json"].schema, {
    type: "object",
    properties: { result: { $ref: "#/components/schemas/Info" } },
    required: ["result"],
  });
});

test("the document of messaging has the meaning of a delivery header", () => {
  const document = JSON.parse(areaDocument("messaging", "1.2.3"));
  assert.deepEqual(document.components.parameters["Service-Delay"], {
    name: "Service-Delay",
    in: "header",
    required: false,
    description: "the shortest time between acceptance and delivery (duration in s, m, h, d: `1d10h30m`)",
    schema: { type: "string", examples: ["50s", "1d10h30m"] },
  });
});

test("no command of the store has the name of the document", () => {
  assert.equal(
    commands.some(({ name }) => name.toLowerCase() === "openapi.json"),
    false,
  );
});
