/** `larder stats`: what the server of a data directory has and does, for people or as JSON. */
import { askForStats } from "../../edge/admin/client.ts";
import { systemClock } from "../../kernel/clock.ts";
import { isServerStats, printStats, type ServerStats } from "../metrics/stats.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { askServer, usedDirectory } from "./running-server.ts";

/** Between the two looks that rates are taken from. */
const LOOK_MS = 1_000;

/** The lines to print. Throws a `StartRefusal`, also when no server runs. */
export async function statsLines(run: RunSettings, isJson: boolean): Promise<readonly string[]> {
  const directory = usedDirectory(run);
  const { lockDirectory } = await import("../directory/directory-lock.ts");
  const { DirectoryInUse } = await import("../../persistence/errors.ts");
  try {
    (await lockDirectory(directory)).release();
  } catch (fault) {
    if (!(fault instanceof DirectoryInUse)) throw fault;
    const look = async (): Promise<ServerStats> => readStats(await askServer(run, directory, askForStats));
    const stats = await look();
    if (isJson) return [JSON.stringify(stats)];
    const startMs = systemClock.monotonicMs();
    await new Promise<void>((resolve) => void systemClock.after(LOOK_MS, resolve));
    const later = await look();
    return printStats(later, stats, (systemClock.monotonicMs() - startMs) / 1_000);
  }
  throw new StartRefusal(`No larder runs on ${directory}: start it, or larder check tells what is in the directory`);
}

function readStats(value: unknown): ServerStats {
  if (isServerStats(value)) return value;
  throw new StartRefusal("The larder that runs is of another version: use the command of that one");
}
