/**
 * A history in a file, on the side of its engine: two threads (`worker.ts`), and
 * listings that wait until the history has everything that they must show.
 */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { type HistoryPage, type HistoryQuery, rangeOf } from "../../persistence/history/query.ts";
import type { SyncedLocation } from "../../persistence/journal/file-format.ts";
import { entryFile } from "../package-files.ts";
import { eventsModule, lastStates } from "./events.ts";
import { HISTORY_FILE, type HistoryOptions, type HistoryStore, LIST_WAIT_MS } from "./history-store.ts";
import type { FromReader, FromWriter, HistoryPlan, ToReader, ToWriter } from "./worker.ts";

interface FileHistoryOptions extends HistoryOptions {
  readonly directory: string;
  readonly area: string;
}

/**
 * Without limits V8 lets the garbage of a thread grow to several times its live data: 100 MB after 300,000 messages, and
 * half of it with these limits. The threads need far less.
 */
const resourceLimits = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 8 };

/** The journal is synced some thousand times a second; the history's thread is notified less often. */
const REPORT_PERIOD_MS = 20;
/** When a new history starts its thread, unless a listing needs it before: the first requests have the processor alone. */
const NEW_HISTORY_DELAY_MS = 300;
/** How often to check whether time has jumped, and the least jump. */
const JUMPS_EVERY_MS = 60_000;

export class FileHistory implements HistoryStore {
  onPosition: (position: number) => void = () => {};
  readonly #options: FileHistoryOptions;
  readonly #clock: Clock;
  #writer: Worker | undefined;
  #reader: Worker | undefined;
  readonly #ready = Promise.withResolvers<void>();
  readonly #closed = { writer: Promise.withResolvers<void>(), reader: Promise.withResolvers<void>() };
  /** Listings that wait for the history to reach a position. */
  readonly #waiting = new Set<{ position: number; goOn: () => void }>();
  /** Listings sent to the reader. */
  readonly #asked = new Map<number, PromiseWithResolvers<HistoryPage>>();
  #askedCount = 0;
  /** The history's position; a power cut may set it back. */
  #written = 0;
  #synced = 0;
  #untold: SyncedLocation | undefined;
  #cancelReport: (() => void) | undefined;
  #cancelJumps: () => void = () => {};
  #cancelStart: () => void = () => {};
  #isOpen = false;
  #isClosing = false;
  #closing: Promise<void> | undefined;

  /** A new history is open at once, and has its file later. Rejects if the file of an earlier start cannot be opened. */
  static async open(options: FileHistoryOptions): Promise<FileHistory> {
    const history = new FileHistory(options);
    if (existsSync(history.#path)) await history.#started();
    else history.#startLater();
    history.#isOpen = true;
    return history;
  }

  private constructor(options: FileHistoryOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    // A failure after the start goes to onFatal.
    this.#ready.promise.catch(() => {});
  }

  get position(): number {
    return this.#synced;
  }

  durableTo(place: SyncedLocation): void {
    this.#untold = place;
    if (this.#writer === undefined) return;
    if (this.#waiting.size > 0) this.#hurry();
    else this.#cancelReport ??= this.#clock.real.after(REPORT_PERIOD_MS, () => this.#reportPlace());
  }

  append(): void {}

  async list(query: HistoryQuery, position: number): Promise<HistoryPage> {
    rangeOf(query);
    if (!this.#isClosing) await this.#started();
    if (this.#written < position) await this.#whenWritten(position);
    if (this.#isClosing) throw new Error("The history is closed");
    this.#askedCount += 1;
    const answer = Promise.withResolvers<HistoryPage>();
    this.#asked.set(this.#askedCount, answer);
    this.#startedReader().postMessage({ kind: "list", id: this.#askedCount, query } satisfies ToReader);
    return answer.promise;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#isClosing) return;
    if (this.#writer === undefined) await this.#catchUp();
    this.#isClosing = true;
    this.#cancelStart();
    this.#cancelReport?.();
    this.#cancelJumps();
    for (const { goOn } of this.#waiting) goOn();
    // First, so that the writer is the last one and leaves a single file.
    if (this.#reader !== undefined) {
      this.#askReader({ kind: "close" });
      await this.#closed.reader.promise;
    }
    this.#askWriter({ kind: "close" });
    await this.#closed.writer.promise;
    await Promise.all([this.#writer?.terminate(), this.#reader?.terminate()]);
    for (const { reject } of this.#asked.values()) reject(new Error("The history is closed"));
  }

  /** A clean stop soon after the start leaves the history that a later one would have left. */
  async #catchUp(): Promise<void> {
    const place = this.#untold;
    // A thread that fails needs no second report.
    await this.#started().catch(() => {});
    if (place !== undefined && this.#written < place.position) await this.#whenWritten(place.position);
  }

  get #path(): string {
    return `${this.#options.directory}/${HISTORY_FILE}`;
  }

  #startLater(): void {
    this.#cancelStart = this.#clock.real.after(NEW_HISTORY_DELAY_MS, () => void this.#started().catch(() => {}));
  }

  /** Starts the writer if it has not started, and resolves when its file is open. */
  #started(): Promise<void> {
    if (this.#writer === undefined) {
      this.#cancelStart();
      this.#writer = this.#start("writer", (message: FromWriter) => this.#fromWriter(message));
      this.#reportPlace();
      if (this.#clock.real !== this.#clock) this.#followJumps(0);
    }
    return this.#ready.promise;
  }

  #start(role: HistoryPlan["role"], onMessage: (message: never) => void): Worker {
    const { directory, area, retentionMs } = this.#options;
    const plan: HistoryPlan = {
      role,
      path: this.#path,
      directory,
      area,
      retentionMs,
      lastStates,
      eventsModule: this.#options.eventsModule ?? eventsModule,
    };
    const worker = new Worker(entryFile("history-worker"), {
      name: `history ${role}`,
      workerData: plan,
      resourceLimits,
    });
    // The threads send nothing else.
    worker.on("message", (message) => onMessage(message as never));
    worker.on("error", (fault) => this.#ended(fault));
    worker.on("exit", (code) => {
      this.#closed[role].resolve();
      this.#ended(new Error(`The thread of the history's ${role} ended with code ${code}`));
    });
    return worker;
  }

  #fromWriter(message: FromWriter): void {
    switch (message.kind) {
      case "ready":
        this.#written = message.position;
        this.#ready.resolve();
        break;
      case "position":
        this.#reached(message.position, message.syncedPosition);
        break;
      case "renewed":
        this.#askReader({ kind: "open" });
        break;
      case "log":
        this.#options.log[message.level](message.event, message.fields);
        break;
      case "closed":
        this.#closed.writer.resolve();
        break;
      default: {
        const never: never = message;
        throw new Error(`Unknown message: ${String(never)}`);
      }
    }
  }

  #fromReader(message: FromReader): void {
    if (message.kind === "closed") {
      this.#closed.reader.resolve();
      return;
    }
    const answer = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    if (message.kind === "page") {
      answer?.resolve(message.page);
      return;
    }
    if (message.isDamaged) this.#askWriter({ kind: "damaged", reason: "a listing could not read it" });
    answer?.reject(new Error(`The history could not be read: ${message.text}`));
  }

  #reached(written: number, synced: number): void {
    this.#written = written;
    for (const waiting of this.#waiting) if (waiting.position <= written) waiting.goOn();
    if (synced === this.#synced) return;
    this.#synced = synced;
    this.onPosition(synced);
  }

  #whenWritten(position: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        cancel();
        this.#waiting.delete(waiting);
        resolve();
      };
      const cancel = this.#clock.real.after(LIST_WAIT_MS, goOn);
      const waiting = { position, goOn };
      this.#waiting.add(waiting);
      this.#hurry();
    });
  }

  #hurry(): void {
    this.#reportPlace();
    this.#askWriter({ kind: "hurry" });
  }

  /** The writer's thread has its own clock, by which it removes old entries. */
  #followJumps(reportedMs: number): void {
    this.#cancelJumps = this.#clock.housekeep(JUMPS_EVERY_MS, () => {
      const aheadMs = this.#clock.nowMs() - this.#clock.real.nowMs();
      const isNews = Math.abs(aheadMs - reportedMs) >= JUMPS_EVERY_MS;
      if (isNews) this.#askWriter({ kind: "jumped", aheadMs });
      this.#followJumps(isNews ? aheadMs : reportedMs);
    });
  }

  #reportPlace(): void {
    this.#cancelReport?.();
    this.#cancelReport = undefined;
    if (this.#untold !== undefined) this.#askWriter({ kind: "durable", place: this.#untold });
    this.#untold = undefined;
  }

  #askWriter(message: ToWriter): void {
    this.#writer?.postMessage(message);
  }

  /** A reader that was not started has no open file. */
  #askReader(message: ToReader): void {
    this.#reader?.postMessage(message);
  }

  /** The first listing starts it: a thread takes memory, and many servers never list messages. */
  #startedReader(): Worker {
    this.#reader ??= this.#start("reader", (message: FromReader) => this.#fromReader(message));
    return this.#reader;
  }

  /** A thread that ends unexpectedly is a bug. */
  #ended(fault: unknown): void {
    this.#ready.reject(fault);
    if (this.#isClosing) return;
    this.#isClosing = true;
    for (const { reject } of this.#asked.values()) reject(new Error("The history has ended"));
    for (const { goOn } of this.#waiting) goOn();
    void this.#writer?.terminate();
    void this.#reader?.terminate();
    const { onFatal } = this.#options;
    // The caller of open already knows.
    if (!this.#isOpen) return;
    if (onFatal === undefined) throw fault;
    onFatal(fault);
  }
}
