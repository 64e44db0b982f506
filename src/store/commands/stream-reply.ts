/** Replies with entries of streams. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { ReplyBudget } from "../reply/budget.ts";
import type { Reply } from "../reply/reply.ts";
import type { StreamEntry } from "../structures/stream-chunk.ts";
import { formatId, type StreamId } from "../structures/stream-id.ts";
import type { StreamValue } from "../values/stream.ts";

/** The id, and an array that alternates names and values. */
export function entryReply(entry: StreamEntry): readonly [id: Reply, pairs: Reply] {
  const { names, values } = entry;
  const pairs: Bytes[] = [];
  for (let i = 0; i < names.length; i += 1) pairs.push(names[i] as Bytes, values[i] as Bytes);
  return [formatId(entry), pairs];
}

interface Range {
  readonly from: StreamId;
  readonly to: StreamId;
  readonly countMax: number;
  readonly isBackwards?: boolean;
}

/** The entries of a range, up to its count. Throws `replyTooLarge`. */
export function rangeReply(stream: StreamValue, range: Range, budget: ReplyBudget): Reply[] {
  const found: Reply[] = [];
  const take = (entry: StreamEntry): boolean => {
    countEntry(entry, budget);
    return found.push(entryReply(entry)) < range.countMax;
  };
  if (range.isBackwards === true) stream.entries.visitBackwards(range.from, range.to, take);
  else stream.entries.visit(range.from, range.to, take);
  return found;
}

/** Counts the bytes of an entry in a reply. */
export function countEntry({ names, values }: StreamEntry, budget: ReplyBudget): void {
  budget.take(0);
  for (const name of names) budget.take(name.length);
  for (const value of values) budget.take(value.length);
}
