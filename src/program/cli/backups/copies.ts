/** The copies that `--replicate` writes, for the commands that read them: `larder restore`, `larder verify`, `larder check`. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../kernel/clock.ts";
import { secretBytes, systemRandom } from "../../../kernel/random.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import { CopyKey } from "../../../replication/copy-key.ts";
import { DamagedCopy, UnusableCopy } from "../../../replication/errors.ts";
import { InvalidAddress, type ObjectAddress, printAddress } from "../../../replication/objects/address.ts";
import { type ObjectStore, ObjectStoreFailure } from "../../../replication/objects/object-store.ts";
import { restoreCopy } from "../../../replication/restore.ts";
import { type VerifiedArea, verifyCopy } from "../../../replication/verify.ts";
import { inspectedEngineOf } from "../../areas/inspect-area.ts";
import { RESTORING_PREFIX, STORED_AREAS } from "../../directory/data-directory.ts";
import { HISTORY_FILE } from "../../history/history-store.ts";
import { printMoment } from "../../metrics/copy-figures.ts";
import { StartRefusal } from "../../refusal.ts";
import { copyAddressOf } from "../../services/objects/copy-settings.ts";
import { openObjectStore } from "../../services/objects/open-store.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { isAddress } from "../../settings/values.ts";
import { reportBytes } from "../progress.ts";
import { describeArea } from "./describe-area.ts";

/** Whether the operand of a command is the address of a copy; otherwise it is a file. */
export const isCopyAddress = isAddress;

/** How long `larder check` waits for a store that does not answer. */
const CHECK_MS = 10_000;

const MOMENT = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** The milliseconds of `--at`. Throws a `StartRefusal`. */
export function parseMoment(text: string): number {
  const ms = /^\d{1,15}$/.test(text) ? Number(text) : MOMENT.test(text) ? Date.parse(text.toUpperCase()) : Number.NaN;
  if (Number.isSafeInteger(ms)) return ms;
  throw new StartRefusal(
    `--at ${JSON.stringify(text)} is not a moment: write it as 2026-01-31T18:00:00Z, or in milliseconds since 1970`,
    2,
  );
}

export interface CopyRestore {
  readonly address: string;
  /** An empty directory that is locked. */
  readonly directory: string;
  /** Undefined: the newest state. */
  readonly atMs: number | undefined;
}

/** Restores a copy, and returns the lines to print. Throws a `StartRefusal`, or the error of the directory. */
export async function restoreFromCopy(
  run: RunSettings,
  { address, directory, atMs }: CopyRestore,
): Promise<readonly string[]> {
  const { replicateKey } = run.settings;
  const key = replicateKey === undefined ? undefined : new CopyKey(replicateKey);
  const staging = join(directory, `${RESTORING_PREFIX}${secretBytes(8).toString("hex")}`);
  return withCopy(address, "read", async (store, name) => {
    try {
      const { areas, tokens } = await reportBytes(run, (onBytes) =>
        restoreCopy({
          ...{ store, disk: fileDisk, directory, staging, areas: STORED_AREAS, atMs, key, onBytes },
          ...{ historyFile: HISTORY_FILE, engineOf: inspectedEngineOf },
        }),
      );
      const lines = areas.map((area) => `${describeArea(area)}; complete to ${printMoment(area.completeToMs)}`);
      return [`restored ${name} into ${directory}`, ...lines, ...tokenLines[tokens]];
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  });
}

/** What is to say about the tokens of restored data. */
export const tokenLines = {
  restored: [],
  none: ["the copy has no tokens: the first start makes new ones"],
  "no key": [
    "the tokens were not restored, and the first start makes new ones: to have them, restore again with LARDER_REPLICATE_KEY",
  ],
} as const;

/** Reads a whole copy, and returns the lines to print. Throws a `StartRefusal` that names damaged objects. */
export async function verifyStoredCopy(run: RunSettings, address: string): Promise<readonly string[]> {
  return withCopy(address, "read", async (store, name) => {
    const found = await reportBytes(run, (onBytes) => verifyCopy(store, onBytes));
    const lines = found.areas.map(describeVerified);
    if (found.damaged.length > 0) throw new StartRefusal([...found.damaged, ...lines].join("\n"));
    return [`copy ${name}: ok; ${found.objects} objects with ${found.bytes} bytes`, ...lines];
  });
}

function describeVerified({ area, spans, lost }: VerifiedArea): string {
  if (spans.length === 0) return `${area}: cannot be restored`;
  // An area that was idle since the start is complete to a moment before the one at which all areas were copied.
  const moments = spans.map(({ fromMs, completeToMs }) =>
    completeToMs > fromMs ? `from ${printMoment(fromMs)} to ${printMoment(completeToMs)}` : `at ${printMoment(fromMs)}`,
  );
  const gaps = lost.map((each) => `, except after ${printMoment(each.fromMs)} until ${printMoment(each.toMs)}`);
  return `${area}: ${moments.join(", ")}${gaps.join("")}`;
}

/** Opens the store as a start does, and closes it. Throws a `StartRefusal` if it refuses or does not answer. */
export async function checkCopyStore(address: string): Promise<string> {
  return withCopy(address, "write", async (store, name) => {
    await store.list("");
    return name;
  });
}

async function withCopy<Result>(
  text: string,
  access: "read" | "write",
  work: (store: ObjectStore, name: string) => Promise<Result>,
): Promise<Result> {
  try {
    const address: ObjectAddress = copyAddressOf(text, "The address");
    const { env: environment } = process;
    const store = await openObjectStore(address, {
      ...{ environment, clock: systemClock, random: systemRandom, access },
      ...(access === "write" && { patienceMs: CHECK_MS }),
    });
    try {
      return await work(store, printAddress(address));
    } finally {
      await store.close();
    }
  } catch (fault) {
    throw copyRefusal(fault);
  }
}

/** An error of a copy or of its store as a refusal for the operator, or the error itself. */
export function copyRefusal(fault: unknown): unknown {
  const isKnown = [InvalidAddress, ObjectStoreFailure, DamagedCopy, UnusableCopy].some((kind) => fault instanceof kind);
  if (!isKnown || !(fault instanceof Error)) return fault;
  return new StartRefusal(fault.message, fault instanceof InvalidAddress ? 2 : 1, { cause: fault });
}
