/** Thousands of schedules that fire in the same minute. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { publishHeaders, startMessaging } from "./larder.ts";
import { runOnLoadCore } from "./load.ts";
import type { Place } from "./subjects.ts";
import type { TimeSpread } from "./times.ts";

export interface ScheduleOrder {
  readonly port: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly count: number;
}

export interface ScheduleResult {
  readonly count: number;
  readonly createdPerSecond: number;
  /** The number of those that arrived within the minute of their firing. */
  readonly arrivedCount: number;
  /** From the beginning of the minute to the arrival. */
  readonly lateness: TimeSpread;
}

const PROCESS = fileURLToPath(new URL("schedules-process.ts", import.meta.url));

export async function measureSchedules({ parent, program }: Place, count: number): Promise<ScheduleResult> {
  const directory = mkdtempSync(join(parent, "schedules-"));
  const server = await startMessaging(program, directory, { history: "second core" });
  const order: ScheduleOrder = { port: server.port, headers: publishHeaders, count };
  const result = JSON.parse(await runOnLoadCore([PROCESS, JSON.stringify(order)])) as ScheduleResult;
  await server.process.stop();
  rmSync(directory, { recursive: true, force: true });
  return result;
}
