/** The JSON.ARR commands. Negative indexes count from the end. */
import type { Call } from "../command.ts";
import { documentGrowsTooMuch, elementOutOfBounds, pathMissing, pathValueWrong, wrongArity } from "../errors.ts";
import { areEqual, copyOfNode, ELEMENTS_MAX, type JsonNode, nodeBytesOf, typeNameOf } from "../json/node.ts";
import { parseJson } from "../json/parse.ts";
import { parsePath } from "../json/path-parser.ts";
import { textOfNode } from "../json/print.ts";
import { StepBudget } from "../json/step-budget.ts";
import { depthOf, matchesOf } from "../json/walk.ts";
import { insertElements, removeElements, trimElements } from "../mutations/json.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { nil, type Reply } from "../reply/reply.ts";
import {
  answerEach,
  changeEach,
  checkCopies,
  checkDepth,
  findDocument,
  getDocument,
  lastPathAt,
  matchesIn,
  pathAt,
  targetsIn,
} from "./json-target.ts";

const OR_NO_ARRAY = " or not an array";

export function arrappend(call: Call): Reply {
  return insert(call, { valuesAt: 3, indexFor: (length) => length, event: events["json.arrappend"] });
}

export function arrinsert(call: Call): Reply {
  const offset = call.count(3);
  return insert(call, {
    valuesAt: 4,
    event: events["json.arrinsert"],
    indexFor: (length) => {
      const index = offset < 0 ? length + offset : offset;
      return index < 0 || index > length ? undefined : index;
    },
  });
}

interface Insertion {
  /** The index of the first value among the arguments. */
  readonly valuesAt: number;
  /** The index at which to insert in an array of this length; undefined if it is out of range. */
  readonly indexFor: (length: number) => number | undefined;
  readonly event: KeyspaceEvent;
}

function insert(call: Call, { valuesAt, indexFor, event }: Insertion): Reply {
  const { keyspace, arg, argsFrom } = call;
  const key = arg(1);
  const path = parsePath(arg(2));
  const parsed = argsFrom(valuesAt).map(parseJson);
  const document = getDocument(call, key);
  const matches = targetsIn(document, { key, path });
  const nodes = parsed.map(({ node }) => node);
  checkCopies(matches.length, nodeBytesOf(nodes));
  const depth = parsed.reduce((most, one) => Math.max(most, one.depth), 0);
  for (const match of matches) {
    if (!Array.isArray(match.node)) continue;
    if (indexFor(match.node.length) === undefined) throw elementOutOfBounds;
    checkDepth(depthOf(match) + 1, depth);
    if (match.node.length + nodes.length > ELEMENTS_MAX) throw documentGrowsTooMuch;
  }
  return changeEach(call, {
    key,
    path,
    matches,
    missing: pathMissing(path.text, OR_NO_ARRAY),
    event,
    change: (spot, match) => {
      const array = document.find(spot.location);
      const index = Array.isArray(array) ? indexFor(array.length) : undefined;
      if (index === undefined) return undefined;
      const isLast = match === matches.at(-1);
      return insertElements(keyspace, spot, { index, nodes: isLast ? nodes : nodes.map(copyOfNode) });
    },
  });
}

export function arrlen(call: Call): Reply {
  const path = lastPathAt(call, 2);
  const document = path.isLegacy ? findDocument(call, call.arg(1)) : getDocument(call, call.arg(1));
  if (document === undefined) return nil;
  const missing = pathMissing(path.text, OR_NO_ARRAY);
  return answerEach({
    path,
    matches: matchesIn(document, path),
    answer: (node) => (Array.isArray(node) ? node.length : undefined),
    wrong: () => missing,
    missing,
  });
}

export function arrindex(call: Call): Reply {
  const { arg, argCount, count, command } = call;
  if (argCount > 6) throw wrongArity(command.fullName);
  const path = parsePath(arg(2));
  const { node: wanted } = parseJson(arg(3));
  const start = argCount > 4 ? count(4) : 0;
  const stop = argCount > 5 ? count(5) : 0;
  const document = findDocument(call, arg(1));
  if (document === undefined) throw pathMissing(path.text);
  const budget = new StepBudget();
  return answerEach({
    path,
    matches: matchesOf(document.root, path.segments, budget),
    answer: (node) => (Array.isArray(node) ? indexIn(node, { wanted, start, stop, budget }) : undefined),
    wrong: (node) => pathValueWrong("array", typeNameOf(node)),
    missing: pathMissing(path.text),
  });
}

/** The index of the first equal element from `start` to before `stop`, where 0 means the end; -1 if not found. */
function indexIn(
  array: readonly JsonNode[],
  { wanted, start, stop, budget }: { wanted: JsonNode; start: number; stop: number; budget: StepBudget },
): number {
  const { length } = array;
  const from = start < 0 ? Math.max(0, length + start) : Math.min(start, length - 1);
  const to = stop === 0 ? length : stop < 0 ? length + stop : Math.min(stop, length);
  const rules = { byValue: false, spend: budget.spend };
  for (let index = from; index < to; index += 1) if (areEqual(array[index] as JsonNode, wanted, rules)) return index;
  return -1;
}

export function arrpop(call: Call): Reply {
  const { keyspace, arg, argCount, count, command } = call;
  if (argCount > 4) throw wrongArity(command.fullName);
  const key = arg(1);
  const path = pathAt(call, 2);
  const offset = argCount > 3 ? count(3) : -1;
  const document = getDocument(call, key);
  const matches = targetsIn(document, { key, path });
  // Elements are printed before any is removed, so that a reply that is too long refuses the command. The reply can
  // only become shorter, when something inside an element was popped first.
  const budget = new ReplyBudget();
  const full = new Set<JsonNode>();
  for (const { node } of matches) {
    if (!Array.isArray(node) || node.length === 0 || full.has(node)) continue;
    budget.take(textOfNode(node[nearestIndex(offset, node.length)] as JsonNode).length);
    full.add(node);
  }
  return changeEach(call, {
    key,
    path,
    matches,
    missing: pathMissing(path.text, OR_NO_ARRAY),
    event: events["json.arrpop"],
    change: (spot) => {
      const array = document.find(spot.location);
      if (!Array.isArray(array)) return undefined;
      // A path may match the same array twice, but pops from it once.
      if (!full.delete(array)) return nil;
      const index = nearestIndex(offset, array.length);
      const text = textOfNode(array[index] as JsonNode);
      removeElements(keyspace, spot, [index]);
      return text;
    },
  });
}

/** An index out of range means the first or the last element. */
function nearestIndex(offset: number, length: number): number {
  return offset < 0 ? Math.max(0, length + offset) : Math.min(offset, length - 1);
}

export function arrtrim(call: Call): Reply {
  const { keyspace, arg, count } = call;
  const key = arg(1);
  const path = parsePath(arg(2));
  const start = count(3);
  const stop = count(4);
  const document = getDocument(call, key);
  return changeEach(call, {
    key,
    path,
    matches: targetsIn(document, { key, path }),
    missing: pathMissing(path.text, OR_NO_ARRAY),
    event: events["json.arrtrim"],
    change: (spot) => {
      const array = document.find(spot.location);
      if (!Array.isArray(array)) return undefined;
      const { length } = array;
      const from = Math.min(start < 0 ? Math.max(0, length + start) : start, length);
      const to = Math.max(from, Math.min(stop < 0 ? length + stop : stop, length - 1) + 1);
      if (from > 0 || to < length) trimElements(keyspace, spot, { from, to });
      return to - from;
    },
  });
}
