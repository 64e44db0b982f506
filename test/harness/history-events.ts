/**
 * Frames for the tests of the history, instead of messaging's: each is JSON
 * of events whose details are strings. The history's thread loads this module.
 */
import type { HistoryEntry, HistoryMessage } from "../../src/persistence/history/record.ts";

export interface TestFrame {
  /** A new message of user 1 with this label. */
  readonly message?: number;
  readonly label?: string;
  /** A change to this state at this time. */
  readonly moves?: readonly (readonly [message: number, timeMs: number, state: number])[];
}

export function frameOf(frame: TestFrame): Buffer {
  return Buffer.from(JSON.stringify(frame));
}

export function historyEventsOf(frame: Buffer): { messages: HistoryMessage[]; entries: HistoryEntry[] } {
  const { message, label = "a", moves = [] } = JSON.parse(frame.toString()) as TestFrame;
  const attributes = [["label", label]] as const;
  return {
    messages:
      message === undefined ? [] : [{ message, user: 1, id: `msg_${message}`, attributes, detail: Buffer.from("d") }],
    entries: moves.map(([moved, timeMs, state]) => ({ message: moved, timeMs, state, detail: undefined })),
  };
}
