/** `$facet`: the tree of paths below one, with the documents below each. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { JsonObject } from "../../json/object.ts";
import { map, type Reply } from "../../reply/reply.ts";
import type { WordColumn } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";
import { inChunks, wordsOf } from "./columns.ts";
import { firstBuckets } from "./first-buckets.ts";
import type { AggregationParameters } from "./parameters.ts";
import type { Group, Plan, PlannedField, Run } from "./plan.ts";

const SIZE = 10;
const LEVELS_MAX = 64;
const STEPS_OF_NODE = 20;

interface FacetOptions {
  /** Without a slash at its end: the root is empty. */
  readonly path: Bytes;
  readonly depth: number;
  readonly size: number;
  readonly minDocCount: number;
  readonly order: { readonly by: "count" | "path"; readonly isAscending: boolean };
}

/** A path of the tree. */
interface FacetNode {
  readonly path: Bytes;
  readonly children: FacetNode[];
  docCount: number;
  /** The place plus one of the document that was counted last. */
  place: number;
}

export function planFacet({ number }: PlannedField, parameters: AggregationParameters): Plan {
  const given = parameters.required("path");
  if (typeof given !== "string" || !given.startsWith("/"))
    throw parameters.invalid("path", "must be a string that begins with /");
  const depth = parameters.integer("depth", 1, 1);
  if (depth > LEVELS_MAX) throw parameters.invalid("depth", `must be at most ${LEVELS_MAX}`);
  const options: FacetOptions = {
    path: given.endsWith("/") ? given.slice(0, -1) : given,
    depth,
    size: parameters.integer("size", 1, SIZE),
    minDocCount: parameters.integer("minDocCount", 1, 1),
    order: parseOrder(parameters),
  };
  return {
    *run(group, run) {
      const root = yield* countPaths(group, run, { column: wordsOf(run, number), options });
      const { members, children } = yield* childrenOf(root, { options, run });
      return { membersOf: () => [["path", given], ...members, ["children", children]] };
    },
  };
}

function parseOrder(parameters: AggregationParameters): FacetOptions["order"] {
  const node = parameters.node("order");
  if (node === undefined) return { by: "count", isAscending: false };
  const [name] = node instanceof JsonObject && node.size === 1 ? node.names() : [];
  const direction = node instanceof JsonObject && name !== undefined ? node.get(name) : undefined;
  if ((name !== "count" && name !== "path") || (direction !== "asc" && direction !== "desc"))
    throw parameters.invalid("order", 'must be an object with the member count or path, which is "asc" or "desc"');
  return { by: name, isAscending: direction === "asc" };
}

/** The tree below the path. Each node has the number of documents with a value at or below it. */
function* countPaths(
  { documents }: Group,
  { spend }: Run,
  { column, options }: { column: WordColumn; options: FacetOptions },
): InSlices<FacetNode> {
  const root = nodeOf(options.path);
  const nodes = new Map<Bytes, FacetNode>();
  /** By ordinal: the nodes at and above it, the highest first. */
  const nodesOfOrdinals = new Map<number, readonly FacetNode[]>();
  const nodesOf = (ordinal: number): readonly FacetNode[] => {
    const known = nodesOfOrdinals.get(ordinal);
    if (known !== undefined) return known;
    spend(STEPS_OF_NODE * options.depth);
    const found = nodesAlong(column.wordOf(ordinal), { root, nodes, depth: options.depth });
    nodesOfOrdinals.set(ordinal, found);
    return found;
  };
  yield* inChunks(documents.length, spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const document = documents[place] as number;
      const valueCount = column.countOf(document);
      for (let at = 0; at < valueCount; at += 1) {
        const along = nodesOf(column.ordinalOf(document, at));
        if (valueCount > 1 || along.length > 1) spend(along.length);
        for (const node of along) {
          if (node.place === place + 1) continue;
          node.place = place + 1;
          node.docCount += 1;
        }
      }
    }
  });
  return root;
}

/** The nodes between the root and a path, made where they are missing. A path that is not below the root has none. */
function nodesAlong(
  path: Bytes,
  { root, nodes, depth }: { root: FacetNode; nodes: Map<Bytes, FacetNode>; depth: number },
): readonly FacetNode[] {
  if (!path.startsWith(`${root.path}/`)) return [];
  const found: FacetNode[] = [];
  let above = root;
  let end = root.path.length;
  while (found.length < depth && end < path.length) {
    const slash = path.indexOf("/", end + 1);
    end = slash < 0 ? path.length : slash;
    const part = path.slice(0, end);
    let node = nodes.get(part);
    if (node === undefined) {
      node = nodeOf(part);
      nodes.set(part, node);
      above.children.push(node);
    }
    found.push(node);
    above = node;
  }
  return found;
}

function nodeOf(path: Bytes): FacetNode {
  return { path, children: [], docCount: 0, place: 0 };
}

/** The members of a node about its children, and those that it shows. */
function* childrenOf(
  node: FacetNode,
  { options, run }: { options: FacetOptions; run: Run },
): InSlices<{ members: readonly (readonly [Bytes, Reply])[]; children: readonly Reply[] }> {
  const { size, minDocCount, order } = options;
  const sign = order.isAscending ? 1 : -1;
  const byPath = (one: FacetNode, other: FacetNode): number => (one.path < other.path ? -1 : 1);
  const candidates = node.children.filter(({ docCount }) => docCount >= minDocCount);
  const at = (place: number): FacetNode => candidates[place] as FacetNode;
  const compare = (one: FacetNode, other: FacetNode): number =>
    order.by === "path" ? sign * byPath(one, other) : sign * (one.docCount - other.docCount) || byPath(one, other);
  const first = yield* firstBuckets(run, {
    count: candidates.length,
    size,
    compare: (one, other) => compare(at(one), at(other)),
  });
  const shown = first.map(at);
  let sumOtherDocCount = candidates.reduce((sum, { docCount }) => sum + docCount, 0);
  run.countBuckets(shown.length);
  const children: Reply[] = [];
  for (const child of shown) {
    sumOtherDocCount -= child.docCount;
    const below = yield* childrenOf(child, { options, run });
    const members = [["path", child.path], ["docCount", child.docCount], ...below.members] as const;
    children.push(map(below.children.length === 0 ? members : [...members, ["children", below.children]]));
  }
  return { members: [["sumOtherDocCount", sumOtherDocCount]], children };
}
