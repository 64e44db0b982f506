/**
 * Two ranked lists into one, in the most obvious way (B2.rrf, B2.dbsf). A list
 * is best first. What comes back is best first too; equal ones in insertion order.
 */
import type { Fusion } from "../../src/vector/api.ts";

const round = Math.fround;

export interface Ranked<Item> {
  readonly item: Item;
  readonly score: number;
}

/** `place` is an item's place in the insertion order. */
export function fuse<Item>(
  fusion: Fusion,
  lists: readonly (readonly Ranked<Item>[])[],
  place: (item: Item) => number,
): readonly Ranked<Item>[] {
  const fused = new Map<Item, number>();
  for (const list of lists) {
    const scores = fusion === "RRF" ? byReciprocalRank(list) : byDistribution(list);
    for (const [i, { item }] of list.entries()) fused.set(item, round((fused.get(item) ?? 0) + (scores[i] ?? 0)));
  }
  return [...fused]
    .map(([item, score]) => ({ item, score }))
    .sort((one, other) => other.score - one.score || place(one.item) - place(other.item));
}

function byReciprocalRank(list: readonly Ranked<unknown>[]): readonly number[] {
  return list.map((_, rank) => round(1 / (60 + rank)));
}

function byDistribution(list: readonly Ranked<unknown>[]): readonly number[] {
  const scores = list.map(({ score }) => score);
  // Equal ones do not deviate, however their mean is rounded.
  if (scores.every((score) => score === scores[0])) return scores.map(() => 0.5);
  const mean = round(sum(scores) / scores.length);
  const squares = scores.map((score) => round(round(score - mean) * round(score - mean)));
  // Of a sample, so by one less than there are.
  const deviation = round(Math.sqrt(round(sum(squares) / (scores.length - 1))));
  const low = round(mean - round(3 * deviation));
  const high = round(mean + round(3 * deviation));
  const width = round(high - low);
  // No deviation that float32 can say.
  if (width === 0 || !Number.isFinite(width)) return scores.map(() => 0.5);
  return scores.map((score) => round(round(score - low) / width));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => round(total + value), 0);
}
