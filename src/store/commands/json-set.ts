/**
 * JSON.SET, JSON.MSET and JSON.MERGE: they set whole values. A path with matches
 * replaces all of them; one that names a missing member of an object adds it.
 * Missing levels in between are not created: JSON.SET refuses such a path.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import {
  documentGrowsTooMuch,
  elementOutOfBounds,
  newAtRoot,
  pathMissing,
  pathNotObject,
  pathNotStatic,
  syntaxError,
  wrongArity,
} from "../errors.ts";
import { mergeFits, patched } from "../json/merge.ts";
import { copyOfNode, nodeBytesOf } from "../json/node.ts";
import { JsonObject, MEMBERS_MAX } from "../json/object.ts";
import { type Parsed, parseJson } from "../json/parse.ts";
import { isSingular, type JsonPath, type Selector } from "../json/path.ts";
import { parsePath } from "../json/path-parser.ts";
import { StepBudget } from "../json/step-budget.ts";
import { type Location, locationOf, type Match, matchesOf } from "../json/walk.ts";
import { mergeNode, putDocument, setNode } from "../mutations/json.ts";
import { events } from "../observe/keyspace-events.ts";
import { nil, ok, type Reply } from "../reply/reply.ts";
import { JsonValue } from "../values/json.ts";
import { checkCopies, checkDepth, checkPlaces, findDocument } from "./json-target.ts";

/** Where a value is set. */
interface Plan {
  /** Empty if a level on the path is missing. */
  readonly locations: readonly Location[];
  /** True for the location of a new member. */
  readonly isNew: boolean;
}

export function set(call: Call): Reply {
  const { arg, argCount } = call;
  const condition = readCondition(call);
  if (argCount > 5) throw syntaxError;
  const key = arg(1);
  const path = parsePath(arg(2));
  const parsed = parseJson(arg(3));
  const document = findDocument(call, key);
  const { locations, isNew } = planFor({ key, document }, path, parsed);
  if (condition === (isNew ? "XX" : "NX")) return nil;
  // Redis' module answers null, as for a failed condition; the hosted service refuses a value that has no place.
  if (locations.length === 0) throw pathMissing(path.text);
  apply(call, { key, locations, parsed, isFirst: document === undefined });
  call.keyspace.notify(events["json.set"], key);
  return ok;
}

export function mset(call: Call): Reply {
  const { arg, argCount, command } = call;
  if (argCount % 3 !== 1) throw wrongArity(command.fullName);
  const triplets = [];
  for (let i = 1; i < argCount; i += 3)
    triplets.push({ key: arg(i), path: parsePath(arg(i + 1)), parsed: parseJson(arg(i + 2)) });

  // All or nothing: later values are planned on the result of the earlier ones.
  const seen = new Set<Bytes>();
  const repeated = new Set<Bytes>();
  for (const { key } of triplets) (seen.has(key) ? repeated : seen).add(key);
  const drafts = new Map<Bytes, JsonValue>();
  const plans = triplets.map(({ key, path, parsed }) => {
    const document = drafts.get(key) ?? findDocument(call, key);
    const { locations } = planFor({ key, document }, path, parsed);
    if (locations.length === 0) throw pathMissing(path.text);
    if (repeated.has(key)) drafts.set(key, drafted(drafts.get(key) ?? document?.copy(), locations, parsed));
    return { key, locations, parsed, isFirst: document === undefined };
  });
  for (const plan of plans) {
    apply(call, plan);
    call.keyspace.notify(events["json.mset"], plan.key);
  }
  return ok;
}

export function merge(call: Call): Reply {
  const { keyspace, arg } = call;
  const key = arg(1);
  const path = parsePath(arg(2));
  const parsed = parseJson(arg(3));
  const document = findDocument(call, key);
  const { locations } = planFor({ key, document }, path, parsed);
  if (document === undefined) {
    putDocument(keyspace, key, patched(parsed.node));
    keyspace.notify(events["json.merge"], key);
    return ok;
  }
  for (const location of locations) {
    const node = document.find(location);
    if (node !== undefined && !mergeFits(node, parsed.node)) throw documentGrowsTooMuch;
  }
  for (const location of locations) mergeNode(keyspace, { key, location }, parsed.node);
  if (locations.length === 0) return nil;
  keyspace.notify(events["json.merge"], key);
  return ok;
}

function readCondition({ word, argCount }: Call): "NX" | "XX" | undefined {
  if (argCount < 5) return undefined;
  const option = word(4);
  if (option !== "NX" && option !== "XX") throw syntaxError;
  return option;
}

/** The locations that match the path, or that it can add. Throws every error of the command. */
function planFor(
  { key, document }: { key: Bytes; document: JsonValue | undefined },
  path: JsonPath,
  parsed: Parsed,
): Plan {
  const { segments } = path;
  if (document === undefined) {
    if (segments.length > 0) throw newAtRoot;
    return { locations: [[]], isNew: true };
  }
  const matches = matchesOf(document.root, segments, new StepBudget());
  checkPlaces(key, matches);
  const isNew = matches.length === 0;
  const locations = isNew ? placeOfNewMember(document, path) : matches.map(locationOf);
  checkCopies(locations.length, nodeBytesOf(parsed.node));
  for (const { length } of locations) checkDepth(length, parsed.depth);
  return { locations, isNew };
}

function placeOfNewMember(document: JsonValue, { segments }: JsonPath): readonly Location[] {
  const selector = segments.at(-1)?.selectors[0];
  if (selector === undefined || !isSingular(segments)) throw pathNotStatic;
  const [parent] = matchesOf(document.root, segments.slice(0, -1), new StepBudget());
  return parent === undefined ? [] : placeIn(parent, selector);
}

function placeIn(parent: Match, selector: Selector): readonly Location[] {
  const { node } = parent;
  if (selector.kind !== "name") throw Array.isArray(node) ? elementOutOfBounds : pathNotObject;
  if (!(node instanceof JsonObject)) return [];
  if (node.size >= MEMBERS_MAX) throw documentGrowsTooMuch;
  return [[...locationOf(parent), selector.name]];
}

interface Assignment {
  readonly key: Bytes;
  readonly locations: readonly Location[];
  readonly parsed: Parsed;
  /** True if there is no document at the key yet. */
  readonly isFirst: boolean;
}

function apply({ keyspace }: Call, { key, locations, parsed, isFirst }: Assignment): void {
  if (isFirst) {
    putDocument(keyspace, key, parsed.node);
    return;
  }
  for (const [index, location] of locations.entries()) {
    // The last location gets the value itself.
    const node = index === locations.length - 1 ? parsed.node : copyOfNode(parsed.node);
    setNode(keyspace, { key, location }, node);
  }
}

/** Sets the value at its locations in a draft. */
function drafted(draft: JsonValue | undefined, locations: readonly Location[], { node }: Parsed): JsonValue {
  if (draft === undefined) return new JsonValue(copyOfNode(node));
  for (const location of locations) draft.set(location, copyOfNode(node));
  return draft;
}
