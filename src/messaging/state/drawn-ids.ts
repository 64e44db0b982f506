/** Ids that are drawn, not counted: of schedules that were given none, and of the tokens that deliveries are signed with. */
import type { Random } from "../../kernel/random.ts";
import { type IdPrefix, idText } from "./message-id.ts";

/** A number that nobody can guess: 0 to 2^53 - 1. */
export function drawNonce(random: Random): number {
  return Math.floor(random.unit() * 2 ** 53);
}

export function drawId(prefix: IdPrefix, random: Random): string {
  return idText(prefix, { sequence: drawNonce(random), nonce: drawNonce(random) });
}
