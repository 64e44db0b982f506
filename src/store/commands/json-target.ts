/**
 * Shared by the JSON commands: the document at a key, the nodes that match a
 * path, and the shape of a reply.
 *
 * The reply for a path that begins with `$` is an array, with nil for each node
 * of the wrong kind. The reply for a path of the legacy syntax is one value, of
 * the first node for a read, of the last changed one for a write, or an error if
 * no node matches.
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

/** The bytes that one command may copy into documents beyond its value: a path may match many locations. */
export const COPIED_BYTES_MAX = 64 * 1024 * 1024;

/** The approximate bytes of an index in a record. */
const PLACE_BYTES = 4;

/** The root in the legacy syntax: the path of a command without a path argument. */
const rootPath: JsonPath = parsePath(".");

/** The document at a key, or undefined. Throws `wrongType`. */
export function findDocument({ keyspace }: Call, key: Bytes): JsonValue | undefined {
  const value = keyspace.find(key);
  if (value === undefined || value instanceof JsonValue) return value;
  throw wrongType;
}

/** The document at a key, for a command that does not create one. Throws `noDocument` and `wrongType`. */
export function getDocument(call: Call, key: Bytes): JsonValue {
  const document = findDocument(call, key);
  if (document === undefined) throw noDocument;
  return document;
}

/** The path in an argument, or the root if it is missing. */
export function pathAt({ arg, argCount }: Call, index: number): JsonPath {
  return index < argCount ? parsePath(arg(index)) : rootPath;
}

/** Like `pathAt`, for the last argument of a command. */
export function lastPathAt(call: Call, index: number): JsonPath {
  if (call.argCount > index + 1) throw wrongArity(call.command.fullName);
  return pathAt(call, index);
}

export function matchesIn(document: JsonValue, path: JsonPath): readonly Match[] {
  return matchesOf(document.root, path.segments, new StepBudget());
}

/** Like `matchesIn`, for a command that changes the matches. Refuses too many locations for the journal. */
export function targetsIn(document: JsonValue, { key, path }: { key: Bytes; path: JsonPath }): readonly Match[] {
  const matches = matchesIn(document, path);
  checkPlaces(key, matches);
  return matches;
}

/** Every change is recorded with its key and the names on its path, each of which may be long. */
export function checkPlaces(key: Bytes, matches: readonly Match[]): void {
  let bytes = 0;
  for (const match of matches) {
    bytes += key.length;
    for (let at: Match | undefined = match; at !== undefined; at = at.parent)
      bytes += typeof at.step === "string" ? at.step.length : PLACE_BYTES;
    if (bytes > COPIED_BYTES_MAX) throw documentGrowsTooMuch;
  }
}

/** A query about nodes. */
export interface Question {
  readonly path: JsonPath;
  readonly matches: readonly Match[];
  /** The reply for a node, or undefined for one of the wrong kind. */
  readonly answer: (node: JsonNode) => Reply | undefined;
  /** For the legacy syntax, if the first node is of the wrong kind. */
  readonly wrong: (node: JsonNode) => CommandError;
  /** For the legacy syntax, if nothing matches the path. */
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
  /** Changes the node at a spot and returns the reply; undefined for the wrong kind, which is not changed. */
  readonly change: (spot: Spot, match: Match) => Reply | undefined;
  /** For the legacy syntax, if nothing was changed. */
  readonly missing: CommandError;
  /** The event if a node of the right kind was changed. */
  readonly event: KeyspaceEvent;
}

/** Changes the nodes in the order of the matches. All errors of the command have been checked before. */
export function changeEach({ keyspace }: Call, { key, path, matches, change, missing, event }: Change): Reply {
  const replies = matches.map((match) => change({ key, location: locationOf(match) }, match));
  if (replies.some((reply) => reply !== undefined)) keyspace.notify(event, key);
  if (!path.isLegacy) return replies.map((reply) => reply ?? null);
  const last = replies.findLast((reply) => reply !== undefined);
  if (last === undefined) throw missing;
  return last;
}

/** Refuses to copy a value of this many bytes to this many locations. */
export function checkCopies(count: number, bytes: number): void {
  if ((count - 1) * bytes > COPIED_BYTES_MAX) throw documentGrowsTooMuch;
}

/** Refuses nesting that is too deep: the steps to a location plus the containers inside the value. */
export function checkDepth(stepCount: number, depth: number): void {
  if (stepCount + depth > DOCUMENT_DEPTH_MAX) throw documentTooDeep;
}
