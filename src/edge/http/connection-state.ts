/** The listener's state of a connection. */
import type { ConnectionBytes } from "../limits/held-bytes.ts";

export interface ConnectionState<Request> extends ConnectionBytes {
  /** Handled requests whose reply is not entirely in the system's buffers. */
  unansweredCount: number;
  /** Complete requests whose reply has not been sent. */
  owedCount: number;
  /** Requests that are not handled yet, in order: one whose body is being read, and those after it. */
  readonly waiting: Request[];
  /** A request in the area waits for its turn. */
  hasQueued: boolean;
  /** Requests that have been read completely. */
  wholeCount: number;
  /** A request was refused; all later bytes are dropped. */
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
