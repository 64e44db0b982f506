/**
 * JSON Merge Patch (RFC 7396): missing members are added, null removes,
 * everything else replaces.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { copyOfNode, type JsonNode, nodeBytesOf, textBytesOf } from "./node.ts";
import { JsonObject, MEMBERS_MAX, objectOf } from "./object.ts";

/** The result of a patch on a missing node, or one that is not an object: the patch without its nulls. */
export function patched(patch: JsonNode): JsonNode {
  if (!(patch instanceof JsonObject)) return copyOfNode(patch);
  const pairs: (Bytes | JsonNode)[] = [];
  patch.visit((name, member) => {
    if (member !== null) pairs.push(name, patched(member));
  });
  return objectOf(pairs);
}

/**
 * Merges a patch into an object, and copies the parts that it uses. Returns how many bytes the object grew, negative
 * if it shrank; visits only the members that the patch names.
 */
export function mergeInto(object: JsonObject, patch: JsonObject): number {
  let addedBytes = -object.tableBytes;
  patch.visit((name, member) => {
    const old = object.get(name);
    if (old instanceof JsonObject && member instanceof JsonObject) {
      addedBytes += mergeInto(old, member);
      return;
    }
    if (old !== undefined) addedBytes -= nodeBytesOf(old);
    if (member === null) {
      if (object.delete(name)) addedBytes -= textBytesOf(name);
      return;
    }
    const node = patched(member);
    object.set(name, node);
    addedBytes += nodeBytesOf(node) + (old === undefined ? textBytesOf(name) : 0);
  });
  return addedBytes + object.tableBytes;
}

/** What makes an object again what it is now, after `mergeInto` with this patch; the last function runs first. */
export function mergeRestorers(object: JsonObject, patch: JsonObject): (() => void)[] {
  const restorers: (() => void)[] = [];
  const removed: Bytes[] = [];
  patch.visit((name, member) => {
    const old = object.get(name);
    if (old instanceof JsonObject && member instanceof JsonObject) restorers.push(...mergeRestorers(old, member));
    else if (member !== null) restorers.push(object.memberRestorer(name));
    else if (old !== undefined) removed.push(name);
  });
  return removed.length === 0 ? restorers : [object.removalRestorer(removed), ...restorers];
}

/** False if an object would exceed the maximum number of members. */
export function mergeFits(node: JsonNode, patch: JsonNode): boolean {
  if (!(node instanceof JsonObject) || !(patch instanceof JsonObject)) return true;
  if (node.size + patch.size > MEMBERS_MAX) return false;
  let fits = true;
  patch.visit((name, member) => {
    const below = fits ? node.get(name) : undefined;
    if (below !== undefined) fits = mergeFits(below, member);
  });
  return fits;
}
