/**
 * The OpenAPI 3.1 document of an area, printed from its operations.
 *
 * Extensions: `x-rule` is the rule of docs/interface that an operation implements,
 * `x-token` the weakest token that it accepts, `x-name` what a part of a path is
 * for this operation if the path is that of several.
 */
import { exampleOf, pathExample } from "./examples.ts";
import {
  type Answer,
  type AreaDescription,
  capitalized,
  namesIn,
  type Operation,
  type Parameter,
  tagOf,
} from "./operation.ts";
import { SCHEMAS, type Schema } from "./schema.ts";

const BEARER = "bearer";
const QUERY = "query";
const PARAMETERS = "#/components/parameters/";
/** Of larder, and so of its documents. */
const LICENCE = { name: "Apache License 2.0", identifier: "Apache-2.0" };

/** Compact JSON. */
export function openApiText(area: AreaDescription, version: string): string {
  return JSON.stringify(openApiDocument(area, version));
}

export function openApiDocument(area: AreaDescription, version: string): object {
  const operations = withOnePathEach(area.operations);
  const shared = sharedParameters(operations);
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    (paths[operation.path] as Record<string, object>)[operation.method] = operationObject(operation, area, shared);
  }
  return {
    openapi: "3.1.0",
    info: { title: area.title, version, description: area.description, license: LICENCE },
    // Relative to the URL of the document, so that it is valid below a prefix and behind a proxy.
    servers: [{ url: "." }],
    security: [{ [BEARER]: [] }],
    tags: area.tags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas: area.schemas,
      parameters: Object.fromEntries(Array.from(shared, ([parameter, name]) => [name, parameterObject(parameter)])),
      securitySchemes: securitySchemes(area),
    },
  };
}

/**
 * Paths that differ only in the names of their parts are one path in OpenAPI. Its parts have the names of all:
 * `/v2/schedules/{scheduleIdOrDestination}`.
 */
function withOnePathEach(operations: readonly Operation[]): readonly Operation[] {
  const groups = Map.groupBy(new Set(operations.map(({ path }) => path)), (path) => path.replace(/\{\w+\}/g, "{}"));
  const joined = new Map<string, readonly string[]>();
  for (const paths of groups.values()) {
    const names = paths.map(namesIn);
    const all = names[0]?.map((_, index) => joinedName(new Set(names.map((each) => each[index] ?? "")))) ?? [];
    for (const path of paths) joined.set(path, all);
  }
  return operations.map((operation) => renamed(operation, joined.get(operation.path) ?? []));
}

/** `scheduleIdOrDestination` */
function joinedName(names: ReadonlySet<string>): string {
  return [...names].map((name, index) => (index === 0 ? name : `Or${capitalized(name)}`)).join("");
}

/** The operation with other names of the parts of its path, in order. */
function renamed(operation: Operation, newNames: readonly string[]): Operation {
  const names = namesIn(operation.path);
  const newNameOf = new Map(names.map((name, index) => [name, newNames[index] ?? name]));
  if (names.every((name) => newNameOf.get(name) === name)) return operation;
  return {
    ...operation,
    path: operation.path.replace(/\{(\w+)\}/g, (_, name: string) => `{${newNameOf.get(name)}}`),
    parameters: operation.parameters.map((parameter) => {
      const name = newNameOf.get(parameter.name) ?? parameter.name;
      return parameter.in !== "path" || name === parameter.name
        ? parameter
        : { ...parameter, name, ownName: parameter.name };
    }),
  };
}

/** The parameters of several operations, each with a unique name. */
function sharedParameters(operations: readonly Operation[]): ReadonlyMap<Parameter, string> {
  const seen = new Set<Parameter>();
  const shared = new Map<Parameter, string>();
  const countByName = new Map<string, number>();
  for (const parameter of operations.flatMap(({ parameters }) => parameters)) {
    if (shared.has(parameter)) continue;
    if (!seen.has(parameter)) {
      seen.add(parameter);
      continue;
    }
    const count = (countByName.get(parameter.name) ?? 0) + 1;
    countByName.set(parameter.name, count);
    shared.set(parameter, count === 1 ? parameter.name : `${parameter.name}-${count}`);
  }
  return shared;
}

function securitySchemes({ tokenParameter }: AreaDescription): object {
  return {
    [BEARER]: { type: "http", scheme: "bearer", description: "Authorization: Bearer <token>" },
    ...(tokenParameter !== undefined && { [QUERY]: { type: "apiKey", in: "query", name: tokenParameter } }),
  };
}

function operationObject(operation: Operation, area: AreaDescription, shared: ReadonlyMap<Parameter, string>): object {
  const { id, rule, summary, description, parameters, body, answers, token, example = {} } = operation;
  const tag = tagOf(area, operation.path);
  const isQueryTokenTaken = area.tokenParameter !== undefined && operation.isQueryTokenTaken === true;
  return {
    operationId: id,
    summary,
    ...(tag !== undefined && { tags: [tag.name] }),
    ...(description !== undefined && { description }),
    "x-rule": rule,
    "x-token": token,
    ...(token === "open" && { security: [] }),
    ...(isQueryTokenTaken && { security: [{ [BEARER]: [] }, { [QUERY]: [] }] }),
    ...(parameters.length > 0 && { parameters: parameters.map((parameter) => parameterOf(parameter, shared)) }),
    ...(body !== undefined && {
      requestBody: {
        required: body.isRequired,
        ...(body.description !== undefined && { description: body.description }),
        content: {
          [body.contentType]: {
            schema: body.schema,
            example: example.request ?? exampleOf(body.schema, resolverOf(area)),
          },
          ...Object.fromEntries((body.otherTypes ?? []).map((type) => [type, {}])),
        },
      },
    }),
    responses: Object.fromEntries(
      answers.map((each, index) => [
        each.status,
        answerObject(each, index === 0 ? (schema) => example.answer ?? exampleOf(schema, resolverOf(area)) : undefined),
      ]),
    ),
  };
}

function parameterOf(parameter: Parameter, shared: ReadonlyMap<Parameter, string>): object {
  const name = shared.get(parameter);
  return name === undefined ? parameterObject(parameter) : { $ref: `${PARAMETERS}${name}` };
}

function parameterObject({ name, in: place, schema, description, isRequired, example, ownName }: Parameter): object {
  return {
    name,
    in: place,
    required: place === "path" || isRequired === true,
    ...(description !== undefined && { description }),
    schema,
    ...(ownName !== undefined && { "x-name": ownName }),
    ...(place === "path" && { example: example ?? pathExample(ownName ?? name) }),
    // `a=1&a=2`; commas work too.
    ...(place === "query" && schema.type === "array" && { style: "form", explode: true }),
  };
}

/** The example is that of the first content type. */
function answerObject({ meaning, content }: Answer, exampleOfSchema?: (schema: Schema) => unknown): object {
  const kinds = Object.entries(content).map(([type, schema], index) => [
    type,
    { schema, ...(index === 0 && exampleOfSchema !== undefined && { example: exampleOfSchema(schema) }) },
  ]);
  return { description: meaning, ...(kinds.length > 0 && { content: Object.fromEntries(kinds) }) };
}

/** The schema that a reference names, or the schema itself. */
export function resolverOf({ schemas }: Pick<AreaDescription, "schemas">): (schema: Schema) => Schema {
  return (schema) => (schema.$ref === undefined ? schema : (schemas[schema.$ref.slice(SCHEMAS.length)] ?? {}));
}
