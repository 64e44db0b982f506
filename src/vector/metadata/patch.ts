/**
 * JSON Merge Patch (RFC 7396) on metadata: a member of the patch replaces the
 * existing one, null removes it, and objects are merged member by member.
 * Existing members keep their order; new ones follow in the order of the patch.
 *
 * Numbers keep their spelling on both sides. Names are data: the objects written
 * here have no prototype, so `__proto__` is an ordinary member (threats A-11,
 * B-08).
 */
import { assert } from "../../kernel/assert.ts";
import { isSpelledNumber, parseSpelled } from "../../kernel/json/spelling.ts";
import { METADATA_DEPTH_MAX } from "../limits.ts";

type Members = { [name: string]: unknown };

/**
 * The metadata after a patch, as compact JSON text. Both are JSON texts of objects, nested at most METADATA_DEPTH_MAX
 * deep; undefined stands for a record without metadata.
 */
export function mergePatch(target: string | undefined, patch: string): string {
  const before = target === undefined ? {} : parseSpelled(target);
  const changes = parseSpelled(patch);
  assert(isObject(before) && isObject(changes), "metadata and its patch are JSON objects");
  return JSON.stringify(merged(before, changes, 1));
}

/** `depth` is the depth of `changes`: 1 for the outermost object. */
function merged(before: unknown, changes: Members, depth: number): Members {
  assert(depth <= METADATA_DEPTH_MAX, "the depth of a patch was checked when it came in");
  const after: Members = Object.assign(Object.create(null), isObject(before) ? before : undefined);
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) delete after[name];
    else after[name] = isObject(change) ? merged(after[name], change, depth + 1) : change;
  }
  return after;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isSpelledNumber(value);
}
