/** Collects frames of the journal into one batch for the history. */
import type { HistoryBatch, HistoryEntry, HistoryMessage } from "../../persistence/history/record.ts";

/** The history events of one frame. The frame is only valid during the call. */
export type EventsOf = (frame: Buffer) => {
  readonly messages: readonly HistoryMessage[];
  readonly entries: readonly HistoryEntry[];
  readonly droppedUsers?: readonly number[];
};

/** A batch of so many entries takes some 30 ms to write. bench/history.bench.ts */
const BATCH_ENTRIES = 5_000;
const BATCH_BYTES = 8 * 1024 * 1024;

export class HistoryBatcher {
  readonly #eventsOf: EventsOf;
  #messages: HistoryMessage[] = [];
  #entries: HistoryEntry[] = [];
  #droppedUsers: number[] = [];
  #position = 0;
  #bytes = 0;
  #isEmpty = true;

  constructor(eventsOf: EventsOf) {
    this.#eventsOf = eventsOf;
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** It should be written before more is added. The deletion of a user ends its batch. */
  get isFull(): boolean {
    return this.#entries.length >= BATCH_ENTRIES || this.#bytes >= BATCH_BYTES || this.#droppedUsers.length > 0;
  }

  get batch(): HistoryBatch {
    return {
      messages: this.#messages,
      entries: this.#entries,
      position: this.#position,
      droppedUsers: this.#droppedUsers,
    };
  }

  /** Adds the events of a frame; `position` is after it. */
  add(frame: Buffer, position: number): void {
    const { messages, entries, droppedUsers = [] } = this.#eventsOf(frame);
    for (const message of messages) this.#messages.push(message);
    for (const entry of entries) this.#entries.push(entry);
    for (const user of droppedUsers) this.#droppedUsers.push(user);
    this.#bytes += frame.length;
    this.skipTo(position);
  }

  /** The frames up to `position` have no events, or cannot be read. */
  skipTo(position: number): void {
    this.#position = position;
    this.#isEmpty = false;
  }

  clear(): void {
    this.#messages = [];
    this.#entries = [];
    this.#droppedUsers = [];
    this.#bytes = 0;
    this.#isEmpty = true;
  }
}
