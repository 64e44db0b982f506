/**
 * Which messages are duplicates, as users see it: an id means the first message
 * accepted with it, for ten minutes. A crash takes back only what was not
 * durable. Does not check runs in which clocks step.
 */
import type { PublishOutcome, PublishRequest } from "../../../src/messaging/options/publish-request.ts";
import { check } from "./violation.ts";

interface First {
  messageId: string;
  readonly atMs: number;
  position: number;
}

/** One requested message: the first with its id, a duplicate, or one without an id. */
export interface Wanted {
  readonly isNew: boolean;
  readonly first: First | undefined;
}

export class Duplicates {
  readonly #windowMs: number;
  readonly #firsts = new Map<string, First[]>();
  #latestMs = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** The latest time that the wall clock has shown: windows that ended before it may be forgotten. */
  get latestMs(): number {
    return this.#latestMs;
  }

  /** Call before the wall clock is set back. */
  clockSeen(wallMs: number): void {
    this.#latestMs = Math.max(this.#latestMs, wallMs);
  }

  recovered(position: number): void {
    for (const [key, firsts] of this.#firsts) {
      this.#firsts.set(
        key,
        firsts.filter((first) => first.position <= position),
      );
    }
  }

  /** The expected result of publishing these in a frame at this position. `urlsOf` has the endpoints of a group. */
  expect(
    user: number,
    requests: readonly PublishRequest[],
    { nowMs, position, urlsOf }: { nowMs: number; position: number; urlsOf: (group: string) => readonly string[] },
  ): Wanted[] {
    const wanted: Wanted[] = [];
    for (const { destination, options } of requests) {
      const { deduplicationId } = options;
      const isToGroup = !destination.startsWith("https://");
      for (const url of isToGroup ? urlsOf(destination) : [""]) {
        if (deduplicationId === undefined) {
          wanted.push({ isNew: true, first: undefined });
          continue;
        }
        const key = `${user} ${deduplicationId} ${url}`;
        const firsts = this.#firsts.get(key) ?? [];
        this.#firsts.set(key, firsts);
        const known = firsts.findLast(({ atMs }) => nowMs < atMs + this.#windowMs);
        const first = known ?? { messageId: "", atMs: nowMs, position };
        if (known === undefined) firsts.push(first);
        wanted.push({ isNew: known === undefined, first });
      }
    }
    return wanted;
  }

  /** The accepted messages. */
  accepted(wanted: readonly Wanted[], ids: readonly string[]): void {
    const fresh = wanted.filter(({ isNew }) => isNew);
    check(ids.length === fresh.length, () => `${ids.length} messages are accepted, but ${fresh.length} are new`);
    for (const [index, { first }] of fresh.entries()) if (first !== undefined) first.messageId = ids[index] ?? "";
  }

  answered(wanted: readonly Wanted[], outcomes: readonly PublishOutcome[]): void {
    const all = outcomes.flatMap((outcome) => (outcome.kind === "url" ? [outcome.published] : outcome.published));
    check(all.length === wanted.length, () => `${all.length} answers for ${wanted.length} messages`);
    for (const [index, { messageId, isDeduplicated }] of all.entries()) {
      const { isNew = true, first } = wanted[index] ?? {};
      check(
        isDeduplicated === !isNew,
        () => `${messageId} is ${isDeduplicated ? "a duplicate" : "new"}, and should not be`,
      );
      if (first === undefined) continue;
      check(first.messageId === messageId, () => `${messageId} is answered, but ${first.messageId} was the first`);
    }
  }
}
