/**
 * Question: how many log entries a second does the history accept, and how
 * long does a listing of five million entries take?
 *
 * Method: batches as the history's thread writes them, of messages with an id,
 * a unique address or one of 1,000, a host, one or two labels, and a detail of 600
 * or 2,400 bytes, each accepted, called and delivered; one in a hundred failed
 * once and was retried, one in a hundred thousand failed permanently. Ten
 * messages share a millisecond, one in twenty waits a minute for its call. Then the file is
 * reopened as the thread of listings does, and pages of 100
 * are read: by frequent, rare and absent values of label, address and state,
 * in both orders, with and without a time range, and by filters that match
 * much separately and nothing together. Finally everything of the first
 * quarter is removed, in the steps of the history's thread.
 *
 * Read: `entries/s` should stay above 60 k with details of 600 bytes; `by processor time` is
 * the rate on a dedicated core. In the table of listings `first`
 * is the very first time after opening, `median` of five; all should stay below 50 ms.
 * `longest` of the batches is how long a listing would wait if it shared their
 * thread, and of the removals how long a batch waits for them.
 *
 * Run: npm run bench -- history [--entries <n>] [--directory <path>]
 */
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { seededRandom } from "../src/kernel/random.ts";
import { History } from "../src/persistence/history/history.ts";
import type { HistoryQuery } from "../src/persistence/history/query.ts";
import { HistoryReader } from "../src/persistence/history/reader.ts";
import type { HistoryEntry, HistoryMessage } from "../src/persistence/history/record.ts";
import { figure, table } from "./harness/table.ts";

const { values: options } = parseArgs({
  options: { entries: { type: "string", default: "5000000" }, directory: { type: "string" } },
});
const ENTRY_COUNT = Number(options.entries);
const BATCH_ENTRIES = 5_000;
const START_MS = Date.UTC(2026, 0, 1);
const LATE_MS = 60_000;
const PAGE = 100;

const CREATED = 0;
const ACTIVE = 1;
const RETRY = 2;
const ERROR = 3;
const DELIVERED = 4;
const FAILED = 5;
const NEVER = 9;
const LAST_STATES = [DELIVERED, FAILED];

interface Work {
  messages: HistoryMessage[];
  entries: HistoryEntry[];
}

/** Messages one after the other, in the order of the journal: delayed ones are called a minute later. */
class Traffic {
  readonly #random = seededRandom(1);
  readonly #detail: Buffer;
  readonly #messageCount: number;
  readonly #late: { atMs: number; message: number }[] = [];
  #lateIndex = 0;
  #count = 0;

  constructor(detailBytes: number, messageCount: number) {
    this.#detail = Buffer.alloc(detailBytes, 120);
    this.#messageCount = messageCount;
  }

  next(work: Work): void {
    const message = this.#count;
    this.#count += 1;
    const nowMs = START_MS + Math.floor(message / 10);
    work.messages.push({
      message,
      user: 1,
      id: `msg_${message}x`,
      attributes: this.#attributes(message),
      detail: this.#detail,
    });
    work.entries.push({ message, timeMs: nowMs, state: CREATED, detail: undefined });
    if (message % 20 === 7) this.#late.push({ atMs: nowMs + LATE_MS, message });
    else this.#deliver(message, nowMs + 1, work);
    for (
      let late = this.#late[this.#lateIndex];
      late !== undefined && late.atMs <= nowMs;
      late = this.#late[this.#lateIndex]
    ) {
      this.#lateIndex += 1;
      this.#deliver(late.message, late.atMs, work);
    }
  }

  #deliver(message: number, timeMs: number, { entries }: Work): void {
    entries.push({ message, timeMs, state: ACTIVE, detail: undefined });
    if (message % 100 === 3) {
      entries.push({ message, timeMs: timeMs + 1, state: ERROR, detail: Buffer.alloc(200, 101) });
      entries.push({ message, timeMs: timeMs + 1, state: RETRY, detail: undefined });
      entries.push({ message, timeMs: timeMs + 2, state: ACTIVE, detail: undefined });
    }
    entries.push({
      message,
      timeMs: timeMs + 2,
      state: message % 100_000 === 9 ? FAILED : DELIVERED,
      detail: undefined,
    });
  }

  #attributes(message: number): [string, string][] {
    const url =
      message % 2 === 0
        ? `https://shop.example/orders/${message}/paid`
        : `https://mail.example/${this.#random.below(1_000)}`;
    const attributes: [string, string][] = [
      ["url", url],
      ["host", message % 2 === 0 ? "shop.example" : "mail.example"],
      ["label", message % 3 === 0 ? "frequent" : `customer-${this.#random.below(10_000)}`],
    ];
    if (message % 100 === 50) attributes.push(["label", "hundredth"]);
    if (message % 50_000 === 77) attributes.push(["label", "rare"]);
    if (message < this.#messageCount / 10) attributes.push(["label", "old"]);
    return attributes;
  }
}

function writeAll(history: History, { entryCount, detailBytes }: { entryCount: number; detailBytes: number }) {
  const messageCount = entryCount / 3;
  const traffic = new Traffic(detailBytes, messageCount);
  const tookMs: number[] = [];
  let processorUs = 0;
  let written = 0;
  let position = 0;
  while (written < entryCount) {
    const work: Work = { messages: [], entries: [] };
    while (work.entries.length < BATCH_ENTRIES) traffic.next(work);
    position += work.entries.length;
    const startMs = performance.now();
    const before = process.cpuUsage();
    history.write({ ...work, position });
    const { user, system } = process.cpuUsage(before);
    processorUs += user + system;
    tookMs.push(performance.now() - startMs);
    written += work.entries.length;
  }
  const sumMs = tookMs.reduce((sum, ms) => sum + ms, 0);
  return {
    perSecond: (written * 1_000) / sumMs,
    perProcessorSecond: (written * 1e6) / processorUs,
    longestMs: Math.max(...tookMs),
  };
}

const directory = options.directory ?? mkdtempSync(join(tmpdir(), "larder-bench-"));

function measureWriting(): string[][] {
  const rows: string[][] = [];
  // A given directory may have the file of an earlier run.
  if (existsSync(join(directory, "history-600.sqlite"))) return rows;
  for (const detailBytes of [2_400, 600]) {
    const isKept = detailBytes === 600;
    const path = join(directory, `history-${detailBytes}.sqlite`);
    const history = History.open(path, { lastStates: LAST_STATES });
    const entryCount = isKept ? ENTRY_COUNT : ENTRY_COUNT / 10;
    const { perSecond, perProcessorSecond, longestMs } = writeAll(history, { entryCount, detailBytes });
    history.close();
    const fileBytes = statSync(path).size / entryCount;
    rows.push([
      `details of ${detailBytes} bytes`,
      figure(entryCount),
      figure(perSecond),
      figure(perProcessorSecond),
      longestMs.toFixed(1),
      figure(fileBytes),
    ]);
    if (!isKept) rmSync(path);
  }
  return rows;
}

const endMs = START_MS + Math.floor(ENTRY_COUNT / 30);
const middleMs = START_MS + Math.floor(ENTRY_COUNT / 60);

const questions: Record<string, Partial<Omit<HistoryQuery, "attributes">> & { attributes?: [string, string[]][] }> = {
  "no filter": {},
  "the middle": { fromMs: middleMs, toMs: middleMs + 1_000 },
  "label, every third": { attributes: [["label", ["frequent"]]] },
  "label, every hundredth": { attributes: [["label", ["hundredth"]]] },
  "label, one in 30,000": { attributes: [["label", ["customer-77"]]] },
  "label, one in 50,000": { attributes: [["label", ["rare"]]] },
  "label, only long ago": { attributes: [["label", ["old"]]] },
  "label, absent": { attributes: [["label", ["nobody"]]] },
  "labels, two": { attributes: [["label", ["rare", "hundredth"]]] },
  "url, unique": { attributes: [["url", ["https://shop.example/orders/500000/paid"]]] },
  "url, one in 2,000": { attributes: [["url", ["https://mail.example/5"]]] },
  "url, absent": { attributes: [["url", ["https://nowhere.example/"]]] },
  "host, every second": { attributes: [["host", ["shop.example"]]] },
  "message id": { messageIds: ["msg_600000x"] },
  "state, frequent": { states: [DELIVERED] },
  "state, one in 300": { states: [ERROR] },
  "state, one in 300,000": { states: [FAILED] },
  "state, absent": { states: [NEVER] },
  "state and time": { states: [ERROR, FAILED], fromMs: middleMs, toMs: endMs },
  "label and state": { attributes: [["label", ["frequent"]]], states: [ERROR] },
  "label and rare state": { attributes: [["label", ["frequent"]]], states: [FAILED] },
  "rare label and state": { attributes: [["label", ["rare"]]], states: [ERROR] },
  "label and time": { attributes: [["label", ["hundredth"]]], fromMs: middleMs - 5_000, toMs: middleMs },
  "labels that never meet: hundredth, host": {
    attributes: [
      ["label", ["hundredth"]],
      ["host", ["mail.example"]],
    ],
  },
  "values that never meet: url, host": {
    attributes: [
      ["url", ["https://mail.example/5"]],
      ["host", ["shop.example"]],
    ],
  },
};

function measureListing(): string[][] {
  const path = join(directory, "history-600.sqlite");
  const rows: string[][] = [];
  for (const [name, { attributes = [], ...question }] of Object.entries(questions)) {
    for (const order of ["latest first", "earliest first"] as const) {
      const query: HistoryQuery = { user: 1, order, count: PAGE, ...question, attributes: new Map(attributes) };
      const reader = HistoryReader.open(path);
      const tookMs: number[] = [];
      let found = 0;
      for (let run = 0; run < 6; run += 1) {
        const startMs = performance.now();
        found = reader.list(query).entries.length;
        tookMs.push(performance.now() - startMs);
      }
      reader.close();
      const [first = 0, ...others] = tookMs;
      const median = others.sort((a, b) => a - b)[2] ?? 0;
      rows.push([`${name}, ${order}`, String(found), first.toFixed(1), median.toFixed(1)]);
    }
  }
  return rows;
}

function measureRemoval(): string[][] {
  const history = History.open(join(directory, "history-600.sqlite"), { lastStates: LAST_STATES });
  const untilMs = START_MS + Math.floor(ENTRY_COUNT / 120);
  const tookMs: number[] = [];
  for (let isMore = true; isMore; ) {
    const startMs = performance.now();
    isMore = history.removeBefore(untilMs);
    tookMs.push(performance.now() - startMs);
  }
  history.close();
  const sumMs = tookMs.reduce((sum, ms) => sum + ms, 0);
  return [
    ["a quarter", String(tookMs.length), figure((ENTRY_COUNT / 4 / sumMs) * 1_000), Math.max(...tookMs).toFixed(1)],
  ];
}

try {
  const written = measureWriting();
  console.log(
    `\n${table(["writing", "entries", "entries/s", "by processor time", "longest ms", "bytes each"], written)}`,
  );
  console.log(`\n${table(["page of 100", "found", "first ms", "median ms"], measureListing())}`);
  if (options.directory === undefined)
    console.log(`\n${table(["removal", "steps", "entries/s", "longest ms"], measureRemoval())}`);
} finally {
  if (options.directory === undefined) rmSync(directory, { recursive: true });
}
