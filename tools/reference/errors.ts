/**
 * The error texts, from the files that define them. Parts that depend on the
 * request are in angle brackets: the functions that make texts are called with
 * the names of their parameters.
 */
import * as edge from "../../src/edge/errors.ts";
import { statusOf } from "../../src/edge/respond.ts";
import * as vectorBodies from "../../src/edge/vector/failures.ts";
import * as store from "../../src/store/errors.ts";
import * as aggregations from "../../src/store/search/aggregation-errors.ts";
import * as indexes from "../../src/store/search/index-errors.ts";
import * as filters from "../../src/store/search/search-errors.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const errorParts: Parts = {
  tables: {
    requests: () => [...header("status", "text"), ...edgeLines({ ...edge, ...vectorBodies })],
    commands: () => [...header("text"), ...storeLines({ ...store, ...indexes, ...filters, ...aggregations })],
  },
};

type Exports = Readonly<Record<string, unknown>>;

/** Arguments of functions that make something of theirs. */
const samples: Readonly<Record<string, readonly unknown[]>> = {
  wordOfWrongType: [edge.malformedCommand, "<index>"],
  adminBodyMalformed: [false],
  adminParameterUnknown: ["<name>", ["<parameters>"]],
  adminMethodNotAllowed: ["<method>", ["<methods>"]],
  messagingMethodNotAllowed: ["<method>", ["<methods>"]],
  noSuchArea: [["<prefixes>"]],
  tenantDescriptionRefused: ["<kind>", ["<problems>"]],
  ruleRefused: ["<rule>", "syntax"],
  scoreWordUnknown: ["<option>", ["<choices>"]],
  listAtFault: ["<field>", { fault: "no number", index: "<index>" }, "<wanted>"],
};

function edgeLines(exports: Exports): readonly string[] {
  const isFailure = (value: unknown): value is edge.RequestFailure => value instanceof edge.RequestFailure;
  const found = textsOf(exports, isFailure).map((failure) => ({
    status: isFailure(failure) ? statusOf(failure.kind) : 0,
    text: failure.text,
  }));
  const sorted = found.toSorted((a, b) => a.status - b.status || compare(a.text, b.text));
  return [...new Set(sorted.map(({ status, text }) => row(String(status), code(text))))];
}

function storeLines(exports: Exports): readonly string[] {
  const isError = (value: unknown): value is store.CommandError => value instanceof store.CommandError;
  const texts = new Set(textsOf(exports, isError).map(({ text }) => text));
  return [...texts].toSorted(compare).map((text) => row(code(text)));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function textsOf(
  exports: Exports,
  isText: (value: unknown) => value is { readonly text: string },
): readonly { readonly text: string }[] {
  return Object.entries(exports).flatMap(([name, value]) => {
    if (isText(value)) return [value];
    if (typeof value !== "function" || isClass(value)) return [];
    const made: unknown = Reflect.apply(value, undefined, samples[name] ?? placeholdersOf(name, value));
    // What passes a text on says nothing of its own.
    if (!isText(made) || made.text === "<text>") return [];
    if (/undefined|NaN|\[object/.test(made.text)) throw new Error(`${name}: say in samples what it is called with`);
    return [made];
  });
}

function isClass(value: object): boolean {
  return String(value).startsWith("class");
}

/** `<name>` for each parameter; what is taken apart is an object of such. */
function placeholdersOf(name: string, maker: object): readonly unknown[] {
  const [, list = ""] = /^(?:function \w*\s*)?\(([^)]*)\)/.exec(String(maker)) ?? [];
  const parts = list.match(/\{[^}]*\}|[^,{}\s][^,{}]*/g) ?? [];
  return parts.map((part) => {
    if (!part.startsWith("{")) return placeholder(part);
    const names = part.match(/\w+/g) ?? [];
    if (names.length === 0) throw new Error(`${name}: say in samples what it is called with`);
    return Object.fromEntries(names.map((each) => [each, placeholder(each)]));
  });
}

function placeholder(parameter: string): string {
  return `<${/\w+/.exec(parameter)?.[0] ?? ""}>`;
}
