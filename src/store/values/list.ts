/**
 * A list: byte strings in order, with fast ends.
 *
 * The elements are in blocks, and above the blocks is a counted tree: every
 * branch has the number of elements below it. So an element is found by its
 * index in a few steps, whole blocks and branches can be dropped at once, and
 * a change moves at most a block and the children of a few branches.
 * A list of up to 128 elements is one block.
 *
 * (1) All blocks have the same depth. No block and no branch is empty, except
 *     the one block of an empty list.
 * (2) The counts of a branch are the sums of those of its children.
 * (3) Blocks that change are open (see `list-block.ts`). In a list of several,
 *     `#open` has the most recently used ones, the latest first; a block that
 *     leaves it is packed. So all but a few blocks are packed.
 * (4) A push to or a pop from an end changes only the block of that edge. The branches above it are updated when their
 *     counts are needed. Until then (2) holds except for the changes recorded in the edges.
 * (5) The block of an edge is the first or last one of a list that has branches. Other changes that may replace that
 *     block drop the edges.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { BLOCK_ELEMENTS_MAX, ListBlock } from "../structures/list-block.ts";

/** 64: three levels of branches for 33 million elements. */
const CHILDREN_MAX = 64;
/** Neighbours that together fill at most half of a block or branch are merged. */
const MERGE_ELEMENTS_MAX = BLOCK_ELEMENTS_MAX / 2;
const MERGE_CHILDREN_MAX = CHILDREN_MAX / 2;
/** Up to this many elements are popped one by one instead of cut off. */
const POPPED_MAX = 4;
/** Both ends with one neighbour each, for a queue whose length varies around the border of two blocks. */
const OPEN_BLOCKS_MAX = 4;

/** Memory of a list beside its elements, and of an element beside its bytes, in an open and in a packed block. */
const LIST_BYTES = 250;
const OPEN_ELEMENT_BYTES = 28;
const PACKED_ELEMENT_BYTES = 2;

/** An end of a list with branches. */
interface Edge {
  /** Absent: must be looked up. It may have been packed since. */
  block: ListBlock | undefined;
  /** Elements and bytes that were added to the block but not yet to the branches. */
  count: number;
  contentBytes: number;
}

interface Branch {
  count: number;
  contentBytes: number;
  readonly children: Node[];
}

type Node = ListBlock | Branch;

/** A range of a list: from one index up to, not including, another. */
export interface ListRange {
  readonly from: number;
  readonly to: number;
  /** In reverse order. */
  readonly backwards?: boolean;
}

interface Walk extends Required<ListRange> {
  readonly visit: (element: Bytes, index: number) => boolean;
}

export class ListValue {
  readonly typeName = "list";
  #root: Node = new ListBlock([]);
  /** Absent without branches, as `#edges` is: most lists are short. */
  #open: ListBlock[] | undefined;
  #edges: { readonly first: Edge; readonly last: Edge } | undefined;
  #work = 0;

  /** A list that takes over this array of elements. */
  static from(elements: readonly Bytes[]): ListValue {
    const list = new ListValue();
    for (const element of elements) list.pushLast(element);
    return list;
  }

  get length(): number {
    const edges = this.#edges;
    return edges === undefined ? this.#root.count : this.#root.count + edges.first.count + edges.last.count;
  }

  /** Nodes visited, and elements moved between the forms of a block, so far. Only grows; complexity tests read it. */
  get work(): number {
    return this.#work;
  }

  /** Approximate memory of the list. */
  get memoryBytes(): number {
    const count = this.length;
    const edges = this.#edges;
    const grownBytes = edges === undefined ? 0 : edges.first.contentBytes + edges.last.contentBytes;
    const contentBytes = this.#root.contentBytes + grownBytes;
    if (this.#root instanceof ListBlock) return LIST_BYTES + contentBytes + count * OPEN_ELEMENT_BYTES;
    const openCount = Math.min(count, OPEN_BLOCKS_MAX * BLOCK_ELEMENTS_MAX);
    return LIST_BYTES + contentBytes + count * PACKED_ELEMENT_BYTES + openCount * OPEN_ELEMENT_BYTES;
  }

  pushFirst(element: Bytes): void {
    const edge = this.#edges?.first;
    const block = edge?.block;
    if (edge === undefined || block === undefined || block.count === BLOCK_ELEMENTS_MAX || !block.isOpen) {
      this.#settleEdges();
      this.#insert(0, element);
      this.#findEdge("first");
      return;
    }
    block.insert(0, element);
    grow(edge, 1, element.length); // keeps (4)
    this.#work += 1;
  }

  pushLast(element: Bytes): void {
    const edge = this.#edges?.last;
    const block = edge?.block;
    if (edge === undefined || block === undefined || block.count === BLOCK_ELEMENTS_MAX || !block.isOpen) {
      this.#settleEdges();
      this.#insert(this.#root.count, element);
      this.#findEdge("last");
      return;
    }
    block.insert(block.count, element);
    grow(edge, 1, element.length); // keeps (4)
    this.#work += 1;
  }

  /** The list must not be empty. */
  popFirst(): Bytes {
    const edge = this.#edges?.first;
    const block = edge?.block;
    if (edge === undefined || block === undefined || block.count === 1 || !block.isOpen) {
      this.#settleEdges();
      const element = this.#take(0);
      this.#findEdge("first");
      return element;
    }
    const element = block.take(0);
    grow(edge, -1, -element.length); // keeps (4)
    this.#work += 1;
    return element;
  }

  /** The list must not be empty. */
  popLast(): Bytes {
    const edge = this.#edges?.last;
    const block = edge?.block;
    if (edge === undefined || block === undefined || block.count === 1 || !block.isOpen) {
      this.#settleEdges();
      const element = this.#take(this.#root.count - 1);
      this.#findEdge("last");
      return element;
    }
    const element = block.take(block.count - 1);
    grow(edge, -1, -element.length); // keeps (4)
    this.#work += 1;
    return element;
  }

  /**
   * The element at an index from 0 to length - 1. It may be a slice that keeps a longer string alive: use it in
   * a reply, do not store it.
   */
  at(index: number): Bytes {
    this.#settleEdges();
    let node = this.#root;
    let rest = index;
    this.#work += 1;
    while (!(node instanceof ListBlock)) {
      const place = placeOf(node, rest);
      rest -= place.before;
      node = place.child;
      this.#work += 1;
    }
    return node.at(rest);
  }

  set(index: number, element: Bytes): void {
    this.#settleEdges();
    let node = this.#root;
    let rest = index;
    const path: Node[] = [node];
    while (!(node instanceof ListBlock)) {
      const place = placeOf(node, rest);
      rest -= place.before;
      node = place.child;
      path.push(node);
    }
    this.#work += path.length;
    this.#use(node);
    const before = node.contentBytes;
    node.set(rest, element);
    const grown = node.contentBytes - before;
    for (const above of path) if (above !== node) above.contentBytes += grown;
  }

  /** Inserts an element before `index`, or at the end. */
  insert(index: number, element: Bytes): void {
    this.#releaseEdges();
    this.#insert(index, element);
  }

  /** Removes the element at an index, which must exist. */
  removeAt(index: number): void {
    this.#releaseEdges();
    this.#take(index);
  }

  /** Removes a number of elements from the front. */
  dropFirst(count: number): void {
    this.keep(count, this.length);
  }

  /** Removes a number of elements from the back. */
  dropLast(count: number): void {
    this.keep(0, this.length - count);
  }

  /** Trims the list to the elements from one index up to, not including, another; drops whole blocks where it can. */
  keep(from: number, to: number): void {
    const length = this.length;
    // A list with bounded length loses one element for each push.
    if (from < to && from + length - to <= POPPED_MAX) {
      for (let left = from; left > 0; left -= 1) this.popFirst();
      for (let left = length - to; left > 0; left -= 1) this.popLast();
      return;
    }
    this.#releaseEdges();
    if (from >= to) {
      this.#root = new ListBlock([]);
      this.#open = undefined;
      return;
    }
    this.#keepBelow(this.#root, from, to);
    this.#shrinkRoot();
  }

  /** Removes at most `countMax` elements that equal `element`, from the front or the back. Returns how many. */
  removeEqual(element: Bytes, options: { countMax: number; backwards: boolean }): number {
    this.#releaseEdges();
    const removed = this.#removeBelow(this.#root, element, options);
    this.#shrinkRoot();
    return removed;
  }

  /** Calls `visit` for the elements of a range until it returns false. They are slices as from `at`. */
  visit(range: ListRange, visit: (element: Bytes, index: number) => boolean): void {
    const { from, to, backwards = false } = range;
    this.#settleEdges();
    if (from < to) this.#visitBelow(this.#root, 0, { from, to, backwards, visit });
  }

  /** All elements; they are slices as from `at`. */
  elements(): Bytes[] {
    const elements: Bytes[] = [];
    this.visit({ from: 0, to: this.length }, (element) => elements.push(element) > 0);
    return elements;
  }

  /** True while it is small enough to be saved as a whole, with `restorer`. */
  get isCompact(): boolean {
    return this.#root instanceof ListBlock;
  }

  /** Makes it what it is now. It must be compact. */
  restorer(): () => void {
    const saved = this.copy().#root as ListBlock;
    return () => {
      this.#root = saved;
      this.#open = undefined;
      this.#edges = undefined;
      this.#use(saved); // keeps (3)
    };
  }

  copy(): ListValue {
    this.#settleEdges();
    const copy = new ListValue();
    copy.#root = copyOf(this.#root);
    // keeps (3): a list of one block stays open.
    if (copy.#root instanceof ListBlock) copy.#use(copy.#root);
    return copy;
  }

  #insert(index: number, element: Bytes): void {
    const left = this.#root;
    const right = this.#insertBelow(left, index, element);
    if (right === undefined) return;
    this.#root = branchOf([left, right]);
    // keeps (3): the block that was the whole list is one of several from now on.
    for (const node of [left, right]) if (node instanceof ListBlock && node.isOpen) this.#use(node);
  }

  #insertBelow(node: Node, index: number, element: Bytes): Node | undefined {
    this.#work += 1;
    if (node instanceof ListBlock) return this.#insertInBlock(node, index, element);
    let child: Node;
    let at: number;
    if (index === node.count) {
      at = node.children.length - 1;
      child = node.children[at] as Node;
      index = child.count;
    } else {
      // At a border the element is appended to the left block, unless it is the very first.
      const place = placeOf(node, index === 0 ? 0 : index - 1);
      ({ at, child } = place);
      index -= place.before;
    }
    const right = this.#insertBelow(child, index, element);
    node.count += 1;
    node.contentBytes += element.length;
    if (right === undefined) return undefined;
    const { children } = node;
    children.splice(at + 1, 0, right);
    if (children.length <= CHILDREN_MAX) return undefined;
    // A branch that grows at an end stays full.
    const start = at + 2 === children.length ? at + 1 : at === 0 ? 1 : children.length >> 1;
    const moved = branchOf(children.splice(start));
    node.count -= moved.count;
    node.contentBytes -= moved.contentBytes;
    return moved;
  }

  #insertInBlock(block: ListBlock, index: number, element: Bytes): ListBlock | undefined {
    if (block.count < BLOCK_ELEMENTS_MAX) {
      this.#use(block);
      block.insert(index, element);
      return undefined;
    }
    // A block that grows at an end stays full.
    if (index === block.count) {
      const right = new ListBlock([element]);
      this.#use(right);
      return right;
    }
    let right: ListBlock;
    if (index === 0) {
      right = block.moveAll();
      if (right.isOpen) this.#use(right);
      this.#use(block);
      block.insert(0, element);
      return right;
    }
    this.#use(block);
    const middle = block.count >> 1;
    right = block.split(middle);
    this.#work += right.count;
    this.#use(right);
    if (index <= middle) block.insert(index, element);
    else right.insert(index - middle, element);
    return right;
  }

  #take(index: number): Bytes {
    const element = this.#takeBelow(this.#root, index);
    this.#shrinkRoot();
    return element;
  }

  #takeBelow(node: Node, index: number): Bytes {
    this.#work += 1;
    if (node instanceof ListBlock) {
      this.#use(node);
      return node.take(index);
    }
    const { at, child, before } = placeOf(node, index);
    const element = this.#takeBelow(child, index - before);
    node.count -= 1;
    node.contentBytes -= element.length;
    if (child.count === 0) node.children.splice(at, 1); // keeps (1)
    return element;
  }

  /** At least one element below the node remains. */
  #keepBelow(node: Node, from: number, to: number): void {
    this.#work += 1;
    if (from === 0 && to === node.count) return;
    if (node instanceof ListBlock) {
      this.#use(node);
      node.keep(from, to);
      return;
    }
    const { children } = node;
    const first = placeOf(node, from);
    const last = placeOf(node, to - 1);
    if (first.at === last.at) {
      this.#keepBelow(first.child, from - first.before, to - first.before);
    } else {
      this.#keepBelow(first.child, from - first.before, first.child.count);
      this.#keepBelow(last.child, 0, to - last.before);
    }
    if (first.at > 0 || last.at < children.length - 1) {
      children.splice(last.at + 1);
      children.splice(0, first.at);
      this.#settle();
    }
    recount(node); // keeps (2)
  }

  #removeBelow(node: Node, element: Bytes, options: { countMax: number; backwards: boolean }): number {
    this.#work += 1;
    if (node instanceof ListBlock) {
      if (!node.range(0, node.count).includes(element)) return 0;
      this.#use(node);
      return node.removeEqual(element, options);
    }
    const { children } = node;
    const { countMax, backwards } = options;
    let removed = 0;
    for (let step = 0; step < children.length && removed < countMax; step += 1) {
      const child = children[backwards ? children.length - 1 - step : step] as Node;
      removed += this.#removeBelow(child, element, { countMax: countMax - removed, backwards });
    }
    if (removed > 0) {
      this.#mergeChildren(children);
      recount(node); // keeps (2)
    }
    return removed;
  }

  /** Drops empty children and merges small neighbours: keeps (1). */
  #mergeChildren(children: Node[]): void {
    let end = 0;
    for (const child of children) {
      if (child.count === 0) continue;
      const previous = end === 0 ? undefined : (children[end - 1] as Node);
      if (previous === undefined || !this.#merge(previous, child)) children[end++] = child;
    }
    if (end === children.length) return;
    children.length = end;
    this.#settle();
  }

  #merge(node: Node, next: Node): boolean {
    if (node instanceof ListBlock && next instanceof ListBlock) {
      if (node.count + next.count > MERGE_ELEMENTS_MAX) return false;
      this.#use(next);
      this.#use(node);
      node.absorb(next);
      this.#work += next.count;
    } else if (!(node instanceof ListBlock) && !(next instanceof ListBlock)) {
      if (node.children.length + next.children.length > MERGE_CHILDREN_MAX) return false;
      node.children.push(...next.children);
      recount(node); // keeps (2)
    }
    return true;
  }

  /** `base` is the index of the first element below the node. False if `visit` stopped it. */
  #visitBelow(node: Node, base: number, walk: Walk): boolean {
    const from = Math.max(0, walk.from - base);
    const to = Math.min(node.count, walk.to - base);
    this.#work += 1;
    if (node instanceof ListBlock) {
      const elements = node.range(from, to);
      const count = elements.length;
      for (let step = 0; step < count; step += 1) {
        const index = walk.backwards ? count - 1 - step : step;
        if (!walk.visit(elements[index] as Bytes, base + from + index)) return false;
      }
      return true;
    }
    const { children } = node;
    const first = placeOf(node, from);
    const last = placeOf(node, to - 1);
    if (walk.backwards) {
      let end = base + last.before + last.child.count;
      for (let at = last.at; at >= first.at; at -= 1) {
        const child = children[at] as Node;
        end -= child.count;
        if (!this.#visitBelow(child, end, walk)) return false;
      }
      return true;
    }
    let start = base + first.before;
    for (let at = first.at; at <= last.at; at += 1) {
      const child = children[at] as Node;
      if (!this.#visitBelow(child, start, walk)) return false;
      start += child.count;
    }
    return true;
  }

  #shrinkRoot(): void {
    while (!(this.#root instanceof ListBlock) && this.#root.children.length <= 1)
      this.#root = this.#root.children[0] ?? new ListBlock([]);
    if (this.#root instanceof ListBlock) this.#open = undefined;
  }

  /** Updates the branches with the changes of the edges: the end of (4). */
  #settleEdges(): void {
    const edges = this.#edges;
    if (edges === undefined) return;
    this.#settleEdge(edges.first, "first");
    this.#settleEdge(edges.last, "last");
  }

  #settleEdge(edge: Edge, end: "first" | "last"): void {
    if (edge.count === 0 && edge.contentBytes === 0) return;
    for (let node = this.#root; !(node instanceof ListBlock); node = childAt(node, end)) {
      node.count += edge.count;
      node.contentBytes += edge.contentBytes;
    }
    edge.count = 0;
    edge.contentBytes = 0;
  }

  /** Drops the edges before a change that may replace their blocks: keeps (5). */
  #releaseEdges(): void {
    this.#settleEdges();
    this.#edges = undefined;
  }

  /** Looks up the block of an edge after a change of its end; keeps the other edge unless the branches are gone. */
  #findEdge(end: "first" | "last"): void {
    let node = this.#root;
    if (node instanceof ListBlock) {
      this.#edges = undefined;
      return;
    }
    while (!(node instanceof ListBlock)) node = childAt(node, end);
    this.#edges ??= { first: newEdge(), last: newEdge() };
    this.#edges[end].block = node;
  }

  /** Opens a block that will change: keeps (3). */
  #use(block: ListBlock): void {
    if (block === this.#root) {
      this.#work += block.open();
      return;
    }
    this.#open ??= [];
    const open = this.#open;
    if (open[0] === block) return;
    const index = open.indexOf(block);
    if (index > 0) open.splice(index, 1);
    else this.#work += block.open();
    open.unshift(block);
    if (open.length > OPEN_BLOCKS_MAX) this.#work += open.pop()?.pack() ?? 0;
  }

  /** Packs the open blocks: some may have left the list and must not be kept alive. */
  #settle(): void {
    for (const block of this.#open ?? []) this.#work += block.pack();
    this.#open = undefined;
  }
}

function newEdge(): Edge {
  return { block: undefined, count: 0, contentBytes: 0 };
}

function grow(edge: Edge, count: number, contentBytes: number): void {
  edge.count += count;
  edge.contentBytes += contentBytes;
}

function childAt({ children }: Branch, end: "first" | "last"): Node {
  return children[end === "first" ? 0 : children.length - 1] as Node;
}

function branchOf(children: Node[]): Branch {
  const branch: Branch = { count: 0, contentBytes: 0, children };
  recount(branch);
  return branch;
}

function recount(branch: Branch): void {
  branch.count = 0;
  branch.contentBytes = 0;
  for (const child of branch.children) {
    branch.count += child.count;
    branch.contentBytes += child.contentBytes;
  }
}

/** The child that contains the element at `index` of a branch, and the number of elements before it. */
function placeOf(branch: Branch, index: number): { at: number; child: Node; before: number } {
  const { children, count } = branch;
  if (index < count / 2) {
    let before = 0;
    for (let at = 0; ; at += 1) {
      const child = children[at] as Node;
      if (index < before + child.count) return { at, child, before };
      before += child.count;
    }
  }
  let before = count;
  for (let at = children.length - 1; ; at -= 1) {
    const child = children[at] as Node;
    before -= child.count;
    if (index >= before) return { at, child, before };
  }
}

function copyOf(node: Node): Node {
  if (!(node instanceof ListBlock))
    return { count: node.count, contentBytes: node.contentBytes, children: node.children.map(copyBelow) };
  return node.copy();
}

function copyBelow(node: Node): Node {
  const copy = copyOf(node);
  if (copy instanceof ListBlock) copy.pack();
  return copy;
}
