/**
 * One operation of an OpenAPI document: a path with a method, its parameters and
 * its answers. The files of the areas make operations from their routes;
 * `document.ts` prints them.
 */
import type { Schema } from "./schema.ts";

export type OperationMethod = "get" | "head" | "post" | "put" | "patch" | "delete";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: Schema;
  readonly description?: string;
  readonly isRequired?: boolean;
  /** Of a part of the path; absent: the usual value of its name. */
  readonly example?: unknown;
  /** What a part of the path is, if `name` has the names of several operations. */
  readonly ownName?: string;
}

export interface RequestBody {
  readonly contentType: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly description?: string;
  /** Other content types of the same body, which have no schema. */
  readonly otherTypes?: readonly string[];
}

export interface Answer {
  readonly status: number;
  readonly meaning: string;
  /** By content type; empty if it has no body. */
  readonly content: Readonly<Record<string, Schema>>;
}

export interface Operation {
  readonly id: string;
  /** The rule of docs/interface, such as `C15`; only the letter if it has none. */
  readonly rule: string;
  readonly method: OperationMethod;
  /** `/v2/queues/{queueName}` */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly body?: RequestBody;
  readonly answers: readonly Answer[];
  /** The weakest token that it accepts; `open` if it needs none. */
  readonly token: "open" | "read-only" | "standard";
  /** The token may be in the query instead. */
  readonly isQueryTokenTaken?: boolean;
  /** Its parts that are absent are made from the schemas (`examples.ts`). */
  readonly example?: OperationExample;
}

/** A request and its answer. */
export interface OperationExample {
  /** The body. */
  readonly request?: unknown;
  /** The body of the first answer, in its first content type. */
  readonly answer?: unknown;
}

/** A group of operations. */
export interface Tag {
  readonly name: string;
  readonly description: string;
  /** How the paths of its operations begin. An operation has the first tag that fits. */
  readonly paths: readonly string[];
}

/** The content of the document of an area. */
export interface AreaDescription {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly Tag[];
  readonly operations: readonly Operation[];
  /** The schemas that `named` refers to. */
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

/** Bytes that larder does not parse. */
export function bytesBody(description: string): RequestBody {
  return { contentType: "application/octet-stream", schema: {}, isRequired: false, description };
}

export function answer(status: number, meaning: string, schema: Schema): Answer {
  return { status, meaning, content: { [JSON_TYPE]: schema } };
}

/** `/v2/queues/:queueName` in the syntax of OpenAPI; `rest` is the name of the part in the place of `*`. */
export function openApiPath(template: string, rest = "rest"): string {
  return template.replace(/:(\w+)/g, "{$1}").replace(/\*$/, `{${rest}}`);
}

/** The tag of the operations of a path. */
export function tagOf({ tags }: AreaDescription, path: string): Tag | undefined {
  return tags.find(({ paths }) => paths.some((start) => path.startsWith(start)));
}

/** The names in braces, in order. */
export function namesIn(path: string): readonly string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
}

/** The summary of a row as a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The answers that any request to any area may get before it is handled. */
export const TRANSPORT =
  "Before a request is handled, the answer may be 400 (not HTTP, or the body is too large), 405 (method not known to the area), 408 (not complete in time), 415 (compressed body), 417, 431 (headers too large) or 503 (the area is starting or stopping).";
