/** The prefixes of the keys seen so far, by a separator, as a tree. */
import type { Bytes } from "../values/bytes.ts";

export interface PrefixNode {
  /** With its separator at the end; empty at the root. */
  readonly prefix: Bytes;
  /** Keys seen below it. */
  count: number;
  readonly children: Map<Bytes, PrefixNode>;
}

/** Deeper parts of a name stay together. */
const DEPTH_MAX = 8;

export function prefixTree(keys: Iterable<Bytes>, separator: Bytes): PrefixNode {
  const root: PrefixNode = { prefix: "", count: 0, children: new Map() };
  for (const key of keys) add(root, key, separator);
  return root;
}

function add(root: PrefixNode, key: Bytes, separator: Bytes): void {
  let node = root;
  node.count += 1;
  if (separator === "") return;
  for (let depth = 0; depth < DEPTH_MAX; depth += 1) {
    const end = key.indexOf(separator, node.prefix.length);
    if (end < 0) return;
    const prefix = key.slice(0, end + separator.length);
    let child = node.children.get(prefix);
    if (child === undefined) {
      child = { prefix, count: 0, children: new Map() };
      node.children.set(prefix, child);
    }
    child.count += 1;
    node = child;
  }
}

/** The children with the most keys first. */
export function sortedChildren({ children }: PrefixNode): PrefixNode[] {
  return [...children.values()].sort((a, b) => b.count - a.count || (a.prefix < b.prefix ? -1 : 1));
}
