/**
 * Merges two ranked lists in the most obvious way (B2.rrf, B2.dbsf). A list is
 * best first, and so is the result; equal scores are in insertion order.
 */
import type { Fusion } from "../../../../src/vector/api.ts";

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
  // Equal scores do not deviate, however their mean is rounded.
  if (scores.every((score) => score === scores[0])) return scores.map(() => 0.5);
  const mean = round(sum(scores) / scores.length);
  const squares = scores.map((score) => round(round(score - mean) * round(score - mean)));
  // Of a sample, so the divisor is one less than the count.
  const deviation = round(Math.sqrt(round(sum(squares) / (scores.length - 1))));
  const low = round(mean - round(3 * deviation));
  const high = round(mean + round(3 * deviation));
  const width = round(high - low);
  // float32 cannot represent this deviation.
  if (width === 0 || !Number.isFinite(width)) return scores.map(() => 0.5);
  return scores.map((score) => round(round(score - low) / width));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => round(total + value), 0);
}
