/** An OpenAPI document as the fuzzer reads it: only the served text. */
import type { Schema } from "../../../src/edge/openapi/schema.ts";

export interface ReadParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Schema;
}

export interface ReadAnswer {
  /** By content type; empty: no body is described. */
  readonly content: ReadonlyMap<string, Schema>;
}

export interface ReadOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly token: "open" | "read-only" | "standard";
  /** The query parameter that may hold the token. */
  readonly tokenParameter: string | undefined;
  readonly parameters: readonly ReadParameter[];
  readonly body: { readonly contentType: string; readonly schema: Schema; readonly isRequired: boolean } | undefined;
  readonly answers: ReadonlyMap<number, ReadAnswer>;
}

export interface ReadDocument {
  readonly operations: readonly ReadOperation[];
  resolve(schema: Schema): Schema;
}

type Json = Readonly<Record<string, unknown>>;

export function readDocument(text: string): ReadDocument {
  const document = JSON.parse(text) as Json;
  const at = (reference: string): Json =>
    reference
      .slice(2)
      .split("/")
      .reduce<Json>((place, name) => place[name] as Json, document);
  const dereferenced = (value: Json): Json =>
    typeof value["$ref"] === "string" ? dereferenced(at(value["$ref"])) : value;
  const schemes = (document["components"] as Json)["securitySchemes"] as Record<string, Json>;
  const tokenParameter = schemes["query"]?.["name"] as string | undefined;
  const operations: ReadOperation[] = [];
  for (const [path, methods] of Object.entries(document["paths"] as Record<string, Record<string, Json>>)) {
    for (const [method, operation] of Object.entries(methods))
      operations.push(readOperation({ path, method, operation, tokenParameter }, dereferenced));
  }
  return { operations, resolve: (schema) => dereferenced(schema as Json) as Schema };
}

function readOperation(
  {
    path,
    method,
    operation,
    tokenParameter,
  }: {
    readonly path: string;
    readonly method: string;
    readonly operation: Json;
    readonly tokenParameter: string | undefined;
  },
  dereferenced: (value: Json) => Json,
): ReadOperation {
  const responses = Object.entries(operation["responses"] as Record<string, Json>);
  const body = operation["requestBody"] as Json | undefined;
  const parameters = ((operation["parameters"] ?? []) as readonly Json[]).map(dereferenced);
  // Values are drawn by what a part of the path is for this operation.
  const ownNames = parameters.flatMap((each) => ("x-name" in each ? [[each["name"], each["x-name"]] as const] : []));
  const [contentType = "", facts] = Object.entries((body?.["content"] ?? {}) as Record<string, Json>)[0] ?? [];
  const security = (operation["security"] ?? []) as readonly Json[];
  return {
    id: String(operation["operationId"]),
    method: method.toUpperCase(),
    path: ownNames.reduce((at, [name, own]) => at.replace(`{${name}}`, `{${own}}`), path),
    token: operation["x-token"] as ReadOperation["token"],
    tokenParameter: security.some((way) => "query" in way) ? tokenParameter : undefined,
    parameters: parameters.map(
      (each) => ({ ...each, name: each["x-name"] ?? each["name"] }) as unknown as ReadParameter,
    ),
    body:
      body === undefined || facts === undefined
        ? undefined
        : { contentType, schema: (facts["schema"] ?? {}) as Schema, isRequired: body["required"] === true },
    answers: new Map(responses.map(([status, response]) => [Number(status), readAnswer(response)])),
  };
}

function readAnswer(response: Json): ReadAnswer {
  const content = Object.entries((response["content"] ?? {}) as Record<string, Json>);
  return { content: new Map(content.map(([type, facts]) => [type, (facts["schema"] ?? {}) as Schema])) };
}
