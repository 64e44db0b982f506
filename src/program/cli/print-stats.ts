/** `larder stats`: statistics of the server that uses a data directory, for people or as JSON. */
import { askForStats } from "../../edge/admin/client.ts";
import { systemClock } from "../../kernel/clock.ts";
import { isServerStats, printStats, type ServerStats } from "../metrics/stats.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { callServer } from "./running-server.ts";

/** Between the two samples that rates are computed from. */
const SAMPLE_MS = 1_000;

/** Returns the lines to print. Throws a `StartRefusal`, also if no server is running. */
export async function statsLines(run: RunSettings, isJson: boolean): Promise<readonly string[]> {
  const sample = async (): Promise<ServerStats> => readStats(await callServer(run, askForStats));
  const stats = await sample();
  if (isJson) return [JSON.stringify(stats)];
  const startMs = systemClock.monotonicMs();
  await new Promise<void>((resolve) => void systemClock.after(SAMPLE_MS, resolve));
  const later = await sample();
  return printStats(later, stats, (systemClock.monotonicMs() - startMs) / 1_000);
}

function readStats(value: unknown): ServerStats {
  if (isServerStats(value)) return value;
  throw new StartRefusal("The running larder has another version: use the larder command of that version");
}
