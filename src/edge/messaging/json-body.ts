/** JSON bodies of requests, read field by field. null counts as absent, as some clients send it for missing fields. */

import { JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { badRequest, type MessagingFailure } from "../../messaging/mod.ts";
import { bodyMalformed, bodyTooLargeToParse } from "../errors.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** The body as JSON. Throws a RequestFailure that names the `expected` body, or that the body is too large to parse. */
export function parseJsonBody(body: Buffer, expected: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    if (error instanceof SyntaxError) throw bodyMalformed(expected);
    if (error instanceof JsonTooLarge) throw bodyTooLargeToParse(error);
    throw error;
  }
}

/** The body as an object. */
export function readJsonObject(body: Buffer, expected: string): JsonObject {
  const value = parseJsonBody(body, expected);
  if (!isJsonObject(value)) throw bodyMalformed(expected);
  return value;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own field, never an inherited one. */
export function fieldOf(object: JsonObject, name: string): unknown {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return value === null ? undefined : value;
}

export function optionalText(object: JsonObject, name: string, where = name): string | undefined {
  const value = fieldOf(object, name);
  if (value === undefined || typeof value === "string") return value;
  throw wrongType(where, "a string");
}

export function wrongType(where: string, expected: string): MessagingFailure {
  return badRequest(`Invalid value for ${where}: it must be ${expected}`);
}
