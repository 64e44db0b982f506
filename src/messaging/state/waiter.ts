/** A run that waits for an event (W.wait). In the journal as JSON. */

export interface WaiterRecord {
  /** Of this waiter among all of the server; it grows. */
  readonly number: number;
  readonly eventId: string;
  readonly runId: string;
  readonly createdAtMs: number;
  /** When it has waited long enough. */
  readonly deadlineMs: number;
  /** How long that is, as given: `7d`. */
  readonly timeout: string;
  readonly url: string;
  /** Of the message that tells what came of it: names in lower case without prefix, value, … */
  readonly headers: readonly string[];
  readonly timeoutUrl: string;
  /** The same for the message that tells of a time-out; behind `header:` are others that it is sent with. */
  readonly timeoutHeaders: readonly string[];
  /** Sent to `timeoutUrl` in place of the entries. */
  readonly timeoutBody?: string | undefined;
  /** Fields of the step that the event is the result of. */
  readonly step: Readonly<Record<string, unknown>>;
}

export type Waiter = WaiterRecord;

/** A wait that its run did not see the end of: its log shows it. */
export type LeftWait = Pick<WaiterRecord, "eventId" | "createdAtMs" | "deadlineMs" | "timeout" | "step">;
