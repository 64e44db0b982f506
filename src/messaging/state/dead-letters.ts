/**
 * Dead letters: messages whose delivery failed for good, kept with their last
 * response until somebody retries or deletes them, or their time is over.
 *
 * Ids look like those of a stream, `<milliseconds>-<number>`, and grow.
 */
import type { Body } from "../bodies/body.ts";
import type { Envelope } from "../options/envelope.ts";

/** What came back from the last attempt. */
export interface ResponseFacts {
  /** 0: no answer came. */
  readonly status: number;
  /** name, value, name, value, … */
  readonly headers: readonly string[];
  /** Why there is no answer, or what is wrong with it; empty: nothing to say. */
  readonly error: string;
}

export interface DeadLetter {
  readonly id: DeadLetterId;
  readonly envelope: Envelope;
  readonly body: Body;
  readonly sequence: number;
  readonly nonce: number;
  readonly createdAtMs: number;
  readonly notBeforeMs: number;
  readonly retried: number;
  readonly response: ResponseFacts;
  readonly responseBody: Body;
}

export interface DeadLetterId {
  readonly ms: number;
  readonly number: number;
}

export function deadLetterIdText({ ms, number }: DeadLetterId): string {
  return `${ms}-${number}`;
}

/** A moment in ms has 15 digits at most, and so has a number. */
const ID_PATTERN = /^(0|[1-9]\d{0,14})-(0|[1-9]\d{0,14})$/;

export function parseDeadLetterId(text: string): DeadLetterId | undefined {
  const match = ID_PATTERN.exec(text);
  return match === null ? undefined : { ms: Number(match[1]), number: Number(match[2]) };
}

export class DeadLetters {
  /** In the order of their ids, because ids grow. */
  readonly #byId = new Map<string, DeadLetter>();
  #last: DeadLetterId = { ms: 0, number: 0 };

  get size(): number {
    return this.#byId.size;
  }

  /** The id after all that were given out, at this moment. */
  nextId(nowMs: number): DeadLetterId {
    const { ms, number } = this.#last;
    return nowMs > ms ? { ms: nowMs, number: 0 } : { ms, number: number + 1 };
  }

  add(deadLetter: DeadLetter): void {
    this.#byId.set(deadLetterIdText(deadLetter.id), deadLetter);
    this.#last = deadLetter.id;
  }

  get(id: string): DeadLetter | undefined {
    return this.#byId.get(id);
  }

  delete(id: string): void {
    this.#byId.delete(id);
  }

  get oldest(): DeadLetter | undefined {
    for (const deadLetter of this.#byId.values()) return deadLetter;
    return undefined;
  }

  /** Oldest first. */
  values(): IterableIterator<DeadLetter> {
    return this.#byId.values();
  }

  /** The last id given out, for snapshots. */
  get lastId(): DeadLetterId {
    return this.#last;
  }

  restoreLastId(id: DeadLetterId): void {
    this.#last = id;
  }
}
