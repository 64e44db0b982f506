/** What the listener knows of a connection. */
import type { ConnectionBytes } from "../limits/held-bytes.ts";

export interface ConnectionState<Request> extends ConnectionBytes {
  /** Requests that were handled and whose reply the system has not taken yet. */
  unansweredCount: number;
  /** Whole requests whose reply is not out. */
  owedCount: number;
  /** Requests that are not handled yet, in the order they came: one whose body is being read, and those behind it. */
  readonly waiting: Request[];
  /** A request was handed to the area, and waits for its turn. */
  hasQueued: boolean;
  /** Requests that have been read whole. */
  wholeCount: number;
  /** A request was refused; whatever else comes is dropped. */
  isBroken: boolean;
}

export function newConnectionState<Request>(): ConnectionState<Request> {
  return {
    unansweredCount: 0,
    owedCount: 0,
    heldBytes: 0,
    unsentBytes: 0,
    waiting: [],
    hasQueued: false,
    wholeCount: 0,
    isBroken: false,
  };
}
