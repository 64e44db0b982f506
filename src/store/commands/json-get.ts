/** JSON.GET, JSON.MGET and JSON.RESP: documents and parts of them, as text and as replies. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import { pathMissing, syntaxError } from "../errors.ts";
import type { JsonNode } from "../json/node.ts";
import { doubleOf, isInteger, isNumber } from "../json/number.ts";
import type { JsonPath } from "../json/path.ts";
import { parsePath } from "../json/path-parser.ts";
import { compactLayout, JsonPrinter, type Layout } from "../json/print.ts";
import { StepBudget } from "../json/step-budget.ts";
import { type Match, matchesOf } from "../json/walk.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { double, integer, nil, type Reply, simple } from "../reply/reply.ts";
import { JsonValue } from "../values/json.ts";
import { answerEach, findDocument, lastPathAt, matchesIn } from "./json-target.ts";

export function get(call: Call): Reply {
  const { layout, paths } = readOptions(call);
  const document = findDocument(call, call.arg(1));
  if (document === undefined) return nil;
  const printer = new JsonPrinter(layout);
  const [first] = paths;
  if (first === undefined) {
    printer.node(document.root);
    return printer.text;
  }
  const budget = new StepBudget();
  const isLegacy = paths.every((path) => path.isLegacy);
  const prints = paths.map((path): readonly [Bytes, (level: number) => void] => {
    const matches = matchesOf(document.root, path.segments, budget);
    if (!isLegacy) return [path.text, (level) => printer.elements(nodesOf(matches), level)];
    const { node } = matches[0] ?? missing(path);
    return [path.text, (level) => printer.node(node, level)];
  });
  if (paths.length === 1) prints[0]?.[1](0);
  else printer.members(prints.map(([name, print]) => [name, () => print(1)]));
  return printer.text;
}

/** The last word is the path. A key that is not a document, and a legacy path without a match, are nil. */
export function mget({ keyspace, arg, argCount }: Call): Reply {
  const path = parsePath(arg(argCount - 1));
  const steps = new StepBudget();
  const budget = new ReplyBudget();
  const texts: (Bytes | null)[] = [];
  for (let i = 1; i < argCount - 1; i += 1) {
    const value = keyspace.find(arg(i));
    const text = value instanceof JsonValue ? textOf(value, path, steps) : null;
    budget.take(text?.length ?? 0);
    texts.push(text);
  }
  return texts;
}

export function resp(call: Call): Reply {
  const path = lastPathAt(call, 2);
  const document = findDocument(call, call.arg(1));
  if (document === undefined) return nil;
  const budget = new ReplyBudget();
  const missing = pathMissing(path.text);
  return answerEach({
    path,
    matches: matchesIn(document, path),
    answer: (node) => replyOf(node, budget),
    wrong: () => missing,
    missing,
  });
}

function readOptions({ arg, word, argCount }: Call): { readonly layout: Layout; readonly paths: readonly JsonPath[] } {
  let layout = compactLayout;
  const texts = new Set<Bytes>();
  for (let i = 2; i < argCount; i += 1) {
    const option = word(i);
    if (option === "NOESCAPE") continue; // the default: only required escapes are printed
    if (option !== "INDENT" && option !== "NEWLINE" && option !== "SPACE") {
      texts.add(arg(i));
      continue;
    }
    i += 1;
    if (i === argCount) throw syntaxError;
    layout = { ...layout, [option.toLowerCase()]: arg(i) };
  }
  return { layout, paths: Array.from(texts, parsePath) };
}

function missing(path: JsonPath): never {
  throw pathMissing(path.text);
}

function nodesOf(matches: readonly Match[]): readonly JsonNode[] {
  return matches.map(({ node }) => node);
}

function textOf(document: JsonValue, path: JsonPath, budget: StepBudget): Bytes | null {
  const matches = matchesOf(document.root, path.segments, budget);
  const printer = new JsonPrinter();
  const [first] = matches;
  if (!path.isLegacy) printer.elements(nodesOf(matches));
  else if (first === undefined) return null;
  else printer.node(first.node);
  return printer.text;
}

/** An array begins with `[` and an object with `{`, to tell them apart. */
function replyOf(node: JsonNode, budget: ReplyBudget): Reply {
  budget.take(typeof node === "string" ? node.length : 0);
  if (node === null || typeof node === "string") return node;
  if (typeof node === "boolean") return simple(`${node}`);
  if (isNumber(node)) return isInteger(node) ? integer(node) : double(doubleOf(node));
  if (Array.isArray(node)) return ["[", ...node.map((element) => replyOf(element, budget))];
  const replies: Reply[] = ["{"];
  node.visit((name, member) => {
    budget.take(name.length);
    replies.push(name, replyOf(member, budget));
  });
  return replies;
}
