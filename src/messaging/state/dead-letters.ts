/**
 * Dead letters: messages whose delivery failed permanently, stored with their
 * last response until they are retried, deleted, or expire.
 *
 * Ids look like those of a stream, `<milliseconds>-<number>`, and grow.
 */
import type { Body } from "../bodies/body.ts";
import type { Envelope } from "../options/envelope.ts";

/** The response of the last attempt. */
export interface ResponseFacts {
  /** 0: no answer came. */
  readonly status: number;
  /** name, value, name, value, … */
  readonly headers: readonly string[];
  /** Why no answer came, or what is wrong with it; empty without an error. */
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

/** A time in ms has at most 15 digits, and so has a number. */
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

  /** The id of the next dead letter at this time. */
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

  /** The last id, for snapshots. */
  get lastId(): DeadLetterId {
    return this.#last;
  }

  restoreLastId(id: DeadLetterId): void {
    this.#last = id;
  }
}
