/** Changes of streams of bytes, for parsers that must refuse them or read them as before. */
import type { Random } from "../../src/kernel/random.ts";

interface Mutation {
  /** The bytes that are added or put in place of others. */
  readonly signs: string;
  readonly changesMax: number;
}

/** The stream after 1 to `changesMax` changes: each replaces or adds a byte, or removes 1 to 3, at a random place. */
export function mutate(stream: string, { signs, changesMax }: Mutation, random: Random): string {
  let text = stream;
  for (let i = random.below(changesMax); i >= 0; i -= 1) {
    const at = random.below(text.length + 1);
    const sign = signs.charAt(random.below(signs.length));
    const kind = random.below(3);
    if (kind === 0) text = text.slice(0, at) + sign + text.slice(at + 1);
    else if (kind === 1) text = text.slice(0, at) + sign + text.slice(at);
    else text = text.slice(0, at) + text.slice(at + 1 + random.below(3));
  }
  return text;
}
