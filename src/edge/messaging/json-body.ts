/** JSON bodies of requests, read field by field. What is null counts as absent, because some clients send it so. */

import { JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { badRequest, type MessagingFailure } from "../../messaging/mod.ts";
import { bodyMalformed, bodyTooLargeToParse } from "../errors.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** The body as JSON. Throws a RequestFailure that says what is `wanted`, or that it is too much to parse. */
export function parseJsonBody(body: Buffer, wanted: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    if (error instanceof SyntaxError) throw bodyMalformed(wanted);
    if (error instanceof JsonTooLarge) throw bodyTooLargeToParse(error);
    throw error;
  }
}

/** The body as an object. */
export function readJsonObject(body: Buffer, wanted: string): JsonObject {
  const value = parseJsonBody(body, wanted);
  if (!isJsonObject(value)) throw bodyMalformed(wanted);
  return value;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field by its own name, never one that every object has. */
export function fieldOf(object: JsonObject, name: string): unknown {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return value === null ? undefined : value;
}

export function optionalText(object: JsonObject, name: string, where = name): string | undefined {
  const value = fieldOf(object, name);
  if (value === undefined || typeof value === "string") return value;
  throw wrongType(where, "a string");
}

export function wrongType(where: string, wanted: string): MessagingFailure {
  return badRequest(`Invalid value for ${where}: it must be ${wanted}`);
}
