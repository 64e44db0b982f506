/**
 * JSON Merge Patch (RFC 7396) on metadata: a member of the patch takes the
 * place of the one there, null takes it away, and objects are merged member by
 * member. Members that were there keep their order; new ones follow in the
 * order of the patch.
 *
 * Names are data: the objects written here have no prototype, so `__proto__` is
 * a member like any other (threats A-11, B-08).
 */
import { assert } from "../../kernel/assert.ts";
import { isArray, type Json, ownMember } from "../filter/json.ts";
import { METADATA_DEPTH_MAX } from "../limits.ts";

type Members = { [name: string]: Json };

/**
 * The metadata after a patch, as compact JSON text. Both are JSON texts of objects, nested at most METADATA_DEPTH_MAX
 * deep; undefined stands for a record without metadata.
 */
export function mergePatch(target: string | undefined, patch: string): string {
  const before: Json = target === undefined ? {} : JSON.parse(target);
  const changes: Json = JSON.parse(patch);
  assert(isObject(before) && isObject(changes), "metadata and its patch are JSON objects");
  return JSON.stringify(merged(before, changes, 1));
}

/** `depth` is that of `changes`: 1 for the outermost object. */
function merged(before: Json | undefined, changes: Members, depth: number): Members {
  assert(depth <= METADATA_DEPTH_MAX, "the depth of a patch was checked when it came in");
  const after: Members = Object.assign(Object.create(null), isObject(before) ? before : undefined);
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) delete after[name];
    else after[name] = isObject(change) ? merged(ownMember(after, name), change, depth + 1) : change;
  }
  return after;
}

function isObject(value: Json | undefined): value is Members {
  return typeof value === "object" && value !== null && !isArray(value);
}
