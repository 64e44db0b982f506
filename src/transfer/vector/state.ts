/**
 * The progress of an interrupted import or export, in a small file that is
 * replaced as a whole and removed when the work is done.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { emptyTally, type TallyState } from "./tally.ts";

export interface TransferState {
  /** Source and target; a state with others is not continued. */
  readonly subject: string;
  readonly namespace: string;
  /** After the finished part of the namespace; undefined: all of it is done. */
  readonly cursor: string | undefined;
  /** Of the namespace, up to the cursor. */
  readonly tally: TallyState;
  /** Of the earlier namespaces. */
  readonly total: TallyState;
  readonly namespaceCount: number;
  /** Of the output file. */
  readonly bytes: number;
}

/** At most this much work is repeated after an interruption. */
const KEEP_PAUSE_MS = 1_000;
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

export class StateFile {
  readonly path: string;
  readonly #clock: Clock;
  #storedAtMs: number;
  #noted: TransferState | undefined;

  constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
    this.#storedAtMs = clock.monotonicMs();
  }

  /** Throws a `StartRefusal` if there is nothing to continue. */
  read(subject: string): TransferState {
    let state: TransferState;
    try {
      state = parseState(readFileSync(this.path, "utf8"));
    } catch (cause) {
      throw new StartRefusal("There is nothing to resume: run the command without --resume", 1, { cause });
    }
    if (state.subject !== subject)
      throw new StartRefusal(
        "The interrupted command had another source or another target: run the command without --resume",
      );
    return state;
  }

  /** Notes the progress; true: it is time to store it. */
  note(state: TransferState): boolean {
    this.#noted = state;
    return this.#clock.monotonicMs() - this.#storedAtMs >= KEEP_PAUSE_MS;
  }

  /** Stores the latest noted progress. */
  async keep(): Promise<void> {
    if (this.#noted === undefined) return;
    this.#storedAtMs = this.#clock.monotonicMs();
    mkdirSync(dirname(this.path), { recursive: true, mode: DIRECTORY_MODE });
    await writeFileDurably(this.path, `${JSON.stringify(this.#noted)}\n`, { mode: FILE_MODE });
    this.#noted = undefined;
  }

  /** A refusal that says how to continue, if that is possible. */
  hinted(fault: unknown): unknown {
    if (!(fault instanceof StartRefusal) || !existsSync(this.path)) return fault;
    const hint = "The work done so far is kept: run the same command with --resume to continue";
    return new StartRefusal(`${fault.message}\n${hint}`, fault.exitCode, { cause: fault });
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}

function parseState(text: string): TransferState {
  const fields = parseJsonText(text) as Partial<Record<keyof TransferState, unknown>>;
  const { subject, namespace, cursor, bytes, namespaceCount } = fields;
  if (typeof subject !== "string" || typeof namespace !== "string") throw new SyntaxError("it is not a state file");
  return {
    subject,
    namespace,
    cursor: typeof cursor === "string" ? cursor : undefined,
    tally: tallyOf(fields.tally),
    total: tallyOf(fields.total),
    namespaceCount: Number(namespaceCount),
    bytes: Number(bytes),
  };
}

function tallyOf(value: unknown): TallyState {
  const { count, digest } = { ...emptyTally, ...(value as Partial<TallyState>) };
  return { count: Number(count), digest: String(digest) };
}
