/**
 * Follows a path through a document (RFC 9535, 2.3 to 2.5), with one difference:
 * matches of `..` below a node come before those in the node itself, which is
 * the order that the official client's tests expect (A.particulars.json-order).
 *
 * Each match refers to the match that contains it, so its location costs nothing
 * until it is needed.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { filterHolds } from "./filter.ts";
import { isContainer, type JsonNode } from "./node.ts";
import { JsonObject } from "./object.ts";
import type { Query, Segment, Selector } from "./path.ts";
import type { StepBudget } from "./step-budget.ts";

export interface Match {
  readonly node: JsonNode;
  /** The name or the index in the container above; undefined for the root. */
  readonly step: Bytes | number | undefined;
  readonly parent: Match | undefined;
}

/** The location of a node: names and indexes from the root on. */
export type Location = readonly (Bytes | number)[];

/** All matches of a path, in order; a node may occur several times. Throws when the budget is used up. */
export function matchesOf(root: JsonNode, segments: readonly Segment[], budget: StepBudget): readonly Match[] {
  return new Walk(root, budget).follow({ node: root, step: undefined, parent: undefined }, segments);
}

export function locationOf(match: Match): Location {
  const steps: (Bytes | number)[] = [];
  for (let at: Match | undefined = match; at?.step !== undefined; at = at.parent) steps.push(at.step);
  return steps.reverse();
}

/** The number of steps to a match. */
export function depthOf(match: Match): number {
  let depth = 0;
  for (let at: Match | undefined = match; at?.step !== undefined; at = at.parent) depth += 1;
  return depth;
}

/** The walk of one command, including the paths of its filters. */
export class Walk {
  readonly #root: JsonNode;
  readonly budget: StepBudget;

  constructor(root: JsonNode, budget: StepBudget) {
    this.#root = root;
    this.budget = budget;
  }

  /** The nodes of a path in a filter that tests `node`. */
  query({ isAbsolute, segments }: Query, node: JsonNode): readonly Match[] {
    return this.follow({ node: isAbsolute ? this.#root : node, step: undefined, parent: undefined }, segments);
  }

  follow(from: Match, segments: readonly Segment[]): readonly Match[] {
    let matches: Match[] = [from];
    for (const segment of segments) {
      const found: Match[] = [];
      for (const match of matches) {
        for (const from of segment.isDescendant ? this.#containersFrom(match) : [match])
          this.#select(from, segment, found);
      }
      matches = found;
    }
    return matches;
  }

  /**
   * A node and all containers below it, each after those below it. All are listed before any is visited: a filter may
   * descend again, and the depths of nested descents would add up on the stack.
   */
  #containersFrom(match: Match, containers: Match[] = []): readonly Match[] {
    this.#visit(match, (child) => {
      if (isContainer(child.node)) this.#containersFrom(child, containers);
    });
    containers.push(match);
    return containers;
  }

  #select(match: Match, { selectors }: Segment, found: Match[]): void {
    if (!isContainer(match.node)) return;
    for (const selector of selectors) this.#apply(selector, match, found);
    this.budget.hold(found.length);
  }

  #apply(selector: Selector, match: Match, found: Match[]): void {
    const { node } = match;
    this.budget.spend(1);
    switch (selector.kind) {
      case "name": {
        const member = node instanceof JsonObject ? node.get(selector.name) : undefined;
        if (member !== undefined) found.push({ node: member, step: selector.name, parent: match });
        return;
      }
      case "index": {
        if (!Array.isArray(node)) return;
        const index = selector.index < 0 ? node.length + selector.index : selector.index;
        const element = node[index];
        if (element !== undefined) found.push({ node: element, step: index, parent: match });
        return;
      }
      case "wildcard":
        this.#visit(match, (child) => found.push(child));
        return;
      case "slice":
        if (Array.isArray(node)) this.#slice(selector, match, { elements: node, found });
        return;
      case "filter":
        this.#visit(match, (child) => {
          if (filterHolds(selector.test, child.node, this)) found.push(child);
        });
        return;
      default:
        selector satisfies never;
    }
  }

  #slice(
    { start, end, step }: Extract<Selector, { kind: "slice" }>,
    parent: Match,
    { elements, found }: { elements: readonly JsonNode[]; found: Match[] },
  ): void {
    if (step === 0) return;
    const count = elements.length;
    const isForward = step > 0;
    const from = boundOf(start ?? (isForward ? 0 : count - 1), { count, isForward });
    const to = end === undefined ? (isForward ? count : -1) : boundOf(end, { count, isForward });
    for (let index = from; isForward ? index < to : index > to; index += step) {
      this.budget.spend(1);
      found.push({ node: elements[index] as JsonNode, step: index, parent });
    }
  }

  #visit(parent: Match, each: (child: Match) => void): void {
    const { node } = parent;
    if (Array.isArray(node)) {
      for (let index = 0; index < node.length; index += 1) {
        this.budget.spend(1);
        each({ node: node[index] as JsonNode, step: index, parent });
      }
    } else if (node instanceof JsonObject) {
      node.visit((name, member) => {
        this.budget.spend(1);
        each({ node: member, step: name, parent });
      });
    }
  }
}

/** RFC 9535, 2.3.4.2.2: an end of a slice, counted from the front and clamped for its direction. */
function boundOf(given: number, { count, isForward }: { count: number; isForward: boolean }): number {
  const place = given < 0 ? count + given : given;
  return isForward ? Math.min(Math.max(place, 0), count) : Math.min(Math.max(place, -1), count - 1);
}
