/**
 * A disk in memory that loses power as real disks do, decided by a seed.
 *
 * simulated-file.ts has what a power cut may leave of a file, simulated-names.ts
 * the same for names. This file has the operations: when they complete, in
 * which order, and which of them fail.
 *
 * (1) A sync covers what was completed before it was requested, not what came
 *     while it ran.
 * (2) An operation under way at a crash may have been carried out in full, in
 *     part or not at all; the caller was not notified.
 * (3) A crash makes a new disk and leaves the old one unchanged, so that many
 *     crashes can be tried at one moment of one run.
 *
 * A stepped disk completes one of the operations under way at each `step`; an
 * immediate disk completes each at once.
 */
import { dirname } from "node:path/posix";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { Disk, DiskFile, OpenHow } from "../../../src/persistence/disk/disk.ts";
import { SimulatedFile } from "./simulated-file.ts";
import { ROOT, SimulatedNames } from "./simulated-names.ts";

export type OperationKind = (typeof OPERATION_KINDS)[number];

export const OPERATION_KINDS = [
  ...(["open", "create", "close", "read", "size", "list"] as const),
  ...(["write", "truncate", "sync"] as const),
  ...(["rename", "unlink", "link", "mkdir", "syncDirectory"] as const),
] as const;

/** After the standard streams. */
const DESCRIPTOR_FIRST = 3;

/** Operations that do not change what a crash finds. */
const HARMLESS: ReadonlySet<OperationKind> = new Set(["open", "close", "read", "size", "list"]);

export interface Operation {
  readonly kind: OperationKind;
  readonly path: string;
  /** The number of operations of its kind begun on this disk, this one included. */
  readonly ordinal: number;
}

/** What goes wrong with one operation: it fails, or, for a write or a read, it moves only this many bytes. */
export type Fault = { readonly code: string } | { readonly bytesMax: number };

export interface SimulatedDiskOptions {
  readonly seed: number;
  /** The default is false: operations are completed at once. */
  readonly isStepped?: boolean;
}

interface Underway {
  readonly operation: Operation;
  waitedMs: number;
  readonly run: () => void;
  /** What the system may do of it before the power goes, on a copy of the disk: (2). */
  readonly mayHappen: ((disk: SimulatedDisk, random: Random) => void) | undefined;
}

export class SimulatedDisk implements Disk {
  /** Decides what goes wrong; nothing if it returns undefined. */
  faultOf: (operation: Operation) => Fault | undefined = () => undefined;
  /** Called when something changed that a crash would show. */
  onBoundary: (operation: Operation) => void = () => {};
  /** How many bytes files may still grow by. Creating a file needs at least one byte. */
  freeBytes = Number.POSITIVE_INFINITY;

  readonly #random: Random;
  readonly #isStepped: boolean;
  readonly #underway: Underway[] = [];
  readonly #begun = new Map<OperationKind, number>();
  #names: SimulatedNames;
  /** Open files by descriptor. */
  readonly #open = new Map<number, SimulatedFile>();

  constructor({ seed, isStepped = false }: SimulatedDiskOptions, names = new SimulatedNames()) {
    this.#random = seededRandom(seed);
    this.#isStepped = isStepped;
    this.#names = names;
  }

  // The interface of persistence.

  open(path: string, how: OpenHow): Promise<DiskFile> {
    const kind = how === "create" ? "create" : "open";
    const made = how === "create" ? new SimulatedFile() : undefined;
    return this.#perform({ kind, path, mayHappen: made && ((disk) => disk.#create(path, made.copy())) }, () => {
      const found = this.#names.find(path);
      if (made !== undefined) this.#create(path, made);
      else if (!(found instanceof SimulatedFile)) throw systemError("ENOENT", path);
      return this.#handle(path, made ?? (found as SimulatedFile), how);
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#change("rename", from, (disk) => {
      disk.#names.change(
        new Map([
          [from, undefined],
          [to, disk.#file(from)],
        ]),
      );
    });
  }

  unlink(path: string): Promise<void> {
    return this.#change("unlink", path, (disk) => {
      const { length } = disk.#file(path);
      disk.#names.change(new Map([[path, undefined]]));
      disk.freeBytes += length;
    });
  }

  link(from: string, to: string): Promise<void> {
    return this.#change("link", from, (disk) => {
      if (disk.#names.find(to) !== undefined) throw systemError("EEXIST", to);
      disk.#names.change(new Map([[to, disk.#file(from)]]));
    });
  }

  list(path: string): Promise<string[]> {
    return this.#perform({ kind: "list", path }, () => {
      if (!this.#names.isDirectory(path)) throw systemError("ENOENT", path);
      return this.#names.list(path);
    });
  }

  mkdir(path: string): Promise<boolean> {
    return this.#change("mkdir", path, (disk) => {
      if (disk.#names.find(path) !== undefined || path === ROOT) return false;
      disk.#names.makeDirectory(path);
      return true;
    });
  }

  syncDirectory(path: string): Promise<void> {
    const changeCount = this.#names.changeCount(path); // keeps (1)
    return this.#perform({ kind: "syncDirectory", path }, () => this.#names.sync(path, changeCount));
  }

  // Functions for the simulation.

  get underwayCount(): number {
    return this.#underway.length;
  }

  /** Whether something is under way that a crash may leave in part. */
  get isChanging(): boolean {
    return this.#underway.some(({ mayHappen }) => mayHappen !== undefined);
  }

  /** Lets time pass for the operations under way. */
  passTime(ms: number): void {
    for (const underway of this.#underway) underway.waitedMs += ms;
  }

  /** How long the oldest operation of a kind has been under way; 0 if none of them is. */
  waitedMs(kind: OperationKind): number {
    return Math.max(0, ...this.#underway.map(({ operation, waitedMs }) => (operation.kind === kind ? waitedMs : 0)));
  }

  /** Files that were opened and not closed. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Reads by a descriptor at once, as another thread does. Fails with EBADF if no open file has it. */
  readNow(descriptor: number, target: Uint8Array, offset: number): number {
    const file = this.#open.get(descriptor);
    if (file === undefined) throw systemError("EBADF", String(descriptor));
    return offset >= file.length ? 0 : file.bytes.copy(target, 0, offset);
  }

  /** Completes one of the operations under way. False if none is under way. */
  step(random: Random): boolean {
    const [next] = this.#underway.splice(random.below(this.#underway.length), 1);
    next?.run();
    return next !== undefined;
  }

  /** How many operations of a kind were begun. */
  countOf(kind: OperationKind): number {
    return this.#begun.get(kind) ?? 0;
  }

  /** The disk of the next start after a power cut: some of the unsynced data. */
  afterPowerCut(random: Random): SimulatedDisk {
    const crashed = this.#interrupted(random);
    return new SimulatedDisk({ seed: random.below(2 ** 32) }, crashed.#names.afterPowerCut(random));
  }

  /** The disk of the next start after a kill: all written data, none of it more durable than before. */
  afterKill(random: Random): SimulatedDisk {
    return this.#interrupted(random);
  }

  /** The same disk, stepped or not, for a start that continues with it. */
  restarted(options: SimulatedDiskOptions): SimulatedDisk {
    return new SimulatedDisk(options, this.#names.copy());
  }

  get paths(): readonly string[] {
    return this.#names.files;
  }

  /** A copy of what a reader of the file sees. */
  bytesOf(path: string): Buffer {
    return Buffer.from(this.#file(path).bytes);
  }

  /** Puts a durable file there, in place of the one with that name. */
  put(path: string, bytes: Uint8Array): void {
    this.#names.change(new Map([[path, new SimulatedFile(Buffer.from(bytes))]]));
    this.#names.sync(dirname(path), this.#names.changeCount(dirname(path)));
  }

  /** Removes a file, durably. */
  remove(path: string): void {
    this.#names.change(new Map([[path, undefined]]));
    this.#names.sync(dirname(path), this.#names.changeCount(dirname(path)));
  }

  flipBit(path: string, offset: number, bit: number): void {
    this.#file(path).flipBit(offset, bit);
  }

  // How operations are carried out.

  /** keeps (2) */
  #interrupted(random: Random): SimulatedDisk {
    const copy = this.restarted({ seed: random.below(2 ** 32) });
    copy.freeBytes = this.freeBytes;
    for (const { mayHappen } of this.#underway) {
      if (mayHappen === undefined || random.below(2) === 0) continue;
      try {
        mayHappen(copy, random);
      } catch {
        // An operation that it depends on did not happen either.
      }
    }
    copy.freeBytes = Number.POSITIVE_INFINITY;
    return copy;
  }

  #change<Result>(kind: OperationKind, path: string, change: (disk: SimulatedDisk) => Result): Promise<Result> {
    return this.#perform({ kind, path, mayHappen: change }, () => change(this));
  }

  #perform<Result>(
    what: { kind: OperationKind; path: string; mayHappen?: Underway["mayHappen"] },
    run: (fault: Fault | undefined) => Result,
  ): Promise<Result> {
    const operation = this.#begin(what.kind, what.path);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const complete = (): void => {
      try {
        resolve(this.#complete(operation, run));
      } catch (error) {
        reject(error);
      }
    };
    if (this.#isStepped) this.#underway.push({ operation, waitedMs: 0, run: complete, mayHappen: what.mayHappen });
    else complete();
    return promise;
  }

  #begin(kind: OperationKind, path: string): Operation {
    const ordinal = this.countOf(kind) + 1;
    this.#begun.set(kind, ordinal);
    return { kind, path, ordinal };
  }

  #complete<Result>(operation: Operation, run: (fault: Fault | undefined) => Result): Result {
    const fault = this.faultOf(operation);
    try {
      // Failed writes and syncs have effects, so they handle the fault themselves.
      if (fault !== undefined && "code" in fault && operation.kind !== "write" && operation.kind !== "sync")
        throw systemError(fault.code, operation.path);
      return run(fault);
    } finally {
      if (!HARMLESS.has(operation.kind)) this.onBoundary(operation);
    }
  }

  #create(path: string, file: SimulatedFile): void {
    if (this.#names.find(path) !== undefined) throw systemError("EEXIST", path);
    if (!this.#names.isDirectory(dirname(path))) throw systemError("ENOENT", path);
    if (this.freeBytes <= 0) throw systemError("ENOSPC", path);
    this.#names.change(new Map([[path, file]]));
  }

  #file(path: string): SimulatedFile {
    const found = this.#names.find(path);
    if (!(found instanceof SimulatedFile)) throw systemError("ENOENT", path);
    return found;
  }

  #handle(path: string, file: SimulatedFile, how: OpenHow): DiskFile {
    let isOpen = true;
    const descriptor = this.#takeDescriptor(file);
    const use = (change: boolean): void => {
      if (!isOpen) throw new Error(`${path} was used after it was closed`);
      if (change && how === "read") throw systemError("EBADF", path);
    };
    return {
      descriptor,
      write: (bytes, offset) => {
        use(true);
        const given = Buffer.from(bytes);
        const mayHappen: Underway["mayHappen"] = (disk, random) => {
          const there = disk.#names.find(path);
          const part = random.below(2) === 0 ? given : given.subarray(0, random.below(given.length + 1));
          if (there instanceof SimulatedFile) disk.#write(path, there, { bytes: part, offset });
        };
        return this.#perform({ kind: "write", path, mayHappen }, (fault) => {
          // A thread of the pool may read the buffer at any time until it is done.
          if (!given.equals(bytes)) throw new Error(`The buffer for ${path} changed while it was written`);
          return this.#write(path, file, { bytes: given, offset, fault });
        });
      },
      writeNow: (bytes, offset) => {
        use(true);
        return this.#complete(this.#begin("write", path), (fault) => this.#write(path, file, { bytes, offset, fault }));
      },
      read: (target, offset) => {
        use(false);
        return this.#perform({ kind: "read", path }, (fault) => {
          if (offset >= file.length) return 0;
          const countMax = fault !== undefined && "bytesMax" in fault ? fault.bytesMax : target.length;
          return file.bytes.copy(target, 0, offset, Math.min(file.length, offset + countMax));
        });
      },
      fdatasync: () => this.#sync(path, file, use),
      fsync: () => this.#sync(path, file, use),
      truncate: (bytes) => {
        use(true);
        const cut = (disk: SimulatedDisk, there: SimulatedFile): void => {
          disk.freeBytes += there.length - bytes;
          there.truncate(bytes);
        };
        return this.#perform({ kind: "truncate", path, mayHappen: (disk) => cut(disk, disk.#file(path)) }, () =>
          cut(this, file),
        );
      },
      size: () => {
        use(false);
        return this.#perform({ kind: "size", path }, () => file.length);
      },
      close: () => {
        use(false);
        isOpen = false;
        this.#open.delete(descriptor);
        return this.#perform({ kind: "close", path }, () => undefined);
      },
    };
  }

  /** The lowest free one, as systems do: a closed file's descriptor soon belongs to another. */
  #takeDescriptor(file: SimulatedFile): number {
    let descriptor = DESCRIPTOR_FIRST;
    while (this.#open.has(descriptor)) descriptor += 1;
    this.#open.set(descriptor, file);
    return descriptor;
  }

  #write(
    path: string,
    file: SimulatedFile,
    what: { bytes: Uint8Array; offset: number; fault?: Fault | undefined },
  ): number {
    const { bytes, offset, fault } = what;
    const inPlace = Math.max(0, Math.min(bytes.length, file.length - offset));
    let countMax = Math.min(bytes.length, inPlace + Math.max(0, this.freeBytes));
    if (fault !== undefined) {
      // A failed write may have left anything.
      countMax = "code" in fault ? this.#random.below(countMax + 1) : Math.min(countMax, fault.bytesMax);
    }
    if (countMax > 0) {
      this.freeBytes -= Math.max(0, offset + countMax - file.length);
      file.write(offset, bytes.subarray(0, countMax));
    }
    if (fault !== undefined && "code" in fault) throw systemError(fault.code, path);
    if (countMax === 0 && bytes.length > 0) throw systemError("ENOSPC", path);
    return countMax;
  }

  #sync(path: string, file: SimulatedFile, use: (change: boolean) => void): Promise<void> {
    use(false);
    const { changeCount } = file; // keeps (1)
    return this.#perform({ kind: "sync", path }, (fault) => {
      if (fault === undefined || !("code" in fault)) return file.sync(changeCount);
      file.failSync(changeCount, this.#random);
      throw systemError(fault.code, path);
    });
  }
}

export function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
