/**
 * The progress of an import of a store, in a file of the data directory that is
 * replaced as a whole, so that an interrupted import can continue. It is removed
 * when the import is done.
 *
 *     {"source":"…","database":"main","position":"…","counts":{"stored":1000,…}}
 *
 * Keys after the position are read again; keys that were already stored count as
 * the same.
 *
 * (1) A position is stored SYNC_MS after it was reached: then its keys are on the disk,
 *     because a server syncs its journal each second (`--fsync everysec`).
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { type Outcome, outcomes } from "./sink.ts";

export interface StoreState {
  /** The identity of the source. */
  readonly source: string;
  /** The database of larder. */
  readonly database: string;
  readonly position: string;
  readonly counts: ReadonlyMap<Outcome, number>;
}

const SYNC_MS = 2_000;
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

export class StoreStateFile {
  readonly #path: string;
  readonly #clock: Clock;
  /** The position that is stored next, and since when. */
  #next: { readonly state: StoreState; readonly sinceMs: number } | undefined;
  #latest: StoreState | undefined;
  #isKept = false;

  constructor(dataDirectory: string, clock: Clock) {
    this.#path = join(dataDirectory, "transfers", "store-import.json");
    this.#clock = clock;
  }

  /** Whether there is a state from which --resume would continue this import. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The state of the same interrupted import. Throws a `StartRefusal` if there is nothing to continue. */
  read({ source, database }: { source: string; database: string }): StoreState {
    let state: StoreState;
    try {
      state = parseState(readFileSync(this.#path, "utf8"));
    } catch (cause) {
      throw new StartRefusal("There is no interrupted import to resume: run the command without --resume", 1, {
        cause,
      });
    }
    if (state.source === source && state.database === database) {
      this.#isKept = true;
      return state;
    }
    throw new StartRefusal(
      "The interrupted import had another source or another database, or its source has changed: run the command without --resume",
    );
  }

  /** Takes the progress, and stores it when its keys are certainly synced. keeps (1) */
  async note(state: StoreState): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    this.#latest = state;
    this.#next ??= { state, sinceMs: nowMs };
    if (nowMs - this.#next.sinceMs < SYNC_MS) return;
    const due = this.#next.state;
    this.#next = { state, sinceMs: nowMs };
    await this.#write(due);
  }

  /** Stores the last progress now: the import ends, and no failure of the machine is in sight. */
  async flush(): Promise<void> {
    if (this.#latest !== undefined) await this.#write(this.#latest);
  }

  async #write(state: StoreState): Promise<void> {
    mkdirSync(dirname(this.#path), { recursive: true, mode: DIRECTORY_MODE });
    const text = JSON.stringify({ ...state, counts: Object.fromEntries(state.counts) });
    await writeFileDurably(this.#path, `${text}\n`, { mode: FILE_MODE });
    this.#isKept = true;
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

function parseState(text: string): StoreState {
  const value: unknown = parseJsonText(text);
  const fields = mapOf(value);
  const [source, database, position] = ["source", "database", "position"].map((name) => fields.get(name));
  if (typeof source !== "string" || typeof database !== "string" || typeof position !== "string")
    throw new SyntaxError("it is not the state of an import");
  const counts = mapOf(fields.get("counts"));
  return { source, database, position, counts: new Map(outcomes.map((name) => [name, Number(counts.get(name) ?? 0)])) };
}

function mapOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>(typeof value === "object" && value !== null ? Object.entries(value) : []);
}
