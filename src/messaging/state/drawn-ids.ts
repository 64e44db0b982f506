/** Random numbers and ids: nonces of messages, ids of schedules, runs and signature tokens. */
import type { Random } from "../../kernel/random.ts";
import type { MessageFacts } from "./message.ts";
import { type IdPrefix, idText } from "./message-id.ts";
import type { MessagingState } from "./messaging-state.ts";

/** A number that cannot be guessed: 0 to 2^53 - 1. */
export function drawNonce(random: Random): number {
  return Math.floor(random.unit() * 2 ** 53);
}

export function drawId(prefix: IdPrefix, random: Random): string {
  return idText(prefix, { sequence: drawNonce(random), nonce: drawNonce(random) });
}

/** The facts of the next message. */
export function newFacts(
  { state, random }: { readonly state: MessagingState; readonly random: Random },
  { nowMs, notBeforeMs, slotOwner }: { nowMs: number; notBeforeMs: number; slotOwner: number },
): MessageFacts {
  const nonce = drawNonce(random);
  return { sequence: state.sequenceMax + 1, nonce, createdAtMs: nowMs, notBeforeMs, slotOwner };
}
