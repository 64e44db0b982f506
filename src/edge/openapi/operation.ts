/**
 * One operation of an OpenAPI document: a path with a method, what it takes and
 * every answer that it may have. The tables of the areas say these of their
 * routes; `document.ts` prints them.
 */
import type { Schema } from "./schema.ts";

export type OperationMethod = "get" | "head" | "post" | "put" | "patch" | "delete";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: Schema;
  readonly description?: string;
  readonly isRequired?: boolean;
}

export interface RequestBody {
  readonly contentType: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly description?: string;
  /** Other forms that say the same, of which no more is said. */
  readonly otherTypes?: readonly string[];
}

export interface Answer {
  readonly status: number;
  readonly meaning: string;
  /** By content type. Empty: it has no body. */
  readonly content: Readonly<Record<string, Schema>>;
}

export interface Operation {
  readonly id: string;
  /** The rule of docs/interface, such as `C15`; a letter alone where it has none. */
  readonly rule: string;
  readonly method: OperationMethod;
  /** `/v2/queues/{queueName}` */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly body?: RequestBody;
  readonly answers: readonly Answer[];
  /** The weakest token that may ask for it; `open`: none is needed. */
  readonly token: "open" | "read-only" | "standard";
  /** The token may stand in the query instead. */
  readonly isQueryTokenTaken?: boolean;
}

/** All that a document says of an area. */
export interface AreaDescription {
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Operation[];
  /** What `named` shapes mean. */
  readonly schemas: Readonly<Record<string, Schema>>;
  /** The query parameter that may hold the token, if there is one. */
  readonly tokenParameter?: string;
}

export const JSON_TYPE = "application/json";

export function jsonBody(
  schema: Schema,
  facts: { readonly isOptional?: true; readonly description?: string } = {},
): RequestBody {
  const { isOptional = false, description } = facts;
  return { contentType: JSON_TYPE, schema, isRequired: !isOptional, ...(description !== undefined && { description }) };
}

/** Bytes that nobody looks at. */
export function bytesBody(description: string): RequestBody {
  return { contentType: "application/octet-stream", schema: {}, isRequired: false, description };
}

export function answer(status: number, meaning: string, schema: Schema): Answer {
  return { status, meaning, content: { [JSON_TYPE]: schema } };
}

/** `/v2/queues/:queueName` as OpenAPI writes it; `rest` is what stands in the place of `*`. */
export function openApiPath(template: string, rest = "rest"): string {
  return template.replace(/:(\w+)/g, "{$1}").replace(/\*$/, `{${rest}}`);
}

/** The names in braces, in their order. */
export function namesIn(path: string): readonly string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
}

/** The summary of a row as a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What any request to any area may be answered before it is looked at. */
export const TRANSPORT =
  "Before a request is looked at, it may be answered 400 (no HTTP, or a body that is too large), 405 (a method that the area does not know), 408 (not complete in time), 415 (a compressed body), 417, 431 (headers that are too large) or 503 (the area starts or stops).";
