/**
 * Metadata as a tree of maps and lists, so that no member name has a special
 * meaning, and the merge of RFC 7396 over it.
 */
import { parseJsonText } from "../../../../src/kernel/json/parse.ts";

export type Tree = string | number | boolean | null | readonly Tree[] | ReadonlyMap<string, Tree>;

export function treeOf(json: string): Tree {
  return fromParsed(parseJsonText(json));
}

function fromParsed(value: unknown): Tree {
  if (Array.isArray(value)) return value.map(fromParsed);
  if (typeof value === "object" && value !== null)
    return new Map(Object.entries(value).map(([name, member]) => [name, fromParsed(member)]));
  return value as string | number | boolean | null;
}

export function jsonOf(tree: Tree): string {
  if (isList(tree)) return `[${tree.map(jsonOf).join()}]`;
  if (!isMap(tree)) return JSON.stringify(tree);
  return `{${[...tree].map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`).join()}}`;
}

/** The same text for every order of the members. */
export function orderedJson(json: string): string {
  return jsonOf(inOrder(treeOf(json)));
}

function inOrder(tree: Tree): Tree {
  if (isList(tree)) return tree.map(inOrder);
  if (!isMap(tree)) return tree;
  const members = [...tree].map(([name, member]) => [name, inOrder(member)] as const);
  return new Map(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** RFC 7396, section 2. `target` is undefined if nothing exists yet. */
export function mergePatch(target: Tree | undefined, patch: Tree): Tree {
  if (!isMap(patch)) return patch;
  const merged = new Map(target !== undefined && isMap(target) ? target : []);
  for (const [name, value] of patch) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return merged;
}

function isMap(tree: Tree): tree is ReadonlyMap<string, Tree> {
  return tree instanceof Map;
}

function isList(tree: Tree): tree is readonly Tree[] {
  return Array.isArray(tree);
}
