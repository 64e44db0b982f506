/**
 * The members of a JSON object, in the order of insertion. A few are one flat
 * array (name, node, name, node, …), searched from the front; more are a `Map`,
 * and stay one. Names are data: no prototype is searched.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { JsonNode } from "./node.ts";

/** Up to this many members keep their order if the removal of some is undone; else those come last again. */
const ORDERED_MEMBERS_MAX = 1_000;
/** Limit of members in the flat array. */
const FLAT_MEMBERS_MAX = 16;
/** Half the limit of a `Map`, so that one more patch always fits. */
export const MEMBERS_MAX = 2 ** 23;
/** The object, its flat array and the array's header. */
const FLAT_BYTES = 88;
/** The object, its `Map` and the header of the map's table. */
const MAP_BYTES = 112;
/** An entry of a `Map`: name, node, chain, and its share of the buckets. */
const MAP_ENTRY_BYTES = 28;
const POINTER_BYTES = 8;

export class JsonObject {
  #flat: (Bytes | JsonNode)[] | undefined;
  #map: Map<Bytes, JsonNode> | undefined;

  /** Takes over the array; names must be distinct, and few enough. */
  constructor(flat: (Bytes | JsonNode)[] = []) {
    this.#flat = flat;
  }

  get size(): number {
    return this.#map === undefined ? this.#pairs.length / 2 : this.#map.size;
  }

  /** Approximate memory without names and nodes, in bytes. */
  get tableBytes(): number {
    if (this.#map === undefined) return FLAT_BYTES + POINTER_BYTES * this.#pairs.length;
    return MAP_BYTES + MAP_ENTRY_BYTES * 2 ** Math.ceil(Math.log2(Math.max(4, this.#map.size)));
  }

  /** The node, or undefined. */
  get(name: Bytes): JsonNode | undefined {
    if (this.#map !== undefined) return this.#map.get(name);
    const at = this.#indexOf(name);
    return at < 0 ? undefined : (this.#pairs[at + 1] as JsonNode);
  }

  has(name: Bytes): boolean {
    return this.#map === undefined ? this.#indexOf(name) >= 0 : this.#map.has(name);
  }

  /** An existing member keeps its position, a new one comes last. */
  set(name: Bytes, node: JsonNode): void {
    if (this.#map !== undefined) {
      this.#map.set(name, node);
      return;
    }
    const pairs = this.#pairs;
    const at = this.#indexOf(name);
    if (at >= 0) pairs[at + 1] = node;
    // A new array: a push would reserve room for many more.
    else if (pairs.length < 2 * FLAT_MEMBERS_MAX) this.#flat = [...pairs, name, node];
    else this.#enlarge().set(name, node);
  }

  /** True if the member existed. */
  delete(name: Bytes): boolean {
    if (this.#map !== undefined) return this.#map.delete(name);
    const at = this.#indexOf(name);
    if (at >= 0) this.#pairs.splice(at, 2);
    return at >= 0;
  }

  /** In order. The object must not change meanwhile. */
  visit(each: (name: Bytes, node: JsonNode) => void): void {
    if (this.#map !== undefined) {
      for (const [name, node] of this.#map) each(name, node);
      return;
    }
    const pairs = this.#pairs;
    for (let at = 0; at < pairs.length; at += 2) each(pairs[at] as Bytes, pairs[at + 1] as JsonNode);
  }

  /** In order, as a new array. */
  names(): Bytes[] {
    const names: Bytes[] = [];
    this.visit((name) => names.push(name));
    return names;
  }

  /** Makes a member what it is now, or missing, after `set`. */
  memberRestorer(name: Bytes): () => void {
    const node = this.get(name);
    const wasFlat = this.#map === undefined;
    return () => {
      if (node !== undefined) this.set(name, node);
      else if (this.delete(name) && wasFlat) this.#flatten();
    };
  }

  /** Puts back members after `delete`. */
  removalRestorer(names: readonly Bytes[]): () => void {
    const map = this.#map;
    if (map === undefined) {
      const pairs = this.#pairs.slice();
      return () => {
        this.#flat = pairs;
        this.#map = undefined;
      };
    }
    if (map.size <= ORDERED_MEMBERS_MAX) {
      const members = [...map];
      return () => {
        this.#map = new Map(members);
      };
    }
    const removed = names.map((name) => [name, map.get(name)] as const);
    return () => {
      for (const [name, node] of removed) if (node !== undefined) this.set(name, node);
    };
  }

  get #pairs(): (Bytes | JsonNode)[] {
    return this.#flat as (Bytes | JsonNode)[];
  }

  #indexOf(name: Bytes): number {
    const pairs = this.#pairs;
    for (let at = 0; at < pairs.length; at += 2) if (pairs[at] === name) return at;
    return -1;
  }

  /** Reverses `#enlarge`, if the members are few enough. */
  #flatten(): void {
    if (this.#map === undefined || this.#map.size > FLAT_MEMBERS_MAX) return;
    this.#flat = [...this.#map].flat(1);
    this.#map = undefined;
  }

  #enlarge(): Map<Bytes, JsonNode> {
    const map = new Map<Bytes, JsonNode>();
    this.visit((name, node) => map.set(name, node));
    this.#map = map;
    this.#flat = undefined;
    return map;
  }
}

/** An object of the names and nodes that alternate in an array, from `start` on. Of equal names the last one counts. */
export function objectOf(pairs: readonly (Bytes | JsonNode)[], start = 0): JsonObject {
  if (pairs.length - start <= 2 * FLAT_MEMBERS_MAX && areNamesDistinct(pairs, start))
    return new JsonObject(pairs.slice(start));
  const object = new JsonObject();
  for (let at = start; at < pairs.length; at += 2) object.set(pairs[at] as Bytes, pairs[at + 1] as JsonNode);
  return object;
}

function areNamesDistinct(pairs: readonly (Bytes | JsonNode)[], start: number): boolean {
  for (let at = start + 2; at < pairs.length; at += 2)
    for (let before = start; before < at; before += 2) if (pairs[before] === pairs[at]) return false;
  return true;
}
