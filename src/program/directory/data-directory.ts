/**
 * The data directory as a whole: created if missing, locked for the life of the
 * process (threats.md S-08), with tokens.json and the addresses of the process
 * that uses it. `persistence/` handles the directories of the areas.
 */
import { accessSync, constants, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "../../kernel/clock.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import type { Log } from "../../kernel/log.ts";
import { assertNotForeign, prepareDataDirectory } from "../../persistence/data-directory.ts";
import { LOCK_FILE } from "../../persistence/data-directory-lock.ts";
import { noSpaceText } from "../../persistence/disk/disk.ts";
import { writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { assertFileIfThere } from "../../persistence/disk/file-kind.ts";
import { NoText, readTextFile } from "../../persistence/disk/text-file.ts";
import { NotAFile } from "../../persistence/errors.ts";
import { highWaterPath } from "../../persistence/journal/high-water.ts";
import { FOLLOW_FILE, parseRecord } from "../../replication/follow/record.ts";
import type { AreaName } from "../areas/area.ts";
import { removeOldStages } from "../areas/backup-stage.ts";
import type { Addresses } from "../cli/env-block.ts";
import { assertNoNode, NODE_FILE } from "../cluster/node-file.ts";
import { isClustered } from "../cluster/setting-rules.ts";
import { codeOf, directoryRefusal, StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import type { Command } from "../settings/setting.ts";
import { AUDIT_FILE } from "../tenants/audit-log.ts";
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
  /** Absolute; undefined: nothing is stored, tokens are in memory. */
  readonly tokensPath: string | undefined;
  /** True if nobody has seen the secrets of tokens.json: they are printed now and never again. */
  readonly isFirstStart: boolean;
  /** True if no larder had served from the directory before this start; a start that was refused may have made it. */
  readonly isNew: boolean;
  /** The content of tokens.json; empty if it does not exist. */
  readTokens(): StoredTokens;
  /** Replaces tokens.json durably, readable only by its owner. */
  storeTokens(tokens: StoredTokens): Promise<void>;
  /** Writes the address of this process' admin port, for commands that call it. */
  noteAdminAddress(address: string): void;
  /** Writes the facts about this process that commands need, once its areas serve. */
  noteServing(serving: Serving): void;
  /** Watches that no other process uses the directory. `onLost`: one does, and this process must stop writing. */
  watchLock(events: { readonly log: Log; onLost(): void }): void;
  /** Releases the lock. */
  release(): void;
}

/** A process that serves from a data directory. */
export interface Serving {
  readonly addresses: Addresses;
  readonly command: Command;
  /** Undefined: noted by an older version. */
  readonly pid: number | undefined;
}

/** Only the owner: the directory has secrets and data. */
const DIRECTORY_MODE = 0o700;
const TOKENS_MODE = 0o600;

/** May be out of date once the process has ended: only the lock says whether it runs. */
const ADDRESS_FILE = "admin-address";
const ADDRESSES_FILE = "addresses.json";
/** The file that makes a directory a data directory (persistence/data-directory.ts). */
const FORMAT_FILE = "format";

const NOTE_AGAIN_MS = 1_000;

/** Name prefix of the directory that a backup is extracted to; an unfinished restore leaves one. */
export const RESTORING_PREFIX = "restoring-";

/** The areas that store data in this version. */
export const STORED_AREAS: readonly AreaName[] = ["store", "messaging", "vector"];

const NAMES_OF_FILES: readonly string[] = [
  ...[FORMAT_FILE, LOCK_FILE, TOKENS_FILE, FOLLOW_FILE, NODE_FILE, ADDRESS_FILE, ADDRESSES_FILE],
  ...STORED_AREAS.map(highWaterPath),
];

/**
 * Creates and locks the data directory of this run; `held`: this process has its lock already. Rejects with a `StartRefusal` if
 * that is not possible; then the lock is released.
 */
export async function openDataDirectory(run: RunSettings, held?: DirectoryLock): Promise<DataDirectory> {
  const { settings, origins } = run;
  const areas = isClustered(run) ? [] : STORED_AREAS;
  if (settings.dataDirectory === undefined) return new MemoryDirectory();
  const path = resolve(settings.dataDirectory);
  // Loaded here with SQLite, because a development server without a data directory does not need it.
  const { lockDirectory } = await import("./directory-lock.ts");
  let lock = held;
  try {
    makeDirectory(path, DIRECTORY_MODE);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    assertFiles(path);
    assertRestored(path);
    assertNotForeign(path, readdirSync(path), STORED_AREAS);
    lock ??= await lockDirectory(path);
    await endInterrupted(path);
    if (isClustered(run)) assertNoSingleServer(path);
    else assertNoNode(path);
    const isNew = isClustered(run) ? !isUsedDirectory(path) : areaWithFiles(path) === undefined;
    await prepareDataDirectory(fileDisk, path, areas);
    return new DiskDirectory(path, { lock, isNew });
  } catch (fault) {
    lock?.release();
    throw directoryRefusal(fault, path, origins.dataDirectory.place);
  }
}

/**
 * Throws `NotAFile` if something else has the name of a file that larder reads or writes in the directory, and a
 * `StartRefusal` if a file has the name of an area.
 */
export function assertFiles(path: string): void {
  for (const name of NAMES_OF_FILES) assertFileIfThere(join(path, name));
  // A link may lead to a device or a pipe on purpose.
  const audit = join(path, AUDIT_FILE);
  if (statSync(audit, { throwIfNoEntry: false })?.isDirectory() === true) throw new NotAFile(audit, "a directory");
  for (const name of STORED_AREAS) {
    const area = join(path, name);
    if (statSync(area, { throwIfNoEntry: false })?.isDirectory() === false)
      throw new StartRefusal(`${area} is not a directory: move it away, or restore the data directory from a backup`);
  }
}

/** True if larder has used the directory: it has the layout. tokens.json may be missing. */
export function isUsedDirectory(path: string): boolean {
  return existsSync(join(path, FORMAT_FILE));
}

/** An area that has opened in the directory; it makes files then, after every port listens. */
function areaWithFiles(path: string): AreaName | undefined {
  return STORED_AREAS.find((each) => existsSync(join(path, each)) && readdirSync(join(path, each)).length > 0);
}

/** Throws a `StartRefusal` if the directory has areas with files: a node would not serve them. */
function assertNoSingleServer(path: string): void {
  const area = areaWithFiles(path);
  if (area === undefined) return;
  throw new StartRefusal(
    `${path} has the data of a single server (${area}), which a node does not read: use an empty directory for the node, and move the data with larder cluster import`,
  );
}

/** Throws a `StartRefusal` after an unfinished restore, and if the directory follows a copy. */
export function assertRestored(path: string): void {
  const names = readdirSync(path);
  if (names.includes(FORMAT_FILE)) return;
  const text = readIfThere(join(path, FOLLOW_FILE));
  if (text !== undefined) throw new StartRefusal(followsText(path, text));
  if (!names.some((name) => name.startsWith(RESTORING_PREFIX))) return;
  throw new StartRefusal(
    `A restore or an export into ${path} did not finish: run it again, or empty the directory to start over`,
  );
}

/** Why a directory that follows cannot be served. `text`: of its record. */
function followsText(path: string, text: string): string {
  const [address] = parseRecord(text, join(path, FOLLOW_FILE)).address.split("?");
  return `${path} follows the copy ${address} and is no data directory yet: larder promote ${path} makes it one`;
}

/** Removes the remains of unfinished backups, restores and promotions. Throws a `StartRefusal` if the restore is incomplete. */
async function endInterrupted(path: string): Promise<void> {
  assertRestored(path);
  for (const name of readdirSync(path).filter((each) => each.startsWith(RESTORING_PREFIX))) {
    rmSync(join(path, name), { recursive: true, force: true });
  }
  // With a format file, the promotion was complete.
  if (isUsedDirectory(path)) rmSync(join(path, FOLLOW_FILE), { force: true });
  await removeOldStages(path);
}

class DiskDirectory implements DataDirectory {
  readonly tokensPath: string;
  readonly isFirstStart: boolean;
  readonly isNew: boolean;
  readonly #lock: DirectoryLock;
  readonly #addressPath: string;
  readonly #addressesPath: string;
  #stored: StoredTokens;
  /** Functions that end the wait for space, by path. */
  readonly #cancels = new Map<string, () => void>();

  constructor(path: string, { lock, isNew }: { lock: DirectoryLock; isNew: boolean }) {
    this.#lock = lock;
    this.isNew = isNew;
    this.tokensPath = join(path, TOKENS_FILE);
    this.#addressPath = join(path, ADDRESS_FILE);
    this.#addressesPath = join(path, ADDRESSES_FILE);
    // Until this process has a port, none is valid: another program may have the port of the previous process.
    rmSync(this.#addressPath, { force: true });
    rmSync(this.#addressesPath, { force: true });
    const stored = readTokensFile(this.tokensPath);
    this.isFirstStart = stored === undefined || isNew;
    this.#stored = stored ?? {};
  }

  watchLock(events: { readonly log: Log; onLost(): void }): void {
    this.#lock.watch(events);
  }

  release(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#lock.release();
  }

  readTokens(): StoredTokens {
    return this.#stored;
  }

  async storeTokens(tokens: StoredTokens): Promise<void> {
    await writeFileDurably(this.tokensPath, printStoredTokens(tokens), { mode: TOKENS_MODE });
    this.#stored = tokens;
  }

  noteAdminAddress(address: string): void {
    this.#note(this.#addressPath, `${address}\n`);
  }

  noteServing({ addresses, command, pid }: Serving): void {
    this.#note(this.#addressesPath, `${JSON.stringify({ ...addresses, command, pid })}\n`);
  }

  /** Commands find the server by this file. On a full disk it is written as soon as there is space. */
  #note(path: string, line: string): void {
    try {
      writeFileSync(path, line, { mode: TOKENS_MODE });
    } catch (fault) {
      if (noSpaceText(fault) === undefined) throw fault;
      // A partial line is not an address.
      rmSync(path, { force: true });
      this.#cancels.set(
        path,
        systemClock.after(NOTE_AGAIN_MS, () => this.#note(path, line)),
      );
    }
  }
}

/** The base address of the admin port of the larder that uses a data directory; undefined until the port is open. */
export function readAdminAddress(path: string): string | undefined {
  const text = readIfThere(join(path, ADDRESS_FILE));
  return text?.endsWith("\n") === true ? text.trim() : undefined;
}

/** The larder that uses a data directory; undefined until it serves. */
export function readServing(path: string): Serving | undefined {
  const text = readIfThere(join(path, ADDRESSES_FILE));
  // A text without its line end is still being written.
  if (text?.endsWith("\n") !== true) return undefined;
  const value: unknown = parseJsonText(text);
  const fields = new Map<string, unknown>(typeof value === "object" && value !== null ? Object.entries(value) : []);
  const [store, vector, messaging, admin] = ["store", "vector", "messaging", "admin"].map((name) => fields.get(name));
  if (typeof store !== "string" || typeof vector !== "string") return undefined;
  if (typeof messaging !== "string" || typeof admin !== "string") return undefined;
  const resp = readResp(fields.get("resp"));
  const pid = fields.get("pid");
  return {
    addresses: { store, vector, messaging, admin, ...(resp !== undefined && { resp }) },
    command: fields.get("command") === "dev" ? "dev" : "serve",
    pid: typeof pid === "number" ? pid : undefined,
  };
}

function readResp(value: unknown): Addresses["resp"] {
  if (typeof value !== "object" || value === null || !("host" in value && "isEncrypted" in value)) return undefined;
  const { host, isEncrypted } = value;
  return typeof host === "string" && typeof isEncrypted === "boolean" ? { host, isEncrypted } : undefined;
}

function readIfThere(path: string): string | undefined {
  try {
    return readTextFile(path);
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw fault instanceof NoText ? new StartRefusal(`${fault.message}: move it away`) : fault;
  }
}

/** The content of tokens.json; undefined if it does not exist. Throws a `StartRefusal` if it is damaged. */
export function readTokensFile(path: string): StoredTokens | undefined {
  try {
    return parseStoredTokens(readTextFile(path));
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return undefined;
    if (fault instanceof NoText)
      throw new StartRefusal(`${fault.message}. Restore it from a backup, or move it away to generate new tokens`);
    if (!(fault instanceof DamagedTokens)) throw fault;
    throw new StartRefusal(
      `${path} cannot be used: ${fault.message}. Restore it from a backup, or remove it to generate new tokens`,
    );
  }
}

/** True if other users of this machine may read the file; false if it does not exist. */
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

  noteServing(): void {}

  release(): void {}
}
