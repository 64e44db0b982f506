/**
 * What the server acknowledged to clients about their records, and what else may
 * be true.
 *
 * (1) A record has one writer, which waits for each answer: at most one write of
 *     a record is open, and the next check shows what it did.
 * (2) Acknowledged writes are done; an open write is done or not done.
 * (3) The records of an upsert, and those of a reset, are all done or all not.
 */
import { isVectorOf, signsOf } from "./signs.ts";

/** The expected contents of an id. */
export interface Kept {
  /** Its vector is that of this seed (`signs.ts`). */
  readonly seed: number;
  /** In its metadata; grows with each write of the record. */
  readonly version: number;
}

export interface Entry {
  readonly client: number;
  readonly namespace: string;
  readonly id: string;
  /** Acknowledged; undefined if the record does not exist. */
  kept: Kept | undefined;
  /** The contents if the open write was done. */
  open: { readonly write: Write; readonly kept: Kept | undefined } | undefined;
  /** A former vector. */
  formerSeed: number | undefined;
}

export interface Write {
  readonly kind: string;
  readonly isWhole: boolean;
  readonly path: string;
  readonly text: string;
  readonly entries: readonly Entry[];
}

/** A record as `/fetch` answers it with everything. */
export interface Found {
  readonly id: string;
  readonly vector: readonly number[];
  readonly metadata?: { readonly client: number; readonly version: number };
  readonly data?: string;
}

export class Ledger {
  readonly #entries = new Map<string, Entry>();
  #seed = 0;
  #version = 0;
  acknowledgedCount = 0;

  get entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  entry(client: number, namespace: string, id: string): Entry {
    const key = `${namespace}\0${id}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { client, namespace, id, kept: undefined, open: undefined, formerSeed: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  newKept(): Kept {
    return { seed: this.newSeed(), version: this.newVersion() };
  }

  newSeed(): number {
    this.#seed += 1;
    return this.#seed;
  }

  newVersion(): number {
    this.#version += 1;
    return this.#version;
  }

  begin(write: Write, after: (entry: Entry) => Kept | undefined): Write {
    for (const entry of write.entries) entry.open = { write, kept: after(entry) };
    return write;
  }

  acknowledge({ entries }: Write): void {
    this.acknowledgedCount += 1;
    for (const entry of entries) if (entry.open !== undefined) settle(entry, entry.open.kept);
  }

  /** Compares an entry with the record found, and records the outcome of an open write. */
  check(entry: Entry, found: Found | undefined, damages: string[]): void {
    const { open } = entry;
    if (isFound(entry, entry.kept, found)) {
      if (open !== undefined) this.#note(open.write, "not done");
      entry.open = undefined;
    } else if (open !== undefined && isFound(entry, open.kept, found)) {
      this.#note(open.write, "done");
      settle(entry, open.kept);
    } else {
      damages.push(`${placeOf(entry)} is ${shownFound(found)}, but should be ${shown(entry.kept)}${orOpen(entry)}`);
    }
  }

  /** Partly done writes, among all checked since the last call. */
  takeHalves(): readonly string[] {
    const halves = [...this.#outcomes].filter(([write, outcomes]) => write.isWhole && outcomes.size > 1);
    this.#outcomes.clear();
    return halves.map(([{ kind, entries }]) => `a part of ${kind} of ${entries.map(placeOf).join()} was done`);
  }

  readonly #outcomes = new Map<Write, Set<string>>();

  #note(write: Write, outcome: string): void {
    this.#outcomes.set(write, (this.#outcomes.get(write) ?? new Set()).add(outcome));
  }
}

function settle(entry: Entry, kept: Kept | undefined): void {
  if (entry.kept !== undefined && entry.kept.seed !== kept?.seed) entry.formerSeed = entry.kept.seed;
  entry.kept = kept;
  entry.open = undefined;
}

/** All three parts of a record show which write it is from. */
function isFound({ client }: Entry, kept: Kept | undefined, found: Found | undefined): boolean {
  if (kept === undefined || found === undefined) return kept === found;
  const { vector, metadata, data } = found;
  return (
    metadata?.client === client &&
    metadata.version === kept.version &&
    data === String(kept.seed) &&
    isVectorOf(vector, signsOf(kept.seed))
  );
}

export function placeOf({ namespace, id }: Entry): string {
  return `${namespace}/${id}`;
}

function shown(kept: Kept | undefined): string {
  return kept === undefined ? "absent" : `version ${kept.version} with vector ${kept.seed}`;
}

function shownFound(found: Found | undefined): string {
  if (found === undefined) return "absent";
  return `version ${found.metadata?.version} with data ${found.data} and ${found.vector.length} values`;
}

function orOpen({ open }: Entry): string {
  return open === undefined ? "" : ` or, by an open ${open.write.kind}, ${shown(open.kept)}`;
}
