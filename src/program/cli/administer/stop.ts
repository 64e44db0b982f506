/**
 * `larder stop`: asks the server to stop, through its admin port, and waits
 * until it has ended. A process id would name another process in a container or
 * after a crash; the admin port with the token of the directory is that server's.
 */
import { resolve } from "node:path";
import { askForVersion, askToStop } from "../../../edge/admin/client.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { callServer, isDirectoryInUse } from "../running-server.ts";

/** A stop waits for requests (--shutdown-grace), and then writes and syncs. */
const STOP_MS_MAX = 300_000;
const LOOK_EVERY_MS = 100;

/** Resolves with the line to print. Rejects with a `StartRefusal`. */
export async function stopServer(run: RunSettings): Promise<string> {
  await callServer(run, askToStop);
  const { dataDirectory } = run.settings;
  const startMs = systemClock.monotonicMs();
  while (await isRunning(run)) {
    if (systemClock.monotonicMs() - startMs > STOP_MS_MAX)
      throw new StartRefusal(
        `The server still stops after ${STOP_MS_MAX / 60_000} minutes: larder status reports its state`,
      );
    await new Promise<void>((end) => void systemClock.after(LOOK_EVERY_MS, end));
  }
  return dataDirectory === undefined ? "stopped" : `stopped: no larder uses ${resolve(dataDirectory)}`;
}

async function isRunning(run: RunSettings): Promise<boolean> {
  const { dataDirectory } = run.settings;
  if (dataDirectory !== undefined) return isDirectoryInUse(resolve(dataDirectory));
  return callServer(run, askForVersion).then(
    () => true,
    (fault: unknown) => {
      if (fault instanceof StartRefusal) return false;
      throw fault;
    },
  );
}
