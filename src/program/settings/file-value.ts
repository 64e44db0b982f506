/** The value that a configuration file has for the text of a setting, by the schema of its values. */
import type { Schema } from "../../edge/openapi/schema.ts";

export type FileValue = string | number | boolean | readonly string[];

/** The text is one that the setting accepts. Undefined: no value of the schema has it. */
export function fileValue(schema: Schema, text: string): FileValue | undefined {
  const { anyOf, enum: words, type } = schema;
  if (anyOf !== undefined) {
    return anyOf.reduce<FileValue | undefined>((found, each) => found ?? fileValue(each, text), undefined);
  }
  if (words !== undefined) {
    const isSwitch = words.includes(true) && words.includes(false);
    return isSwitch && (text === "on" || text === "off") ? text === "on" : words.find((word) => word === text);
  }
  const types = [type ?? []].flat();
  if (types.includes("array")) return text === "" ? [] : text.split(",");
  if (types.includes("integer") && /^\d{1,15}$/.test(text)) return Number(text);
  return types.includes("string") ? text : undefined;
}
