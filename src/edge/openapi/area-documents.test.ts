/** OpenAPI documents are consistent. The type checker requires a description of every route. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf } from "../../../test/fuzz/api/validate.ts";
import { commands } from "../../store/commands/table.ts";
import { areaDocument, describedAreas } from "./area-documents.ts";
import { openApiDocument, resolverOf } from "./document.ts";
import { namesIn, tagOf } from "./operation.ts";
import type { Schema } from "./schema.ts";

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

interface Printed {
  readonly requestBody?: { readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly content?: Contents }>>;
}
type Contents = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;

for (const area of ["store", "vector", "messaging", "admin", "console"] as const) {
  const described = describedAreas[area]();

  test(`${area}: every operation has a tag, and every tag an operation`, () => {
    const used = described.operations.map(({ path }) => tagOf(described, path)?.name);
    assert.deepEqual(new Set(used), new Set(described.tags.map(({ name }) => name)));
  });

  test(`${area}: a schema contains itself only in objects, or generated types do not compile`, () => {
    const visit = ({ $ref, anyOf = [], items }: Schema, path: readonly string[]): void => {
      if ($ref !== undefined) {
        assert.ok(!path.includes($ref), [...path, $ref].join(" > "));
        visit(resolverOf(described)({ $ref }), [...path, $ref]);
      }
      for (const part of items === undefined ? anyOf : [...anyOf, items]) visit(part, path);
    };
    for (const schema of Object.values(described.schemas)) visit(schema, []);
  });

  test(`${area}: every operation has an example of its body and of its first answer, which fits the schema`, () => {
    const { paths } = openApiDocument(described, "1.2.3") as { paths: Record<string, Record<string, Printed>> };
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { requestBody, responses }] of Object.entries(methods)) {
        const [first] = Object.values(responses);
        for (const content of [requestBody?.content, first?.content]) {
          const [facts] = Object.values(content ?? {});
          if (facts === undefined) continue;
          const fault = Object.hasOwn(facts, "example")
            ? faultOf(facts.example, facts.schema ?? {}, resolverOf(described), "the example")
            : "the example is missing";
          assert.equal(fault, undefined, `${method} ${path}`);
        }
      }
  });
}

test("paths that differ only in names are one path of the document, which has the names of both", () => {
  const { paths } = JSON.parse(areaDocument("messaging", "1.2.3"));
  const shapes = Object.keys(paths).map((path) => path.replace(/\{\w+\}/g, "{}"));
  assert.equal(new Set(shapes).size, shapes.length);
  const { get, post } = paths["/v2/schedules/{scheduleIdOrDestination}"];
  assert.deepEqual([get.operationId, post.operationId], ["getSchedule", "putSchedule"]);
  assert.deepEqual(post.parameters[0], {
    name: "scheduleIdOrDestination",
    in: "path",
    required: true,
    schema: { type: "string" },
    "x-name": "destination",
    example: "https://app.example/api/job",
  });
});

test("the document is OpenAPI 3.1, has this version, and its server is relative", () => {
  const document = JSON.parse(areaDocument("vector", "1.2.3"));
  assert.equal(document.openapi, "3.1.0");
  assert.deepEqual([document.info.title, document.info.version], ["larder: the vector index", "1.2.3"]);
  assert.deepEqual(document.servers, [{ url: "." }]);
  assert.deepEqual(document.paths["/info"].get, {
    operationId: "getInfo",
    summary: "Returns the definition of the index and the size of its namespaces",
    tags: ["Namespaces and the index"],
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
