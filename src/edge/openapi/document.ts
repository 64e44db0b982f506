/**
 * The OpenAPI 3.1 document of an area, printed from its operations.
 *
 * Extensions: `x-rule` is the rule of docs/interface that an operation implements,
 * `x-token` the weakest token that it accepts.
 */
import type { Answer, AreaDescription, Operation, Parameter } from "./operation.ts";

const BEARER = "bearer";
const QUERY = "query";
const PARAMETERS = "#/components/parameters/";

/** Compact JSON. */
export function openApiText(area: AreaDescription, version: string): string {
  return JSON.stringify(openApiDocument(area, version));
}

export function openApiDocument(area: AreaDescription, version: string): object {
  const shared = sharedParameters(area.operations);
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of area.operations) {
    paths[operation.path] ??= {};
    (paths[operation.path] as Record<string, object>)[operation.method] = operationObject(operation, area, shared);
  }
  return {
    openapi: "3.1.0",
    info: { title: area.title, version, description: area.description },
    // Relative to the URL of the document, so that it is valid below a prefix and behind a proxy.
    servers: [{ url: "." }],
    security: [{ [BEARER]: [] }],
    paths,
    components: {
      schemas: area.schemas,
      parameters: Object.fromEntries(Array.from(shared, ([parameter, name]) => [name, parameterObject(parameter)])),
      securitySchemes: securitySchemes(area),
    },
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
  const { id, rule, summary, description, parameters, body, answers, token } = operation;
  const isQueryTokenTaken = area.tokenParameter !== undefined && operation.isQueryTokenTaken === true;
  return {
    operationId: id,
    summary,
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
          [body.contentType]: { schema: body.schema },
          ...Object.fromEntries((body.otherTypes ?? []).map((type) => [type, {}])),
        },
      },
    }),
    responses: Object.fromEntries(answers.map((each) => [each.status, answerObject(each)])),
  };
}

function parameterOf(parameter: Parameter, shared: ReadonlyMap<Parameter, string>): object {
  const name = shared.get(parameter);
  return name === undefined ? parameterObject(parameter) : { $ref: `${PARAMETERS}${name}` };
}

function parameterObject({ name, in: place, schema, description, isRequired }: Parameter): object {
  return {
    name,
    in: place,
    required: place === "path" || isRequired === true,
    ...(description !== undefined && { description }),
    schema,
    // `a=1&a=2`; commas work too.
    ...(place === "query" && schema.type === "array" && { style: "form", explode: true }),
  };
}

function answerObject({ meaning, content }: Answer): object {
  const kinds = Object.entries(content);
  return {
    description: meaning,
    ...(kinds.length > 0 && { content: Object.fromEntries(kinds.map(([type, schema]) => [type, { schema }])) }),
  };
}
