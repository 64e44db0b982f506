/**
 * The data directory as a whole: made when it is missing, locked for the life
 * of the process (threats.md S-08), and the home of tokens.json and of the
 * addresses of the process that uses it. What is in the directories of the
 * areas is the business of `persistence/`.
 */
import { accessSync, constants, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { noSpaceText } from "../../persistence/disk/disk.ts";
import type { AreaName } from "../areas/area.ts";
import type { Addresses } from "../cli/env-block.ts";
import { codeOf, directoryRefusal, StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import {
  DamagedTokens,
  parseStoredTokens,
  printStoredTokens,
  type StoredTokens,
  TOKENS_FILE,
} from "../tenants/stored-tokens.ts";
import type { DirectoryLock } from "./directory-lock.ts";
import { makeDirectory } from "./make-directory.ts";

export interface DataDirectory {
  /** Absolute; undefined: nothing is kept, tokens live in memory. */
  readonly tokensPath: string | undefined;
  /** True if there was no tokens.json before this start: what is printed now is not printed again. */
  readonly isFirstStart: boolean;
  /** True if no larder had used the directory before this start. */
  readonly isNew: boolean;
  /** What tokens.json holds; nothing when there is none. */
  readTokens(): StoredTokens;
  /** Replaces tokens.json durably, readable by its owner alone. */
  storeTokens(kept: StoredTokens): Promise<void>;
  /** Says where the admin port of this process is, for commands that want to speak to it. */
  noteAdminAddress(address: string): void;
  /** Says where the areas of this process are, once they serve. */
  noteAddresses(addresses: Addresses): void;
  /** Sees from now on that nobody else uses the directory. `onLost`: somebody does, and nothing may be written any more. */
  watchLock(events: { readonly log: Log; onLost(): void }): void;
  /** Gives up the lock. */
  release(): void;
}

/** Only the owner: there are secrets and data in it. */
const DIRECTORY_MODE = 0o700;
const TOKENS_MODE = 0o600;

/** Not in force any more once the process has ended: only the lock says whether there is one. */
const ADDRESS_FILE = "admin-address";
const ADDRESSES_FILE = "addresses.json";
/** What makes a directory a data directory (persistence/data-directory.ts). */
const FORMAT_FILE = "format";

const NOTE_AGAIN_MS = 1_000;

/** In front of the name of the directory that a backup is extracted to; what a restore left that did not end. */
export const RESTORING_PREFIX = "restoring-";

/** The areas that keep something in this version. */
export const STORED_AREAS: readonly AreaName[] = ["store", "messaging", "vector"];

/** Makes and locks the data directory of this run. Rejects with a `StartRefusal` when that cannot be. */
export async function openDataDirectory({ settings, origins }: RunSettings): Promise<DataDirectory> {
  if (settings.dataDirectory === undefined) return new MemoryDirectory();
  const path = resolve(settings.dataDirectory);
  // Loaded here, because a development server without a data directory needs none of it.
  const { lockDirectory } = await import("./directory-lock.ts");
  const { fileDisk } = await import("../../persistence/disk/file-disk.ts");
  const { assertNotForeign, prepareDataDirectory } = await import("../../persistence/data-directory.ts");
  let lock: DirectoryLock | undefined;
  try {
    makeDirectory(path, DIRECTORY_MODE);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    assertRestored(path);
    assertNotForeign(path, readdirSync(path), STORED_AREAS);
    lock = await lockDirectory(path);
    await endInterrupted(path);
    const isNew = !isUsedDirectory(path);
    await prepareDataDirectory(fileDisk, path, STORED_AREAS);
    return new DiskDirectory(path, { lock, isNew });
  } catch (fault) {
    lock?.release();
    throw directoryRefusal(fault, path, origins.dataDirectory.place);
  }
}

/** True if a larder has used the directory: it has its layout. There may be no tokens.json in it. */
export function isUsedDirectory(path: string): boolean {
  return existsSync(join(path, FORMAT_FILE));
}

/** Throws a `StartRefusal` where a restore did not end. */
export function assertRestored(path: string): void {
  const names = readdirSync(path);
  if (names.includes("format") || !names.some((name) => name.startsWith(RESTORING_PREFIX))) return;
  throw new StartRefusal(
    `A restore into ${path} did not finish: run larder restore again, or empty the directory to start over`,
  );
}

/** Removes what backups and restores left that did not end. Throws a `StartRefusal` where a directory is not restored yet. */
async function endInterrupted(path: string): Promise<void> {
  assertRestored(path);
  for (const name of readdirSync(path).filter((each) => each.startsWith(RESTORING_PREFIX))) {
    rmSync(join(path, name), { recursive: true, force: true });
  }
  const { removeOldStages } = await import("../areas/backup-stage.ts");
  await removeOldStages(path);
}

class DiskDirectory implements DataDirectory {
  readonly tokensPath: string;
  readonly isFirstStart: boolean;
  readonly isNew: boolean;
  readonly #lock: DirectoryLock;
  readonly #addressPath: string;
  readonly #addressesPath: string;
  #kept: StoredTokens;
  /** End the wait for space, by path. */
  readonly #cancels = new Map<string, () => void>();

  constructor(path: string, { lock, isNew }: { lock: DirectoryLock; isNew: boolean }) {
    this.#lock = lock;
    this.isNew = isNew;
    this.tokensPath = join(path, TOKENS_FILE);
    this.#addressPath = join(path, ADDRESS_FILE);
    this.#addressesPath = join(path, ADDRESSES_FILE);
    // Until this process has a port there is none to speak to: another may have that of the process before us.
    rmSync(this.#addressPath, { force: true });
    rmSync(this.#addressesPath, { force: true });
    const text = readIfThere(this.tokensPath);
    this.isFirstStart = text === undefined;
    this.#kept = text === undefined ? {} : parseTokensFile(this.tokensPath, text);
  }

  watchLock(events: { readonly log: Log; onLost(): void }): void {
    this.#lock.watch(events);
  }

  release(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#lock.release();
  }

  readTokens(): StoredTokens {
    return this.#kept;
  }

  async storeTokens(kept: StoredTokens): Promise<void> {
    const { writeFileDurably } = await import("../../persistence/disk/durable-file.ts");
    await writeFileDurably(this.tokensPath, printStoredTokens(kept), { mode: TOKENS_MODE });
    this.#kept = kept;
  }

  noteAdminAddress(address: string): void {
    this.#note(this.#addressPath, `${address}\n`);
  }

  noteAddresses({ store, vector, messaging, admin }: Addresses): void {
    const line = JSON.stringify({ store, vector, messaging, admin });
    this.#note(this.#addressesPath, `${line}\n`);
  }

  /** Commands find the server by it. On a full disk it is noted as soon as there is space. */
  #note(path: string, line: string): void {
    try {
      writeFileSync(path, line, { mode: TOKENS_MODE });
    } catch (fault) {
      if (noSpaceText(fault) === undefined) throw fault;
      // Half a line is no address.
      rmSync(path, { force: true });
      this.#cancels.set(
        path,
        systemClock.after(NOTE_AGAIN_MS, () => this.#note(path, line)),
      );
    }
  }
}

/** The base address of the admin port of the larder that uses a data directory; undefined while it has none. */
export function readAdminAddress(path: string): string | undefined {
  const text = readIfThere(join(path, ADDRESS_FILE));
  return text?.endsWith("\n") === true ? text.trim() : undefined;
}

/** The base addresses of the larder that uses a data directory; undefined while it does not serve. */
export function readAddresses(path: string): Omit<Addresses, "resp"> | undefined {
  const text = readIfThere(join(path, ADDRESSES_FILE));
  // What does not end with its line is being written.
  if (text?.endsWith("\n") !== true) return undefined;
  const value: unknown = JSON.parse(text);
  const fields = new Map(typeof value === "object" && value !== null ? Object.entries(value) : []);
  const [store, vector, messaging, admin] = ["store", "vector", "messaging", "admin"].map((name) => fields.get(name));
  if (typeof store !== "string" || typeof vector !== "string") return undefined;
  return typeof messaging === "string" && typeof admin === "string" ? { store, vector, messaging, admin } : undefined;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw fault;
  }
}

/** Reads the text of tokens.json. Throws a `StartRefusal` when it is damaged. */
export function parseTokensFile(path: string, text: string): StoredTokens {
  try {
    return parseStoredTokens(text);
  } catch (fault) {
    if (!(fault instanceof DamagedTokens)) throw fault;
    throw new StartRefusal(
      `${path} cannot be used: ${fault.message}. Restore it from a backup, or remove it to have new tokens made`,
    );
  }
}

/** True if others on this machine may read the file; false when there is none. */
export function isReadableByOthers(path: string | undefined): boolean {
  if (path === undefined) return false;
  try {
    return (statSync(path).mode & 0o077) !== 0;
  } catch {
    return false;
  }
}

class MemoryDirectory implements DataDirectory {
  readonly tokensPath = undefined;
  readonly isFirstStart = true;
  readonly isNew = true;

  readTokens(): StoredTokens {
    return {};
  }

  async storeTokens(): Promise<void> {}

  watchLock(): void {}

  noteAdminAddress(): void {}

  noteAddresses(): void {}

  release(): void {}
}
