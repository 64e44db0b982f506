/**
 * Rows in files on a simulated disk, beside a Map. A run has several lives. In
 * each one rows are set, replaced, moved and removed while writes, reads and
 * compactions are under way; then the process stops, is killed or loses power,
 * files may be damaged, and the next life replays the history of all changes, or
 * an older state of it whose versions are assigned again.
 *
 * (1) Each record has the row of the Map, from the buffer or from a file.
 * (2) A held place has the row that it had when it was held, read by its descriptor.
 * (3) When nothing is held, files have at most twice the room of the rows, and two more.
 * (4) After a stop without damage, no row is written again.
 * (5) A disk that fails loses no row.
 */
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { codeOf } from "../../../src/persistence/disk/disk.ts";
import { rowFiles } from "../../../src/program/workers/row-files.ts";
import { entryBytesOf, HEAD_BYTES, NO_RECORD, RowEntries } from "../../../src/vector/row-files/row-entries.ts";
import { DamagedRow, type RowFileStorage } from "../../../src/vector/row-files/row-file-storage.ts";
import { type HeldFiles, type HeldRows, RowFiles } from "../../../src/vector/row-files/row-files.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { damageRowFile } from "./damaged-row-files.ts";

const DIRECTORY = "/area";
const DIMENSION = 5;
const ENTRIES_MAX = 8;
const SEGMENT_BYTES = HEAD_BYTES + ENTRIES_MAX * entryBytesOf(DIMENSION);
const RECORDS = 40;
const LIVES = 4;
const STEPS = 150;
const HELD_MAX = 3;

interface Row {
  readonly version: number;
  readonly squaredLength: number;
  readonly values: Float32Array;
}

type Change =
  | { readonly kind: "set"; readonly record: number; readonly row: Row }
  | { readonly kind: "remove"; readonly record: number }
  | { readonly kind: "move"; readonly from: number; readonly to: number }
  | { readonly kind: "clear" };

/** What happened in a run, so that a suite sees whether it tries everything. */
export interface RowFilesFigures {
  changes: number;
  reads: number;
  heldReads: number;
  scannedRows: number;
  diskFaults: number;
  damages: number;
  rowsFound: number;
  rowsWrittenAgain: number;
  filesRefused: number;
}

export interface RowFilesRun {
  /** The rule that did not hold. */
  readonly fault: string | undefined;
  readonly figures: RowFilesFigures;
}

interface HeldList {
  readonly descriptor: number;
  /** By entry. */
  readonly rows: readonly (Row | undefined)[];
}

class Fault extends Error {}

function check(condition: boolean, rule: string): void {
  if (!condition) throw new Fault(rule);
}

/** A bug between the files and their disk, or in the files of a life. */
export interface RowFilesPlant {
  storage?(storage: RowFileStorage): RowFileStorage;
  files?(files: RowFiles): void;
}

export async function runRowFilesWorld(seed: number, plant: RowFilesPlant = {}): Promise<RowFilesRun> {
  const world = new RowFilesWorld(seededRandom(seed), plant);
  try {
    await world.run();
  } catch (fault) {
    const isBroken = fault instanceof Fault || fault instanceof DamagedRow || codeOf(fault) === "EBADF";
    if (!isBroken) throw fault;
    return { fault: fault instanceof Error ? fault.message : String(fault), figures: world.figures };
  }
  return { fault: undefined, figures: world.figures };
}

class RowFilesWorld {
  readonly figures: RowFilesFigures = {
    changes: 0,
    reads: 0,
    heldReads: 0,
    scannedRows: 0,
    diskFaults: 0,
    damages: 0,
    rowsFound: 0,
    rowsWrittenAgain: 0,
    filesRefused: 0,
  };
  readonly #random: Random;
  readonly #plant: RowFilesPlant;
  #disk: SimulatedDisk;
  #files: RowFiles | undefined;
  /** All changes, as a journal has them. */
  #history: Change[] = [];
  #rows = new Map<number, Row>();
  #nextVersion = 1;
  #held: { readonly handle: HeldRows; readonly rows: readonly (Row | undefined)[] }[] = [];
  #heldFiles: { readonly handle: HeldFiles; readonly lists: readonly HeldList[] } | undefined;
  readonly #underWay = new Set<Promise<unknown>>();
  #failure: unknown;

  constructor(random: Random, plant: RowFilesPlant) {
    this.#random = random;
    this.#plant = plant;
    this.#disk = new SimulatedDisk({ seed: random.below(2 ** 32) });
  }

  async run(): Promise<void> {
    await this.#disk.mkdir(DIRECTORY);
    await this.#disk.syncDirectory("/");
    this.#disk = this.#disk.restarted({ seed: 1, isStepped: true });
    let mustFindAll = false;
    for (let life = 0; life < LIVES; life += 1) {
      await this.#start(mustFindAll);
      for (let step = 0; step < STEPS; step += 1) await this.#step();
      await this.#checkAll();
      mustFindAll = await this.#end();
    }
    await this.#start(mustFindAll);
    await this.#checkAll();
  }

  get #store(): RowFiles {
    if (this.#files === undefined) throw new Error("There is a life");
    return this.#files;
  }

  async #start(mustFindAll: boolean): Promise<void> {
    this.#rows = new Map();
    const storage = rowFiles(this.#disk, DIRECTORY);
    const { files, refused } = await this.#finished(
      RowFiles.open({
        storage: this.#plant.storage?.(storage) ?? storage,
        index: 1,
        namespace: 0,
        dimension: DIMENSION,
        versionOf: (record) => this.#rows.get(record)?.version ?? Number.NaN,
        segmentBytes: SEGMENT_BYTES,
      }),
    );
    this.#plant.files?.(files);
    this.#files = files;
    this.figures.filesRefused += refused.length;
    for (const change of this.#history) {
      this.#apply(change);
      // A long replay writes rows too.
      if (this.#random.below(100) === 0) await this.#finished(files.flush());
    }
    const { bufferedCount } = files;
    this.figures.rowsFound += files.count - bufferedCount;
    this.figures.rowsWrittenAgain += bufferedCount;
    check(!mustFindAll || bufferedCount === 0, `(4) ${bufferedCount} rows of ${files.count} are written again`);
    files.endRecovery();
    await this.#checkRows();
  }

  /** Ends a life. Returns true if the next one must find all rows in files. */
  async #end(): Promise<boolean> {
    const random = this.#random;
    this.#releaseAll();
    const isStopped = random.below(2) === 0;
    if (isStopped) {
      await this.#settled(Promise.allSettled([...this.#underWay]));
      await this.#finished(this.#store.flush());
      await this.#finished(this.#store.close());
      check(this.#disk.openCount === 0, `${this.#disk.openCount} files are open after a stop`);
    }
    const next = isStopped || random.below(2) === 0 ? this.#disk.afterKill(random) : this.#disk.afterPowerCut(random);
    this.#underWay.clear();
    this.#disk = next.restarted({ seed: random.below(2 ** 32), isStepped: true });
    this.#files = undefined;
    const isDamaged = random.below(2) === 0 && this.#damage();
    const isOlder = random.below(4) === 0;
    if (isOlder) this.#rollBack();
    return isStopped && !isDamaged && !isOlder;
  }

  /** Restores an older state of the journal: versions are assigned again. */
  #rollBack(): void {
    this.#history = this.#history.slice(0, this.#random.below(this.#history.length + 1));
    const versions = this.#history.map((change) => (change.kind === "set" ? change.row.version : 0));
    this.#nextVersion = Math.max(0, ...versions) + 1;
    // Other writes follow, before the files are opened.
    for (let i = 0; i < RECORDS; i += 1) this.#history.push(this.#drawSet(this.#random.below(RECORDS)));
  }

  /** Returns false if no file was damaged. */
  #damage(): boolean {
    const isDamaged = damageRowFile(this.#disk, this.#disk.paths, this.#random);
    if (isDamaged) this.figures.damages += 1;
    return isDamaged;
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const drawn = random.below(100);
    if (drawn < 45) this.#change();
    else if (drawn < 52) this.#begin(this.#store.flush().catch(acceptFullDisk));
    else if (drawn < 57) this.#hold();
    else if (drawn < 63) this.#readHeld();
    else if (drawn < 64) this.#holdFiles();
    else if (drawn < 65) this.#scanHeldFiles();
    else if (drawn < 70) this.#begin(this.#checkRead());
    else if (drawn < 71) await this.#failOnce();
    else {
      this.#disk.step(random);
      await nextTurn();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Lets the disk refuse the next write, or a part of it. */
  async #failOnce(): Promise<void> {
    let isOver = false;
    this.#disk.faultOf = ({ kind }) => {
      if (isOver || (kind !== "write" && kind !== "create")) return undefined;
      isOver = true;
      this.figures.diskFaults += 1;
      return { code: "ENOSPC" };
    };
    await this.#finished(this.#store.flush().catch(acceptFullDisk));
    this.#disk.faultOf = () => undefined;
    await this.#checkRows(); // (5)
  }

  #change(): void {
    const random = this.#random;
    const record = random.below(RECORDS);
    const drawn = random.below(100);
    let change: Change;
    if (drawn < 60) change = this.#drawSet(record);
    else if (drawn < 85) change = { kind: "remove", record };
    else if (drawn < 99) change = { kind: "move", from: record, to: random.below(RECORDS) };
    else change = { kind: "clear" };
    if (change.kind === "move" && (!this.#rows.has(change.from) || this.#rows.has(change.to))) return;
    this.figures.changes += 1;
    this.#history.push(change);
    this.#apply(change);
  }

  #drawSet(record: number): Change {
    const values = Float32Array.from({ length: DIMENSION }, () => this.#random.below(1_000) - 500);
    let squaredLength = 0;
    for (const value of values) squaredLength += value * value;
    const row = { version: this.#nextVersion, squaredLength: Math.fround(squaredLength), values };
    this.#nextVersion += 1;
    return { kind: "set", record, row };
  }

  #apply(change: Change): void {
    const files = this.#store;
    switch (change.kind) {
      case "set":
        files.set(change.record, change.row);
        this.#rows.set(change.record, change.row);
        return;
      case "remove":
        files.remove(change.record);
        this.#rows.delete(change.record);
        return;
      case "move": {
        files.move(change.from, change.to);
        const row = this.#rows.get(change.from) as Row;
        this.#rows.delete(change.from);
        this.#rows.set(change.to, row);
        return;
      }
      case "clear":
        files.clear();
        this.#rows.clear();
        return;
      default: {
        const never: never = change;
        throw never;
      }
    }
  }

  #drawRecords(): number[] {
    return Array.from({ length: 1 + this.#random.below(10) }, () => this.#random.below(RECORDS));
  }

  #hold(): void {
    if (this.#held.length === HELD_MAX) this.#held.shift()?.handle.release();
    const records = this.#drawRecords();
    const rows = records.map((record) => this.#rows.get(record));
    this.#held.push({ handle: this.#store.hold(records), rows });
  }

  /** (2) */
  #readHeld(): void {
    const held = this.#held[this.#random.below(Math.max(1, this.#held.length))];
    for (const [i, place] of (held?.handle.places ?? []).entries()) {
      if (place === undefined) continue;
      const entries = RowEntries.ofCount(DIMENSION, 1);
      this.#disk.readNow(place.descriptor, entries.bytes, place.offset);
      const row = held?.rows[i];
      const isIt = entries.isWhole(0) && entries.versionOf(0) === row?.version && place.version === row.version;
      check(isIt && isEqual(entries.valuesOf(0), row?.values), "(2) a held place has another row");
      this.figures.heldReads += 1;
    }
  }

  /** All files, with the rows that they have now. */
  #holdFiles(): void {
    this.#heldFiles?.handle.release();
    const handle = this.#store.holdFiles();
    let rowCount = 0;
    const lists = handle.files.map(({ descriptor, records }) => {
      const rows = Array.from(records, (record) => (record === NO_RECORD ? undefined : this.#rows.get(record)));
      rowCount += rows.filter((row) => row !== undefined).length;
      return { descriptor, rows };
    });
    check(rowCount === this.#rows.size - this.#store.bufferedCount, "(1) the files do not list all their rows");
    this.#heldFiles = { handle, lists };
  }

  /** (2), for whole files. */
  #scanHeldFiles(): void {
    for (const { descriptor, rows } of this.#heldFiles?.lists ?? []) {
      const entries = RowEntries.ofCount(DIMENSION, rows.length);
      const byteCount = this.#disk.readNow(descriptor, entries.bytes, HEAD_BYTES);
      check(byteCount === entries.bytes.length, "(2) a held file is shorter than its list");
      for (const [entry, row] of rows.entries()) {
        if (row === undefined) continue;
        check(
          entries.isWhole(entry) && isEqual(entries.valuesOf(entry), row.values),
          "(2) a held file has another row",
        );
        this.figures.scannedRows += 1;
      }
    }
  }

  #releaseAll(): void {
    for (const { handle } of this.#held.splice(0)) handle.release();
    this.#heldFiles?.handle.release();
    this.#heldFiles = undefined;
  }

  /** (1), for some records as they are at the call. */
  async #checkRead(records = this.#drawRecords()): Promise<void> {
    const wanted = records.map((record) => this.#rows.get(record)?.values);
    const found = await this.#store.read(records);
    for (const [i, values] of wanted.entries())
      check(isEqual(found[i], values), `(1) record ${records[i]} has another row`);
    this.figures.reads += 1;
  }

  async #checkRows(): Promise<void> {
    const all = Array.from({ length: RECORDS }, (_, record) => record);
    check(this.#store.count === this.#rows.size, `(1) ${this.#store.count} rows instead of ${this.#rows.size}`);
    for (const record of all)
      check(this.#store.has(record) === this.#rows.has(record), `(1) record ${record} is wrong`);
    await this.#finished(this.#checkRead(all));
  }

  async #checkAll(): Promise<void> {
    await this.#checkRows();
    this.#releaseAll();
    // Reads and a flush that began before hold files too.
    await this.#settled(Promise.allSettled([...this.#underWay]));
    await this.#finished(this.#store.flush());
    check(this.#store.bufferedCount === 0, "(1) a flush leaves rows in the buffer");
    const filesMax = 2 * Math.ceil(this.#rows.size / ENTRIES_MAX) + 2;
    const names = this.#disk.paths.filter((path) => path.startsWith(`${DIRECTORY}/rows-1-0-`));
    check(
      names.length === this.#store.fileCount,
      `(3) ${names.length} files, of which ${this.#store.fileCount} are known`,
    );
    check(names.length <= filesMax, `(3) ${names.length} files for ${this.#rows.size} rows`);
    await this.#checkRows();
  }

  /** Lets something run beside the next steps. */
  #begin(promise: Promise<unknown>): void {
    this.#underWay.add(promise);
    promise.then(
      () => this.#underWay.delete(promise),
      (failure: unknown) => {
        // The life of an unfinished one is over.
        if (this.#underWay.delete(promise)) this.#failure = failure;
      },
    );
  }

  async #finished<Result>(promise: Promise<Result>): Promise<Result> {
    await this.#settled(promise.catch(() => {}));
    return promise;
  }

  /** Lets the disk work until a promise is settled. */
  async #settled(promise: Promise<unknown>): Promise<void> {
    let isSettled = false;
    void promise.then(() => {
      isSettled = true;
    });
    for (await nextTurn(); !isSettled; await nextTurn()) this.#disk.step(this.#random);
  }
}

/** (5) */
function acceptFullDisk(fault: unknown): void {
  if (codeOf(fault) !== "ENOSPC") throw fault;
}

function isEqual(one: Float32Array | undefined, other: Float32Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.length === other.length && one.every((value, i) => value === other[i]);
}
