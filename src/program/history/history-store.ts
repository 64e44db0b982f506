/** The engine's interface to the history, in a file or in memory. */
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
   * Resolves when everything up to `position` is in the history, or after LIST_WAIT_MS with the entries so far. Rejects
   * with `MalformedCursor`, and with an error if the history is damaged: it is then rebuilt.
   */
  list(query: HistoryQuery, position: number): Promise<HistoryPage>;
  /** The position that survives a power cut: earlier segments of the journal are no longer read. */
  readonly position: number;
  /** Called when `position` has grown, or has fallen because the history is rebuilt. */
  onPosition: (position: number) => void;
  close(): Promise<void>;
}

export interface HistoryOptions {
  /** The directory of the area's journal, which has the history's file too; absent: the history is in memory. */
  readonly directory?: string;
  readonly area?: string;
  /** Older entries are removed. */
  readonly retentionMs: number;
  readonly log: Log;
  readonly clock?: Clock;
  /** Address of the module that exports `historyEventsOf`; absent: messaging's. */
  readonly eventsModule?: string;
  /** A bug, or an unreadable journal. Absent: it is thrown and not caught. */
  onFatal?(fault: unknown): void;
}

/** How long a listing waits until the history has everything that it must show. */
export const LIST_WAIT_MS = 2_000;

/** In the area's directory. */
export const HISTORY_FILE = "history.sqlite";

/** Opens the history. Rejects with SQLite's error if its file exists and cannot be opened. */
export async function openHistory(options: HistoryOptions): Promise<HistoryStore> {
  const { directory, area } = options;
  if (directory === undefined || area === undefined) {
    const { MemoryHistory } = await import("./memory-history.ts");
    return MemoryHistory.open(options);
  }
  const { FileHistory } = await import("./file-history.ts");
  return FileHistory.open({ ...options, directory, area });
}
