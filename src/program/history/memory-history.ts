/**
 * A history in memory, in the thread of its engine, for servers that store
 * nothing. It holds at most MEMORY_BYTES_MAX, and then drops the oldest entries.
 */
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { History } from "../../persistence/history/history.ts";
import type { HistoryPage, HistoryQuery } from "../../persistence/history/query.ts";
import { type EventsOf, HistoryBatcher } from "./batcher.ts";
import { eventsModule, lastStates } from "./events.ts";
import type { HistoryOptions, HistoryStore } from "./history-store.ts";

const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/** How long a batch waits for more frames. A listing does not wait. */
const LINGER_MS = 50;
const RETENTION_EVERY_MS = 60_000;
const REMOVAL_PAUSE_MS = 20;

export class MemoryHistory implements HistoryStore {
  onPosition: (position: number) => void = () => {};
  readonly #options: HistoryOptions;
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #history = History.open(":memory:", { lastStates });
  readonly #batcher: HistoryBatcher;
  #cancelWrite: (() => void) | undefined;
  #cancelRemoval: () => void = () => {};

  static async open(options: HistoryOptions, bytesMax = MEMORY_BYTES_MAX): Promise<MemoryHistory> {
    const module = (await import(options.eventsModule ?? eventsModule)) as { historyEventsOf: EventsOf };
    return new MemoryHistory(options, module.historyEventsOf, bytesMax);
  }

  private constructor(options: HistoryOptions, eventsOf: EventsOf, bytesMax: number) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#bytesMax = bytesMax;
    this.#batcher = new HistoryBatcher(eventsOf);
    this.#removeLater(RETENTION_EVERY_MS);
  }

  get position(): number {
    return this.#history.position;
  }

  durableTo(): void {}

  append(frame: Uint8Array, position: number): void {
    this.#batcher.add(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength), position);
    if (this.#batcher.isFull) this.#write();
    else this.#cancelWrite ??= this.#clock.real.after(LINGER_MS, () => this.#write());
  }

  async list(query: HistoryQuery): Promise<HistoryPage> {
    this.#write();
    return this.#history.list(query);
  }

  async close(): Promise<void> {
    this.#cancelWrite?.();
    this.#cancelRemoval();
    this.#history.close();
  }

  #write(): void {
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    if (this.#batcher.isEmpty) return;
    this.#history.write(this.#batcher.batch);
    this.#batcher.clear();
    while (this.#history.usedBytes > this.#bytesMax && this.#history.removeOldest());
    this.onPosition(this.position);
  }

  #removeLater(delayMs: number): void {
    this.#cancelRemoval = this.#clock.housekeep(delayMs, () => {
      const timeMs = this.#clock.nowMs() - this.#options.retentionMs;
      const isMore = this.#history.removeBefore(timeMs) || this.#history.shrinkSome();
      this.#removeLater(isMore ? REMOVAL_PAUSE_MS : RETENTION_EVERY_MS);
    });
  }
}
