/**
 * The two threads of a history in a file: one follows the journal and writes, one
 * answers listings, so that a long batch delays no listing. Both exchange messages
 * with `file-history.ts`.
 */
import "../prototype.ts";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log, type LogFields, type LogLevel } from "../../kernel/log.ts";
import { noSpaceText } from "../../persistence/disk/disk.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { failureOf } from "../../persistence/history/database.ts";
import type { HistoryPage, HistoryQuery } from "../../persistence/history/query.ts";
import { HistoryReader } from "../../persistence/history/reader.ts";
import type { SyncedLocation } from "../../persistence/journal/file-format.ts";
import type { EventsOf } from "./batcher.ts";
import { HistoryWriter } from "./writer.ts";

export interface HistoryPlan {
  readonly role: "writer" | "reader";
  readonly path: string;
  /** Of the journal. */
  readonly directory: string;
  readonly area: string;
  readonly retentionMs: number;
  readonly lastStates: readonly number[];
  /** Address of the module that exports `historyEventsOf`. */
  readonly eventsModule: string;
}

export type ToWriter =
  | { readonly kind: "durable"; readonly place: SyncedLocation }
  | { readonly kind: "hurry" }
  /** The engine's clock has jumped, and is this far ahead of the machine's. */
  | { readonly kind: "jumped"; readonly aheadMs: number }
  | { readonly kind: "damaged"; readonly reason: string }
  | { readonly kind: "close" };

export type FromWriter =
  | { readonly kind: "ready"; readonly position: number }
  | { readonly kind: "position"; readonly position: number; readonly syncedPosition: number }
  | { readonly kind: "renewed" }
  | { readonly kind: "log"; readonly level: LogLevel; readonly event: string; readonly fields: LogFields | undefined }
  | { readonly kind: "closed" };

export type ToReader =
  | { readonly kind: "open" }
  | { readonly kind: "list"; readonly id: number; readonly query: HistoryQuery }
  | { readonly kind: "close" };

export type FromReader =
  | { readonly kind: "page"; readonly id: number; readonly page: HistoryPage }
  | { readonly kind: "failed"; readonly id: number; readonly text: string; readonly isDamaged: boolean }
  | { readonly kind: "closed" };

const RETRY_EVERY_MS = 1_000;

async function write(plan: HistoryPlan, port: MessagePort): Promise<void> {
  const post = (message: FromWriter): void => port.postMessage(message);
  const { historyEventsOf } = (await import(plan.eventsModule)) as { historyEventsOf: EventsOf };
  const log = postedLog(post);
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
  const make = (): HistoryWriter =>
    new HistoryWriter({
      ...plan,
      disk: fileDisk,
      clock,
      log,
      eventsOf: historyEventsOf,
      onPosition: (position, syncedPosition) => post({ kind: "position", position, syncedPosition }),
      onRenewed: () => post({ kind: "renewed" }),
      onFatal: (fault) => {
        throw fault;
      },
    });
  let writer = findWriter(make, log);
  let place: SyncedLocation | undefined;
  let cancel = (): void => {};
  // A full disk does not prevent a start: unwritten entries stay in the journal.
  const retry = (): void => {
    writer = findWriter(make);
    if (writer === undefined) cancel = systemClock.after(RETRY_EVERY_MS, retry);
    else if (place !== undefined) writer.durableTo(place);
  };
  if (writer === undefined) cancel = systemClock.after(RETRY_EVERY_MS, retry);
  const close = async (): Promise<void> => {
    cancel();
    await writer?.close();
    post({ kind: "closed" });
  };
  port.on("message", (message: ToWriter) => {
    switch (message.kind) {
      case "durable":
        place = message.place;
        writer?.durableTo(place);
        break;
      case "hurry":
        writer?.hurry();
        break;
      case "jumped":
        aheadMs = message.aheadMs;
        writer?.jumped();
        break;
      case "damaged":
        writer?.damaged(message.reason);
        break;
      case "close":
        void close();
        break;
      default: {
        const never: never = message;
        throw new Error(`Unknown message: ${String(never)}`);
      }
    }
  });
  post({ kind: "ready", position: writer?.position ?? 0 });
}

/** Undefined if there is no space for the file. */
function findWriter(make: () => HistoryWriter, log?: Log): HistoryWriter | undefined {
  try {
    return make();
  } catch (fault) {
    if (failureOf(fault) !== "no space" && noSpaceText(fault) === undefined) throw fault;
    log?.warn("the history cannot be opened", faultFields(fault));
    return undefined;
  }
}

function read(plan: HistoryPlan, port: MessagePort): void {
  const post = (message: FromReader): void => port.postMessage(message);
  let reader: HistoryReader | undefined;
  port.on("message", (message: ToReader) => {
    switch (message.kind) {
      case "open":
        // The open file may have been replaced. The next listing opens the new one.
        reader?.close();
        reader = undefined;
        break;
      case "list":
        try {
          reader ??= HistoryReader.open(plan.path);
          post({ kind: "page", id: message.id, page: reader.list(message.query) });
        } catch (fault) {
          const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
          post({ kind: "failed", id: message.id, text, isDamaged: failureOf(fault) === "damaged" });
        }
        break;
      case "close":
        reader?.close();
        post({ kind: "closed" });
        break;
      default: {
        const never: never = message;
        throw new Error(`Unknown message: ${String(never)}`);
      }
    }
  });
}

/** The owner of the history writes the lines, with its fields. */
function postedLog(post: (message: FromWriter) => void, fixed: LogFields = {}): Log {
  const at =
    (level: LogLevel) =>
    (event: string, fields?: LogFields): void =>
      post({ kind: "log", level, event, fields: { ...fixed, ...fields } });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => postedLog(post, { ...fixed, ...fields }),
  };
}

if (parentPort !== null) {
  const plan = workerData as HistoryPlan;
  if (plan.role === "writer") await write(plan, parentPort);
  else read(plan, parentPort);
}
