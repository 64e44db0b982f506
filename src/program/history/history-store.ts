/** The history as an engine has it, whether it is kept in a file or in memory. */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { HistoryPage, HistoryQuery } from "../../persistence/history/query.ts";
import type { SyncedLocation } from "../../persistence/journal/file-format.ts";

export interface HistoryStore {
  /** In a file: everything up to this place of the journal is durable. The first call says where a start begins. */
  durableTo(place: SyncedLocation): void;
  /** In memory: the next frame, which is only valid during the call, and the position after it. */
  append(frame: Uint8Array, position: number): void;
  /**
   * Resolves when everything up to `position` is in the history, or after LIST_WAIT_MS with what is there. Rejects with
   * `MalformedCursor`, and with an error when the history is damaged: it is made anew then.
   */
  list(query: HistoryQuery, position: number): Promise<HistoryPage>;
  /** What the history has, also after a power cut: segments of the journal in front of it are not read any more. */
  readonly position: number;
  /** Told when `position` has grown, or has fallen because the history is made anew. */
  onPosition: (position: number) => void;
  close(): Promise<void>;
}

export interface HistoryOptions {
  /** Of the area's journal, which has the history's file too; absent: it lives in memory. */
  readonly directory?: string;
  readonly area?: string;
  /** Entries that are older are removed. */
  readonly retentionMs: number;
  readonly log: Log;
  readonly clock?: Clock;
  /** Address of the module that exports `historyEventsOf`; absent: messaging's. */
  readonly eventsModule?: string;
  /** A fault of ours, or a journal that cannot be read. Absent: it is thrown, and nobody catches it. */
  onFatal?(fault: unknown): void;
}

/** How long a listing waits for what it must show. */
export const LIST_WAIT_MS = 2_000;

/** In the area's directory. */
export const HISTORY_FILE = "history.sqlite";

/** Opens the history. Rejects with SQLite's error if its file cannot be opened or made. */
export async function openHistory(options: HistoryOptions): Promise<HistoryStore> {
  const { directory, area } = options;
  if (directory === undefined || area === undefined) {
    const { MemoryHistory } = await import("./memory-history.ts");
    return MemoryHistory.open(options);
  }
  const { FileHistory } = await import("./file-history.ts");
  return FileHistory.open({ ...options, directory, area });
}
