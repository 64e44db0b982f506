/**
 * A JSON document as the value of a key. It changes in place: each change finds
 * its place by names and indexes from the root, and counts only the bytes that
 * it adds and removes.
 *
 * (1) `#bytes` is `nodeBytesOf` of the root.
 * (2) No container is in two places, so a change affects one place only. A
 *     document owns the nodes that are passed to it.
 * (3) A change at a missing place, or of another kind, does nothing and reports
 *     it: paths of one command may lead into a part that the same command has
 *     just replaced.
 */
import { type Bytes, bufferFrom, bytesFrom } from "../../kernel/bytes.ts";
import { mergeInto, mergeRestorers, patched } from "../json/merge.ts";
import { copyOfNode, isContainer, type JsonNode, nodeBytesOf, ownBytesOf, textBytesOf } from "../json/node.ts";
import { JsonObject } from "../json/object.ts";
import type { Location } from "../json/walk.ts";

/** The value itself, roughly. */
const FIXED_BYTES = 56;

export class JsonValue {
  readonly typeName = "ReJSON-RL";
  #root: JsonNode;
  #bytes: number;

  constructor(root: JsonNode) {
    this.#root = root;
    this.#bytes = nodeBytesOf(root);
  }

  get root(): JsonNode {
    return this.#root;
  }

  /** Approximate memory in bytes. */
  get memoryBytes(): number {
    return FIXED_BYTES + this.#bytes;
  }

  copy(): JsonValue {
    return new JsonValue(copyOfNode(this.#root));
  }

  /** The node at a place, or undefined. */
  find(location: Location): JsonNode | undefined {
    let node: JsonNode | undefined = this.#root;
    for (const step of location) {
      if (typeof step === "string") node = node instanceof JsonObject ? node.get(step) : undefined;
      else node = Array.isArray(node) ? node[step] : undefined;
      if (node === undefined) return undefined;
    }
    return node;
  }

  /** Puts a node at a place: replaces the node there, or adds a member. False if the place does not exist. */
  set(location: Location, node: JsonNode): boolean {
    const step = location.at(-1);
    const parent = step === undefined ? undefined : this.find(location.slice(0, -1));
    const nodeBytes = nodeBytesOf(node);
    if (step === undefined) {
      this.#root = node;
      this.#bytes = nodeBytes;
      return true;
    }
    if (typeof step === "string" && parent instanceof JsonObject) {
      const old = parent.get(step);
      this.#bytes += nodeBytes - parent.tableBytes;
      this.#bytes += old === undefined ? textBytesOf(step) : -nodeBytesOf(old);
      parent.set(step, node);
      this.#bytes += parent.tableBytes;
      return true;
    }
    if (typeof step !== "number" || !Array.isArray(parent) || step >= parent.length) return false;
    this.#bytes += nodeBytes - nodeBytesOf(parent[step] as JsonNode);
    parent[step] = node;
    return true;
  }

  /** Inserts nodes into an array before `index`. Returns its new length, or undefined if it is not an array. */
  insert(location: Location, index: number, nodes: readonly JsonNode[]): number | undefined {
    const array = this.find(location);
    if (!Array.isArray(array)) return undefined;
    this.#bytes -= ownBytesOf(array);
    // Not as arguments of `splice`: their number is limited.
    const rest = index < array.length ? array.splice(index) : [];
    for (const node of nodes) {
      array.push(node);
      this.#bytes += nodeBytesOf(node);
    }
    for (const node of rest) array.push(node);
    this.#bytes += ownBytesOf(array);
    return array.length;
  }

  /** Removes the elements at distinct ascending indexes, all of which exist. False if it is not an array. */
  removeElements(location: Location, indexes: readonly number[]): boolean {
    const array = this.find(location);
    if (!Array.isArray(array)) return false;
    this.#bytes -= ownBytesOf(array);
    for (const index of indexes) this.#bytes -= nodeBytesOf(array[index] as JsonNode);
    if (indexes.length === 1) array.splice(indexes[0] as number, 1);
    else removeAt(array, indexes);
    this.#bytes += ownBytesOf(array);
    return true;
  }

  /** Trims an array to the elements from one index up to, not including, another. False if it is not an array. */
  trim(location: Location, range: { readonly from: number; readonly to: number }): boolean {
    const array = this.find(location);
    if (!Array.isArray(array)) return false;
    this.#bytes -= ownBytesOf(array);
    for (const gone of [array.splice(range.to), array.splice(0, range.from)])
      for (const node of gone) this.#bytes -= nodeBytesOf(node);
    this.#bytes += ownBytesOf(array);
    return true;
  }

  /** Removes members. False if it is not an object. */
  removeMembers(location: Location, names: readonly Bytes[]): boolean {
    const object = this.find(location);
    if (!(object instanceof JsonObject)) return false;
    this.#bytes -= object.tableBytes;
    for (const name of names) {
      const node = object.get(name);
      if (node === undefined) continue;
      this.#bytes -= textBytesOf(name) + nodeBytesOf(node);
      object.delete(name);
    }
    this.#bytes += object.tableBytes;
    return true;
  }

  /** Appends to a string. Returns its new length in bytes, or undefined if it is not a string. */
  appendText(location: Location, suffix: Bytes): number | undefined {
    const text = this.find(location);
    if (typeof text !== "string") return undefined;
    // Copied to a flat string: a chain of parts would take many times the memory of the text.
    const longer = bytesFrom(bufferFrom(text + suffix));
    this.set(location, longer);
    return longer.length;
  }

  /** Merges a patch into the node at a place, as in RFC 7396. False if the place does not exist. */
  merge(location: Location, patch: JsonNode): boolean {
    const node = this.find(location);
    if (!(node instanceof JsonObject) || !(patch instanceof JsonObject)) return this.set(location, patched(patch));
    this.#bytes += mergeInto(node, patch);
    return true;
  }

  // What makes the document again what it is now, after one change by the function of that name.

  setRestorer(location: Location): () => void {
    const step = location.at(-1);
    if (step === undefined) {
      const root = this.#root;
      return this.#restorer(() => {
        this.#root = root;
      });
    }
    const parent = this.find(location.slice(0, -1));
    if (typeof step === "string") return this.#restorer(asObject(parent)?.memberRestorer(step));
    const old = asArray(parent)?.[step];
    return this.#restorer(() => {
      if (old !== undefined && Array.isArray(parent)) parent[step] = old;
    });
  }

  insertRestorer(location: Location, index: number, count: number): () => void {
    const array = asArray(this.find(location));
    return this.#restorer(() => array?.splice(index, count));
  }

  removeElementsRestorer(location: Location, indexes: readonly number[]): () => void {
    const array = asArray(this.find(location));
    const nodes = indexes.map((index) => array?.[index] as JsonNode);
    return this.#restorer(() => array !== undefined && putBack(array, indexes, nodes));
  }

  trimRestorer(location: Location, { from, to }: { readonly from: number; readonly to: number }): () => void {
    const array = asArray(this.find(location)) ?? [];
    const before = array.slice(0, from);
    const after = array.slice(Math.max(from, to));
    return this.#restorer(() => {
      const kept = array.splice(0);
      for (const part of [before, kept, after]) for (const node of part) array.push(node);
    });
  }

  removeMembersRestorer(location: Location, names: readonly Bytes[]): () => void {
    return this.#restorer(asObject(this.find(location))?.removalRestorer(names));
  }

  mergeRestorer(location: Location, patch: JsonNode): () => void {
    const node = this.find(location);
    if (!(node instanceof JsonObject) || !(patch instanceof JsonObject)) return this.setRestorer(location);
    const restorers = mergeRestorers(node, patch);
    return this.#restorer(() => {
      for (let i = restorers.length - 1; i >= 0; i -= 1) restorers[i]?.();
    });
  }

  #restorer(restore: (() => void) | undefined): () => void {
    const bytes = this.#bytes;
    return () => {
      restore?.();
      this.#bytes = bytes; // keeps (1)
    };
  }
}

function asObject(node: JsonNode | undefined): JsonObject | undefined {
  return node instanceof JsonObject ? node : undefined;
}

function asArray(node: JsonNode | undefined): JsonNode[] | undefined {
  return Array.isArray(node) ? node : undefined;
}

/** An empty container of the same kind; any other node unchanged. */
export function emptied(node: JsonNode): JsonNode {
  if (!isContainer(node)) return node;
  return Array.isArray(node) ? [] : new JsonObject();
}

function removeAt(array: JsonNode[], indexes: readonly number[]): void {
  let end = indexes[0] ?? array.length;
  let next = 0;
  for (let index = end; index < array.length; index += 1) {
    if (index === indexes[next]) {
      next += 1;
      continue;
    }
    array[end] = array[index] as JsonNode;
    end += 1;
  }
  array.length = end;
}

/** Reverses `removeAt`. */
function putBack(array: JsonNode[], indexes: readonly number[], nodes: readonly JsonNode[]): void {
  const rest = array.splice(indexes[0] ?? array.length);
  let next = 0;
  let kept = 0;
  while (next < nodes.length || kept < rest.length) {
    if (array.length === indexes[next]) array.push(nodes[next++] as JsonNode);
    else array.push(rest[kept++] as JsonNode);
  }
}
