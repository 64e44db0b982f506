/**
 * Replies in the model of JSON and RESP2: a scalar, or a list of replies. Maps are
 * flat lists, and sets are lists. The encoders walk lists with an explicit stack,
 * so a deeply nested reply cannot overflow the call stack.
 */
import type { Reply } from "../../store/mod.ts";
import { pairsOf } from "../../store/reply/mod.ts";

/** The elements of an aggregate, maps flattened; undefined for a scalar. */
export function itemsOf(reply: Reply): readonly Reply[] | undefined {
  if (typeof reply !== "object" || reply === null) return undefined;
  if (isList(reply)) return reply;
  if (!("kind" in reply)) return undefined;
  if (reply.kind === "set") return reply.members;
  if (reply.kind === "push" || reply.kind === "flat pairs") return reply.items;
  if (reply.kind === "pairs") return reply.pairs;
  if (reply.kind === "array in resp3") return itemsOf(reply.elsewhere);
  return reply.kind === "map" ? flattened(reply.pairs) : undefined;
}

/** Like `itemsOf`, for RESP3: pairs are maps, or arrays of two. */
export function itemsOfResp3(reply: Reply): readonly Reply[] | undefined {
  if (typeof reply !== "object" || reply === null || !("kind" in reply)) return itemsOf(reply);
  if (reply.kind === "pairs") return flattened(reply.pairs);
  if (reply.kind === "array in resp3") return reply.items;
  return reply.kind === "flat pairs" ? pairsOf(reply.items) : itemsOf(reply);
}

function flattened(pairs: readonly (readonly [Reply, Reply])[]): readonly Reply[] {
  const items: Reply[] = [];
  for (const [name, value] of pairs) items.push(name, value);
  return items;
}

function isList(reply: object): reply is readonly Reply[] {
  return Array.isArray(reply);
}

/** A list that is being printed: its items, and how many are done. */
export interface ListCursor {
  readonly items: readonly Reply[];
  done: number;
}
