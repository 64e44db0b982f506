/** What INFO reports about the sessions of a database. */

/** What a pause delays: every command, or those that may change something. */
export type PauseKind = "all" | "write";

export interface Pause {
  readonly kind: PauseKind;
  /** How long it still lasts. */
  readonly leftMs: number;
}

/** Sums and maxima over the sessions, for INFO. */
export interface SessionFigures {
  /** Bytes of the longest incomplete request, and the most that wait for one peer. */
  readonly unreadBytesMax: number;
  readonly queuedBytesMax: number;
  /** Those whose command waits for the end of a pause. */
  readonly pausedCount: number;
  readonly subscribedCount: number;
  readonly watchingCount: number;
  readonly watchedKeyCount: number;
}
