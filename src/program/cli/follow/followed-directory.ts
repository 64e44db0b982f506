/** A directory that follows a copy, for the commands that change it: its lock, its store, and its promotion. */
import { accessSync, constants, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { systemClock } from "../../../kernel/clock.ts";
import { systemRandom } from "../../../kernel/random.ts";
import type { OnBytes } from "../../../persistence/byte-progress.ts";
import { FORMAT_FILE } from "../../../persistence/data-directory.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { CopyKey } from "../../../replication/copy-key.ts";
import { FollowedCopy } from "../../../replication/follow/followed-copy.ts";
import { promoteDirectory } from "../../../replication/follow/promotion.ts";
import { FOLLOW_FILE, type FollowRecord } from "../../../replication/follow/record.ts";
import { printAddress } from "../../../replication/objects/address.ts";
import type { ObjectStore } from "../../../replication/objects/object-store.ts";
import type { StoreRequestObserver } from "../../../replication/objects/store-requests.ts";
import { damageOf, inspectedEngineOf } from "../../areas/inspect-area.ts";
import { isClustered } from "../../cluster/setting-rules.ts";
import { STORED_AREAS } from "../../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../../directory/directory-lock.ts";
import { makeDirectory } from "../../directory/make-directory.ts";
import { HISTORY_FILE } from "../../history/history-store.ts";
import { printMoment } from "../../metrics/copy-figures.ts";
import { directoryRefusal, StartRefusal } from "../../refusal.ts";
import { copyAddressOf } from "../../services/objects/copy-settings.ts";
import { openObjectStore } from "../../services/objects/open-store.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { copyRefusal, tokenLines } from "../backups/copies.ts";
import { describeArea } from "../backups/describe-area.ts";
import { assertPromotionFiles, promotionFiles } from "./promotion-files.ts";

const DIRECTORY_MODE = 0o700;

/** Files of a directory that counts as empty: its lock, and directories that file systems create. */
const HARMLESS: ReadonlySet<string> = new Set(["lock.sqlite", "lock.sqlite-journal", "lost+found", ...promotionFiles]);

/** How long one call of the store is repeated: the follower tries again, and tells. */
const PATIENCE_MS = 15_000;

/** After this a former server that still copied may still serve. */
const RECENT_MS = 15_000;

/** The absolute path of the directory. Throws a `StartRefusal` for settings that no follower can have. */
export function followedPath(run: RunSettings): string {
  const { dataDirectory } = run.settings;
  if (isClustered(run))
    throw new StartRefusal("A node of a cluster follows nothing: leave out the settings of the cluster", 2);
  if (dataDirectory === undefined)
    throw new StartRefusal(`Name the directory as the second argument, or with ${run.origins.dataDirectory.place}`, 2);
  return resolve(dataDirectory);
}

/** Makes and locks a directory that is empty or follows. Throws a `StartRefusal`. */
export async function lockFollowed(directory: string, place: string): Promise<DirectoryLock> {
  try {
    makeDirectory(directory, DIRECTORY_MODE);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    assertFollowable(directory);
    return await lockDirectory(directory);
  } catch (fault) {
    throw directoryRefusal(fault, directory, place);
  }
}

function assertFollowable(directory: string): void {
  assertPromotionFiles(directory);
  const names = readdirSync(directory);
  if (names.includes(FORMAT_FILE))
    throw new StartRefusal(
      `${directory} is a data directory, which cannot follow: serve from it with larder serve, or follow into an empty directory`,
    );
  const found = names.find((name) => !HARMLESS.has(name));
  if (found === undefined || names.includes(FOLLOW_FILE)) return;
  throw new StartRefusal(`${directory} is not empty (${found}): follow the copy into a new directory`);
}

export interface OpenFollowedOptions {
  readonly address: string;
  readonly directory: string;
  readonly onBytes?: OnBytes;
  readonly onRequest?: StoreRequestObserver;
}

/** Opens the store of a copy to read it, and the directory. Throws a `StartRefusal`. */
export async function openFollowed(
  { settings: { replicateKey } }: RunSettings,
  { address: text, directory, onBytes, onRequest }: OpenFollowedOptions,
): Promise<{ readonly store: ObjectStore; readonly copy: FollowedCopy; readonly name: string }> {
  try {
    const address = copyAddressOf(text, "The address");
    const store = await openObjectStore(address, {
      ...{ environment: process.env, clock: systemClock, random: systemRandom, access: "read" },
      patienceMs: PATIENCE_MS,
      ...(onRequest !== undefined && { onRequest }),
    });
    const copy = await FollowedCopy.open({
      ...{ disk: fileDisk, directory, address: text, clock: systemClock, areas: STORED_AREAS },
      key: replicateKey === undefined ? undefined : new CopyKey(replicateKey),
      historyFile: HISTORY_FILE,
      ...(onBytes !== undefined && { onBytes }),
    });
    return { store, copy, name: printAddress(address) };
  } catch (fault) {
    throw copyRefusal(fault);
  }
}

/** Makes a data directory of a directory that nothing else uses, and returns the lines to print. */
export async function promoteFollowed(
  directory: string,
  record: FollowRecord,
  onBytes: OnBytes,
): Promise<readonly string[]> {
  const areas = await promoteDirectory({
    ...{ disk: fileDisk, directory, record, onBytes },
    engineOf: inspectedEngineOf,
  });
  const newestMs = Math.max(0, ...areas.map(({ completeToMs }) => completeToMs));
  const isRecent = systemClock.nowMs() - newestMs < RECENT_MS;
  return [
    `promoted ${directory}, which followed generation ${record.generation} of ${nameOf(record)}`,
    ...areas.map((area) => `${describeArea(area)}; complete to ${printMoment(area.completeToMs)}`),
    ...damageOf(areas),
    ...tokenLines[record.tokens],
    ...(isRecent ? ["the copy still grew some seconds ago: make sure that its former server is stopped"] : []),
  ];
}

/** The address without its parameters. */
export function nameOf({ address }: Pick<FollowRecord, "address">): string {
  return address.split("?")[0] ?? "";
}
