/**
 * One process per data directory (threats.md S-08), even if the lock file is
 * deleted by hand: a lock belongs to a file, so a recreated file is not locked.
 *
 * (1) The lock is an exclusive transaction on `lock.sqlite`. It holds between
 *     all processes that see the same file system of one machine, containers too.
 * (2) On Linux a process also holds an abstract socket, named after the
 *     directory's device and inode. No change of files releases it. It holds
 *     between processes that share a network namespace.
 * (3) Elsewhere, and between containers, the holder of the lock checks every
 *     second whether the file is still its own. It recreates a deleted file; if
 *     another process has locked the file, the holder ends at once.
 * (4) So a process that finds no lock file in a used directory creates one, and
 *     before it reads or writes anything, waits until a holder of the previous
 *     file has checked.
 */
import { existsSync, statSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { FORMAT_FILE } from "../../persistence/data-directory.ts";
import { LOCK_FILE, lockDataDirectory } from "../../persistence/data-directory-lock.ts";
import { DirectoryInUse } from "../../persistence/errors.ts";
import { codeOf } from "../refusal.ts";

/** How often the holder checks. */
const LOOK_EVERY_MS = 1_000;
/** keeps (4): twice the holder's interval, in case it is late. */
const WAIT_MS = 2_500;

export interface DirectoryLock {
  release(): void;
  /** Watches the lock file, for the last caller: keeps (3). `onLost`: another process has the directory. */
  watch(events: { readonly log: Log; onLost(): void }): void;
}

export interface DirectoryLockOptions {
  readonly clock?: Clock;
  /** False: no socket is held, as on systems without abstract sockets. */
  readonly hasSocket?: boolean;
}

/** Locks an existing directory. Rejects with `DirectoryInUse` if this or another process has locked it. */
export async function lockDirectory(
  directory: string,
  { clock = systemClock, hasSocket = process.platform === "linux" }: DirectoryLockOptions = {},
): Promise<DirectoryLock> {
  const path = join(directory, LOCK_FILE);
  const isSuspicious = existsSync(join(directory, FORMAT_FILE)) && !existsSync(path);
  const lock = new HeldLock(directory, clock);
  try {
    if (hasSocket) lock.socket = await holdSocket(directory);
    if (isSuspicious) await new Promise<void>((resolve) => void clock.after(WAIT_MS, resolve)); // keeps (4)
    return lock;
  } catch (fault) {
    lock.release();
    throw fault;
  }
}

class HeldLock implements DirectoryLock {
  socket: Server | undefined;
  readonly #directory: string;
  readonly #path: string;
  readonly #clock: Clock;
  #releaseFile: () => void;
  #identity: string | undefined;
  #isReported = false;
  #stop: () => void = () => {};

  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#path = join(directory, LOCK_FILE);
    this.#clock = clock;
    this.#releaseFile = lockDataDirectory(directory); // keeps (1)
    this.#identity = identityOf(this.#path);
  }

  release(): void {
    this.#stop();
    this.#releaseFile();
    this.socket?.close();
    this.socket = undefined;
  }

  watch(events: { readonly log: Log; onLost(): void }): void {
    this.#stop();
    this.#stop = this.#clock.after(LOOK_EVERY_MS, () => {
      if (this.#check(events)) this.watch(events);
      else events.onLost();
    });
  }

  /** keeps (3): false if another process has the lock. */
  #check({ log }: { readonly log: Log }): boolean {
    const identity = identityOf(this.#path);
    if (identity !== undefined && identity === this.#identity) return true;
    try {
      const releaseFile = lockDataDirectory(this.#directory);
      this.#releaseFile();
      this.#releaseFile = releaseFile;
      this.#identity = identityOf(this.#path);
      log.warn("the lock file of the data directory was removed or replaced, and was created again", {
        path: this.#path,
      });
    } catch (fault) {
      if (fault instanceof DirectoryInUse) return false;
      // The directory itself may have been moved.
      if (!this.#isReported)
        log.warn("the lock file of the data directory cannot be created again", faultFields(fault));
      this.#isReported = true;
    }
    return true;
  }
}

/** The identity of the file that has this name now; undefined if it does not exist. */
function identityOf(path: string): string | undefined {
  const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
  return facts === undefined ? undefined : `${facts.dev}-${facts.ino}`;
}

/** keeps (2). Undefined if the system does not support it. */
async function holdSocket(directory: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(`\0larder-data-directory-${identityOf(directory)}`, resolve);
    });
  } catch (fault) {
    if (codeOf(fault) === "EADDRINUSE") throw new DirectoryInUse(directory);
    return undefined;
  }
  // It does not keep the process alive.
  return server.unref();
}
