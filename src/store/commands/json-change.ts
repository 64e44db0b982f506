/** JSON commands that change or query nodes of one kind: numbers, strings, booleans, objects; DEL and CLEAR. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import {
  expectedNumber,
  expectedString,
  numberOutOfRange,
  pathMissing,
  pathValueWrong,
  stringTooLong,
  wrongArity,
} from "../errors.ts";
import { isContainer, JSON_STRING_BYTES_MAX, type JsonNode, typeNameOf } from "../json/node.ts";
import {
  compareNumbers,
  doubleOf,
  isInteger,
  isNumber,
  type JsonNumber,
  productOf,
  sumOf,
  textOfNumber,
} from "../json/number.ts";
import { JsonObject } from "../json/object.ts";
import { parseJson } from "../json/parse.ts";
import type { JsonPath } from "../json/path.ts";
import { parsePath } from "../json/path-parser.ts";
import { JsonPrinter } from "../json/print.ts";
import { depthOf, locationOf, type Match } from "../json/walk.ts";
import { removeKey } from "../mutations/generic.ts";
import { appendText, removeElements, removeMembers, setNode } from "../mutations/json.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { arrayInResp3, double, integer, nil, type Reply, zero } from "../reply/reply.ts";
import { INTEGER_MAX } from "../structures/numbers/number-text.ts";
import { emptied } from "../values/json.ts";
import {
  answerEach,
  changeEach,
  checkCopies,
  findDocument,
  getDocument,
  lastPathAt,
  matchesIn,
  pathAt,
  targetsIn,
} from "./json-target.ts";

export function numincrby(call: Call): Reply {
  return calculate(call, { operation: sumOf, event: events["json.numincrby"] });
}

export function nummultby(call: Call): Reply {
  return calculate(call, { operation: productOf, event: events["json.nummultby"] });
}

interface Calculation {
  readonly operation: (one: JsonNumber, other: JsonNumber) => JsonNumber | undefined;
  readonly event: KeyspaceEvent;
}

function calculate(call: Call, { operation, event }: Calculation): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const path = parsePath(arg(2));
  const { node: operand } = parseJson(arg(3));
  if (!isNumber(operand)) throw expectedNumber;
  const document = getDocument(call, key);
  const matches = targetsIn(document, { key, path });
  const results = matches.map(({ node }): JsonNumber | null => {
    if (!isNumber(node)) return null;
    const result = operation(node, operand);
    if (result === undefined) throw numberOutOfRange;
    return result;
  });
  for (const [index, match] of matches.entries()) {
    const result = results[index] ?? null;
    const location = locationOf(match);
    if (result !== null && isNumber(document.find(location))) setNode(keyspace, { key, location }, result);
  }
  if (results.some((result) => result !== null)) keyspace.notify(event, key);
  return arrayInResp3(results.map(numberReply), textOfResults(results, path));
}

/** The results in RESP2: JSON text, or the last number for the legacy syntax. */
function textOfResults(results: readonly (JsonNumber | null)[], path: JsonPath): Bytes {
  if (!path.isLegacy) {
    const printer = new JsonPrinter();
    printer.elements(results);
    return printer.text;
  }
  const last = results.findLast((result) => result !== null);
  if (last === undefined || last === null) throw pathMissing(path.text, " or does not contains a number");
  return textOfNumber(last);
}

/** RESP has no integers beyond 64 bits with a sign, JSON has them. */
function numberReply(number: JsonNumber | null): Reply {
  if (number === null) return nil;
  const isReplied = isInteger(number) && number <= INTEGER_MAX;
  return isReplied ? integer(number) : double(doubleOf(number));
}

export function strappend(call: Call): Reply {
  const { keyspace, arg, argCount, command } = call;
  if (argCount > 4) throw wrongArity(command.fullName);
  const key = arg(1);
  const path = argCount > 3 ? parsePath(arg(2)) : pathAt(call, argCount);
  const { node: suffix } = parseJson(arg(argCount - 1));
  if (typeof suffix !== "string") throw expectedString;
  const document = getDocument(call, key);
  const matches = targetsIn(document, { key, path });
  checkCopies(matches.length, suffix.length);
  for (const { node } of matches)
    if (typeof node === "string" && node.length + suffix.length > JSON_STRING_BYTES_MAX) throw stringTooLong;
  return changeEach(call, {
    key,
    path,
    matches,
    missing: pathMissing(path.text, " or not a string"),
    event: events["json.strappend"],
    change: (spot) =>
      typeof document.find(spot.location) === "string" ? appendText(keyspace, spot, suffix) : undefined,
  });
}

export function strlen(call: Call): Reply {
  const path = lastPathAt(call, 2);
  const document = path.isLegacy ? findDocument(call, call.arg(1)) : getDocument(call, call.arg(1));
  if (document === undefined) return nil;
  return answerEach({
    path,
    matches: matchesIn(document, path),
    answer: (node) => (typeof node === "string" ? node.length : undefined),
    wrong: (node) => pathValueWrong("string", typeNameOf(node)),
    missing: pathMissing(path.text),
  });
}

export function toggle(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const path = lastPathAt(call, 2);
  const document = getDocument(call, key);
  return changeEach(call, {
    key,
    path,
    matches: targetsIn(document, { key, path }),
    missing: pathMissing(path.text, " or not a bool"),
    event: events["json.toggle"],
    change: (spot) => {
      const node = document.find(spot.location);
      if (typeof node !== "boolean") return undefined;
      setNode(keyspace, spot, !node);
      return path.isLegacy ? `${!node}` : Number(!node);
    },
  });
}

export function type(call: Call): Reply {
  const path = lastPathAt(call, 2);
  const document = findDocument(call, call.arg(1));
  const missing = pathMissing(path.text);
  const names =
    document === undefined
      ? nil
      : answerEach({
          path,
          matches: matchesIn(document, path),
          answer: typeNameOf,
          wrong: () => missing,
          missing: null,
        });
  return arrayInResp3([names], names);
}

export function objkeys(call: Call): Reply {
  const path = lastPathAt(call, 2);
  const document = path.isLegacy ? findDocument(call, call.arg(1)) : getDocument(call, call.arg(1));
  if (document === undefined) return nil;
  const budget = new ReplyBudget();
  return answerEach({
    path,
    matches: matchesIn(document, path),
    answer: (node) => (node instanceof JsonObject ? namesOf(node, budget) : undefined),
    wrong: () => pathMissing(path.text, " or not an object"),
    missing: null,
  });
}

function namesOf(object: JsonObject, budget: ReplyBudget): readonly Bytes[] {
  budget.expect(object.size);
  const names = object.names();
  for (const name of names) budget.take(name.length);
  return names;
}

export function objlen(call: Call): Reply {
  const path = lastPathAt(call, 2);
  const document = findDocument(call, call.arg(1));
  if (document === undefined) {
    if (path.isLegacy) return nil;
    throw pathMissing(path.text);
  }
  return answerEach({
    path,
    matches: matchesIn(document, path),
    answer: (node) => (node instanceof JsonObject ? node.size : undefined),
    wrong: (node) => pathValueWrong("object", typeNameOf(node)),
    missing: null,
  });
}

/** Empties containers and sets numbers to 0; returns how many have changed. */
export function clear(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const path = lastPathAt(call, 2);
  const document = getDocument(call, key);
  let count = 0;
  for (const match of targetsIn(document, { key, path })) {
    const location = locationOf(match);
    const node = document.find(location);
    const cleared = node === undefined ? undefined : clearedFrom(node);
    if (cleared === undefined) continue;
    setNode(keyspace, { key, location }, cleared);
    count += 1;
  }
  if (count > 0) keyspace.notify(events["json.clear"], key);
  return count;
}

/** Undefined if the node stays the same. */
function clearedFrom(node: JsonNode): JsonNode | undefined {
  if (isNumber(node)) return compareNumbers(node, 0) === 0 ? undefined : 0;
  if (!isContainer(node)) return undefined;
  const size = Array.isArray(node) ? node.length : node.size;
  return size === 0 ? undefined : emptied(node);
}

/** Removes the nodes that match a path; the key goes with the root. Nodes inside a removed container do not count. */
export function del(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const path = lastPathAt(call, 2);
  const document = findDocument(call, key);
  if (document === undefined) return zero;
  const matches = targetsIn(document, { key, path });
  if (matches.some(({ parent }) => parent === undefined)) {
    removeKey(keyspace, key);
    keyspace.notifyTaken(events["json.del"], key);
    return 1;
  }
  let count = 0;
  for (const { container, steps } of removalsOf(matches)) {
    const spot = { key, location: locationOf(container) };
    const indexes: number[] = [];
    const names: Bytes[] = [];
    for (const step of steps) {
      if (typeof step === "number") indexes.push(step);
      else names.push(step);
    }
    if (names.length > 0) removeMembers(keyspace, spot, names);
    if (indexes.length > 0)
      removeElements(
        keyspace,
        spot,
        indexes.sort((one, other) => one - other),
      );
    count += steps.size;
  }
  if (count > 0) keyspace.notify(events["json.del"], key);
  return count;
}

interface Removal {
  readonly container: Match;
  readonly steps: ReadonlySet<Bytes | number>;
}

/** The steps to remove from each container, deepest first, so that indexes stay valid; none below a removed node. */
function removalsOf(matches: readonly Match[]): readonly Removal[] {
  const removals = new Map<JsonNode, { container: Match; steps: Set<Bytes | number> }>();
  for (const { parent, step } of matches) {
    if (parent === undefined || step === undefined) continue;
    const removal = removals.get(parent.node);
    if (removal === undefined) removals.set(parent.node, { container: parent, steps: new Set([step]) });
    else removal.steps.add(step);
  }
  const known = new Map<Match, boolean>();
  const goes = (match: Match): boolean => {
    const { parent, step } = match;
    if (parent === undefined || step === undefined) return false;
    const answer = known.get(match) ?? (removals.get(parent.node)?.steps.has(step) === true || goes(parent));
    known.set(match, answer);
    return answer;
  };
  return Array.from(removals.values(), (removal) => ({ ...removal, depth: depthOf(removal.container) }))
    .filter(({ container }) => !goes(container))
    .sort((one, other) => other.depth - one.depth);
}
