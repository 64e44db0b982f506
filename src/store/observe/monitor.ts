/**
 * The feed of MONITOR: every command that runs on a database, as Redis prints
 * it. Rows exclude commands that may hold a secret (`isShownToMonitors`).
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Pushes, Subscriber } from "./pushes.ts";

export class Monitors {
  readonly #pushes: Pushes;
  readonly #watching = new Set<Subscriber>();

  constructor(pushes: Pushes) {
    this.#pushes = pushes;
  }

  /** False while no client is in MONITOR: then nothing is fed. */
  get isWatched(): boolean {
    return this.#watching.size > 0;
  }

  add(subscriber: Subscriber): void {
    this.#watching.add(subscriber);
  }

  remove(subscriber: Subscriber): void {
    this.#watching.delete(subscriber);
  }

  /** Feeds a command that ran, as part of the running unit of work. `address`: of the caller, or `lua`. */
  notify(run: { words: readonly Bytes[]; address: string; nowMs: number }): void {
    const line = monitorLine(run);
    this.#pushes.add({ kind: "monitor", line }, [...this.#watching], line.length);
  }
}

/** Bytes of words per line; a longer word is cut and its remaining bytes are counted, as are later words. */
const SHOWN_BYTES_MAX = 2 ** 20;

/**
 * `1721284005.242000 [0 10.0.0.7:4000] "SET" "k" "v"`. Our clock has milliseconds. Redis prints microseconds, and words
 * of any length, but escaped words could exceed the maximum length of a string.
 */
export function monitorLine(run: { words: readonly Bytes[]; address: string; nowMs: number }): Bytes {
  const seconds = Math.floor(run.nowMs / 1_000);
  const milliseconds = String(Math.floor(run.nowMs) % 1_000).padStart(3, "0");
  let line = `${seconds}.${milliseconds}000 [0 ${run.address}]`;
  let leftBytes = SHOWN_BYTES_MAX;
  for (const [index, word] of run.words.entries()) {
    if (leftBytes === 0) return `${line} "... (${run.words.length - index} more arguments)"`;
    const surplus = word.length - leftBytes;
    const shown = surplus > 0 ? word.slice(0, leftBytes) : word;
    line += ` "${shown.replace(UNPRINTED, escapeByte)}${surplus > 0 ? `... (${surplus} more bytes)` : ""}"`;
    leftBytes -= shown.length;
  }
  return line;
}

/** The characters that Redis' `sdscatrepr` escapes. */
const UNPRINTED = /["\\]|[^\x20-\x7e]/g;

const namedEscapes: ReadonlyMap<string, string> = new Map([
  ["\\", "\\\\"],
  ['"', '\\"'],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\x07", "\\a"],
  ["\b", "\\b"],
]);

function escapeByte(byte: string): string {
  return namedEscapes.get(byte) ?? `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
