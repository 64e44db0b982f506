/**
 * What the JSON commands have in common: the document at a key, the nodes that
 * a path leads to, and the shape of a reply.
 *
 * A path that begins with `$` is answered by an array, with nil for each node
 * of the wrong kind. A path of the old syntax is answered by one value: that
 * of the first node for a read, of the last one that was changed for a write;
 * and by an error where there is none.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Call } from "../command.ts";
import {
  type CommandError,
  documentGrowsTooMuch,
  documentTooDeep,
  noDocument,
  wrongArity,
  wrongType,
} from "../errors.ts";
import { DOCUMENT_DEPTH_MAX, type JsonNode } from "../json/node.ts";
import type { JsonPath } from "../json/path.ts";
import { parsePath } from "../json/path-parser.ts";
import { StepBudget } from "../json/step-budget.ts";
import { locationOf, type Match, matchesOf } from "../json/walk.ts";
import type { Spot } from "../mutations/json.ts";
import type { KeyspaceEvent } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import type { Reply } from "../reply/reply.ts";
import { JsonValue } from "../values/json.ts";

/** What one command may put into documents beside the value that it was given: a path may lead to many places. */
export const COPIED_BYTES_MAX = 64 * 1024 * 1024;

/** What an index takes in a record, about. */
const PLACE_BYTES = 4;

/** The root in the old syntax: what a command means that names no path. */
const rootPath: JsonPath = parsePath(".");

/** The document at a key, or undefined. Throws `wrongType`. */
export function findDocument({ keyspace }: Call, key: Bytes): JsonValue | undefined {
  const value = keyspace.find(key);
  if (value === undefined || value instanceof JsonValue) return value;
  throw wrongType;
}

/** The document at a key, for a command that makes none. Throws `noDocument` and `wrongType`. */
export function getDocument(call: Call, key: Bytes): JsonValue {
  const document = findDocument(call, key);
  if (document === undefined) throw noDocument;
  return document;
}

/** The path in an argument, or the root where there is none. */
export function pathAt({ arg, argCount }: Call, index: number): JsonPath {
  return index < argCount ? parsePath(arg(index)) : rootPath;
}

/** As `pathAt`, for the last argument that a command takes. */
export function lastPathAt(call: Call, index: number): JsonPath {
  if (call.argCount > index + 1) throw wrongArity(call.command.fullName);
  return pathAt(call, index);
}

export function matchesIn(document: JsonValue, path: JsonPath): readonly Match[] {
  return matchesOf(document.root, path.segments, new StepBudget());
}

/** As `matchesIn`, for a command that changes what it finds. Refuses what would fill the journal with places. */
export function targetsIn(document: JsonValue, { key, path }: { key: Bytes; path: JsonPath }): readonly Match[] {
  const matches = matchesIn(document, path);
  checkPlaces(key, matches);
  return matches;
}

/** Every change is recorded with its key and the names on the way to it, each of which may be long. */
export function checkPlaces(key: Bytes, matches: readonly Match[]): void {
  let bytes = 0;
  for (const match of matches) {
    bytes += key.length;
    for (let at: Match | undefined = match; at !== undefined; at = at.parent)
      bytes += typeof at.step === "string" ? at.step.length : PLACE_BYTES;
    if (bytes > COPIED_BYTES_MAX) throw documentGrowsTooMuch;
  }
}

/** A question about nodes. */
export interface Question {
  readonly path: JsonPath;
  readonly matches: readonly Match[];
  /** The answer about a node, or undefined for one of the wrong kind. */
  readonly answer: (node: JsonNode) => Reply | undefined;
  /** For the old syntax, about the first node if it is of the wrong kind. */
  readonly wrong: (node: JsonNode) => CommandError;
  /** For the old syntax, where the path leads nowhere. */
  readonly missing: CommandError | null;
}

export function answerEach({ path, matches, answer, wrong, missing }: Question): Reply {
  if (!path.isLegacy) {
    new ReplyBudget().expect(matches.length);
    return matches.map(({ node }) => answer(node) ?? null);
  }
  const [first] = matches;
  if (first === undefined) {
    if (missing === null) return null;
    throw missing;
  }
  const reply = answer(first.node);
  if (reply === undefined) throw wrong(first.node);
  return reply;
}

/** A change of nodes. */
export interface Change {
  readonly key: Bytes;
  readonly path: JsonPath;
  readonly matches: readonly Match[];
  /** Changes the node at a spot and answers; undefined where it is of the wrong kind, and then nothing is changed. */
  readonly change: (spot: Spot, match: Match) => Reply | undefined;
  /** For the old syntax, where nothing was changed. */
  readonly missing: CommandError;
  /** What has happened, if there was a node of the right kind. */
  readonly event: KeyspaceEvent;
}

/** Changes the nodes in the order of the matches. What can refuse the command has been checked before. */
export function changeEach({ keyspace }: Call, { key, path, matches, change, missing, event }: Change): Reply {
  const replies = matches.map((match) => change({ key, location: locationOf(match) }, match));
  if (replies.some((reply) => reply !== undefined)) keyspace.notify(event, key);
  if (!path.isLegacy) return replies.map((reply) => reply ?? null);
  const last = replies.findLast((reply) => reply !== undefined);
  if (last === undefined) throw missing;
  return last;
}

/** Refuses to put a value of so many bytes at so many places. */
export function checkCopies(count: number, bytes: number): void {
  if ((count - 1) * bytes > COPIED_BYTES_MAX) throw documentGrowsTooMuch;
}

/** Refuses what would nest too deep: so many steps to a place, and so many containers in what comes there. */
export function checkDepth(stepCount: number, depth: number): void {
  if (stepCount + depth > DOCUMENT_DEPTH_MAX) throw documentTooDeep;
}
