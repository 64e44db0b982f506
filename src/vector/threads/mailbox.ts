/**
 * The shared memory through which the owner of an index gives tasks to one
 * thread.
 *
 *     WAKE      | counts messages and tasks; the thread waits for its change      |
 *     SLEEPS    | 1: the owner wants a message when a task ends                   |
 *     STOPS     | 1: the thread should end                                        |
 *     READY     | 1: the thread takes tasks                                       |
 *     STATES    | the state of each slot                                          |
 *
 *     slot      | HEADER words | query, blocks, bits | result, over the header's count of words |
 *
 * (1) A slot is written by the owner while it is FREE, and by the thread while it
 *     is SENT. Each change of state is an atomic store after the writing, and an
 *     atomic load before the reading.
 * (2) A thread that goes to sleep has seen the last WAKE and no sent slot; an
 *     owner that sets SLEEPS looks at the states once more. So nothing is missed.
 */

/** Tasks that one thread has at a time: one that runs, and the next, so that it need not wait for the owner. */
export const SLOT_COUNT = 4;
/** The words of a slot before its query. */
export const HEADER_WORDS = 16;

const FREE = 0;
const SENT = 1;
const DONE = 2;
const FAILED = 3;

const WAKE = 0;
const SLEEPS = 1;
const STOPS = 2;
const READY = 3;
const STATES = 4;

const SLOT_BYTES_FIRST = 32_768;

/** The memory of a slot. */
export class Slot {
  readonly buffer: SharedArrayBuffer;
  readonly words: Uint32Array;
  readonly floats: Float32Array;
  readonly doubles: Float64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.words = new Uint32Array(buffer);
    this.floats = new Float32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }

  static ofWords(wordCount: number): Slot {
    let bytes = SLOT_BYTES_FIRST;
    while (bytes < wordCount * Uint32Array.BYTES_PER_ELEMENT) bytes *= 2;
    return new Slot(new SharedArrayBuffer(bytes));
  }
}

export type SlotOutcome = "free" | "sent" | "done" | "failed";

const outcomes: readonly SlotOutcome[] = ["free", "sent", "done", "failed"];

export class Mailbox {
  readonly buffer: SharedArrayBuffer;
  readonly #control: Int32Array;

  constructor(buffer = new SharedArrayBuffer((STATES + SLOT_COUNT) * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#control = new Int32Array(buffer);
  }

  // The owner's side.

  get isReady(): boolean {
    return Atomics.load(this.#control, READY) === 1;
  }

  outcomeOf(slot: number): SlotOutcome {
    return outcomes[Atomics.load(this.#control, STATES + slot)] as SlotOutcome;
  }

  send(slot: number): void {
    Atomics.store(this.#control, STATES + slot, SENT);
    this.wake();
  }

  /** The result of the slot was read. */
  free(slot: number): void {
    Atomics.store(this.#control, STATES + slot, FREE);
  }

  /** Makes the thread look for messages and tasks. */
  wake(): void {
    Atomics.add(this.#control, WAKE, 1);
    Atomics.notify(this.#control, WAKE);
  }

  stop(): void {
    Atomics.store(this.#control, STOPS, 1);
    this.wake();
  }

  /** From now on the thread reports the end of a task once. The caller looks at the slots again: keeps (2). */
  ownerSleeps(): void {
    Atomics.store(this.#control, SLEEPS, 1);
  }

  // The thread's side.

  setReady(): void {
    Atomics.store(this.#control, READY, 1);
  }

  get isStopped(): boolean {
    return Atomics.load(this.#control, STOPS) === 1;
  }

  get wakeCount(): number {
    return Atomics.load(this.#control, WAKE);
  }

  /** Blocks the thread until WAKE is not `seen` any more. */
  wait(seen: number): void {
    Atomics.wait(this.#control, WAKE, seen);
  }

  isSent(slot: number): boolean {
    return Atomics.load(this.#control, STATES + slot) === SENT;
  }

  /** Ends the task of a slot. Returns true if the owner wants a message. */
  finish(slot: number, isDone: boolean): boolean {
    Atomics.store(this.#control, STATES + slot, isDone ? DONE : FAILED);
    return Atomics.exchange(this.#control, SLEEPS, 0) === 1;
  }
}
