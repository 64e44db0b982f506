/** The words of SEARCH.CREATE. */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import {
  type DataType,
  type FieldType,
  type IndexDefinition,
  type Language,
  languages,
  type SearchField,
} from "../search/definition.ts";
import { createRefused, nameTooLong } from "../search/index-errors.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

export const NAME_BYTES_MAX = 512;
const FIELDS_MAX = 1_000;
const PREFIXES_MAX = 64;

const dataTypes: readonly DataType[] = ["HASH", "JSON", "STRING"];

type Option = "NOTOKENIZE" | "NOSTEM" | "FAST" | "FROM";

/** The options of each type of field, beside FROM. */
const optionsOfType: Readonly<Record<FieldType, readonly Option[]>> = {
  TEXT: ["NOTOKENIZE", "NOSTEM"],
  KEYWORD: [],
  U64: ["FAST"],
  I64: ["FAST"],
  F64: ["FAST"],
  BOOL: ["FAST"],
  DATE: ["FAST"],
  FACET: [],
};

const optionNames: readonly string[] = ["NOTOKENIZE", "NOSTEM", "FAST", "FROM"];

export interface Creation {
  readonly definition: IndexDefinition;
  readonly skipsScan: boolean;
  readonly existsOk: boolean;
}

/** Reads the words after the name. Throws a `CommandError` that begins with "ERR syntax error" and says what is wrong. */
export function readCreation({ arg, word, argCount }: Call): Creation {
  let dataType: DataType | undefined;
  let prefixes: readonly Bytes[] | undefined;
  let language: Language = "english";
  let skipsScan = false;
  let existsOk = false;
  let at = 2;
  while (at < argCount && word(at) !== "SCHEMA") {
    const option = word(at);
    at += 1;
    if (option === "ON") {
      dataType = dataTypes.find((type) => at < argCount && type === word(at));
      if (dataType === undefined) throw createRefused("ON must be followed by JSON, HASH or STRING");
      at += 1;
    } else if (option === "PREFIX") {
      const count = at < argCount ? parseInteger(arg(at)) : undefined;
      if (typeof count !== "number" || count < 1 || count > PREFIXES_MAX)
        throw createRefused(`PREFIX must be followed by a number from 1 to ${PREFIXES_MAX}, and as many prefixes`);
      if (at + count >= argCount) throw createRefused("PREFIX has fewer prefixes than its number says");
      prefixes = Array.from({ length: count }, (_, index) => arg(at + 1 + index));
      at += 1 + count;
    } else if (option === "LANGUAGE") {
      const found = languages.find((name) => at < argCount && upperCase(name) === word(at));
      if (found === undefined) throw createRefused(`LANGUAGE must be one of ${languages.join(", ")}`);
      language = found;
      at += 1;
    } else if (option === "SKIPINITIALSCAN") skipsScan = true;
    else if (option === "EXISTSOK") existsOk = true;
    else throw createRefused("the options are ON, PREFIX, LANGUAGE, SKIPINITIALSCAN and EXISTSOK, and then SCHEMA");
  }
  if (dataType === undefined) throw createRefused("ON is missing");
  if (prefixes === undefined) throw createRefused("PREFIX is missing");
  checkPrefixes(prefixes);
  const fields = readFields({ arg, word, argCount }, at + 1);
  if (fields.length === 0) throw createRefused("SCHEMA must have a field");
  return { definition: { dataType, prefixes, language, fields }, skipsScan, existsOk };
}

function checkPrefixes(prefixes: readonly Bytes[]): void {
  let before: Bytes | undefined;
  for (const prefix of [...prefixes].sort()) {
    checkLength("prefix", prefix);
    if (before !== undefined && prefix.startsWith(before))
      throw createRefused("a prefix is there twice, or begins another one");
    before = prefix;
  }
}

function readFields({ arg, word, argCount }: Pick<Call, "arg" | "word" | "argCount">, start: number): SearchField[] {
  const fields: SearchField[] = [];
  const names = new Set<Bytes>();
  for (let at = start; at < argCount; ) {
    const name = arg(at);
    const place = `field ${fields.length + 1} of the schema`;
    const typeName = at + 1 < argCount ? word(at + 1) : "";
    if (!isFieldType(typeName)) throw createRefused(`${place} needs one of the types ${typeNames.join(", ")}`);
    at += 2;
    let path: Bytes | undefined;
    const options = new Set<string>();
    for (; at < argCount && optionNames.includes(word(at)); at += 1) {
      const option = word(at);
      if (option === "FROM") {
        at += 1;
        if (at === argCount || path !== undefined) throw createRefused(`${place} needs one path after FROM`);
        path = arg(at);
        checkLength("path", path);
      } else if (optionsOfType[typeName].some((each) => each === option)) options.add(option);
      else throw createRefused(`${place} is of type ${typeName}, which has no option ${option}`);
    }
    checkLength("field", name);
    if (names.has(name)) throw createRefused(`${place} has the name of an earlier one`);
    names.add(name);
    if (fields.length === FIELDS_MAX) throw createRefused(`the schema has more than ${FIELDS_MAX} fields`);
    fields.push({
      name,
      type: typeName,
      isTokenized: !options.has("NOTOKENIZE"),
      isStemmed: !options.has("NOSTEM"),
      isFast: options.has("FAST"),
      path,
    });
  }
  return fields;
}

const typeNames = Object.keys(optionsOfType);

function isFieldType(name: string): name is FieldType {
  return Object.hasOwn(optionsOfType, name);
}

/** Throws if a name is too long. `what`: index, alias, field, path or prefix. */
export function checkLength(what: string, name: Bytes): void {
  if (name.length > NAME_BYTES_MAX) throw nameTooLong(what, NAME_BYTES_MAX);
}

/** Whether two definitions are the same but for the language, in any order of prefixes and fields: EXISTSOK. */
export function areAlike(one: IndexDefinition, other: IndexDefinition): boolean {
  const prefixes = new Set(other.prefixes);
  const fields = new Map(other.fields.map((field) => [field.name, field]));
  return (
    one.dataType === other.dataType &&
    one.prefixes.length === prefixes.size &&
    one.prefixes.every((prefix) => prefixes.has(prefix)) &&
    one.fields.length === fields.size &&
    one.fields.every((field) => isSameField(field, fields.get(field.name)))
  );
}

function isSameField(one: SearchField, other: SearchField | undefined): boolean {
  return (
    one.type === other?.type &&
    one.isTokenized === other.isTokenized &&
    one.isStemmed === other.isStemmed &&
    one.isFast === other.isFast &&
    one.path === other.path
  );
}
