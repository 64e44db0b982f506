/**
 * The server that commands call: its address and its admin token are in its data
 * directory. A development server without one has the configured ports and the
 * well-known tokens.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AdminAnswer, AdminCall, ListPage } from "../../edge/admin/client.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { DirectoryInUse } from "../../persistence/errors.ts";
import {
  assertRestored,
  isUsedDirectory,
  readAdminAddress,
  readServing,
  readTokensFile,
  type Serving,
} from "../directory/data-directory.ts";
import { lockDirectory } from "../directory/directory-lock.ts";
import { addressOf } from "../listeners/address.ts";
import { StartRefusal } from "../refusal.ts";
import { adminListenPlan } from "../settings/plan.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { formatFor, stderrLog } from "../stderr.ts";
import { type StoredTokens, TOKENS_FILE } from "../tenants/stored-tokens.ts";
import { resolveTenants } from "../tenants/tokens.ts";

const UNAUTHORIZED_STATUS = 401;
/** How long a command waits for a server that starts: scripts run one right after the other. */
const START_MS_MAX = 30_000;
const LOOK_AGAIN_MS = 100;

/** The data directory. Throws a `StartRefusal` if no server has ever used it; never creates one. */
export function usedDirectory({ settings, origins }: RunSettings): string {
  const directory = resolve(settings.dataDirectory ?? "");
  if (isUsedDirectory(directory)) return directory;
  if (existsSync(directory)) assertRestored(directory);
  throw new StartRefusal(
    `No larder has used the data directory ${directory} yet: name the right directory with ${origins.dataDirectory.place}`,
  );
}

/** Whether a process has locked the directory. */
export async function isDirectoryInUse(directory: string): Promise<boolean> {
  try {
    (await lockDirectory(directory)).release();
    return false;
  } catch (fault) {
    if (fault instanceof DirectoryInUse) return true;
    throw fault;
  }
}

/** The server that has locked the directory, as soon as it serves. Rejects with a `StartRefusal` if that takes too long. */
export async function awaitServing(
  { settings }: RunSettings,
  directory: string,
  clock: Clock = systemClock,
): Promise<Serving> {
  const startMs = clock.monotonicMs();
  for (let isReported = false; ; isReported = true) {
    const serving = readServing(directory);
    if (serving !== undefined) return serving;
    if (clock.monotonicMs() - startMs >= START_MS_MAX)
      throw new StartRefusal(`A larder uses ${directory}, but does not serve yet: try again later`);
    if (!isReported)
      stderrLog(settings.logLevel, formatFor(settings.logFormat)).info("waiting until the larder that starts serves", {
        path: directory,
        secondsMax: START_MS_MAX / 1_000,
      });
    await new Promise<void>((resolve) => void clock.after(LOOK_AGAIN_MS, resolve));
  }
}

/** The content of tokens.json; empty if the environment or the configuration sets every token. */
export function readStoredTokens(directory: string): StoredTokens {
  return readTokensFile(join(directory, TOKENS_FILE)) ?? {};
}

/** Calls the server of these settings. Throws a `StartRefusal`, also if none is running. */
export async function callServer<Value>(
  run: RunSettings,
  ask: (call: AdminCall) => Promise<AdminAnswer<Value>>,
): Promise<Value> {
  if (run.settings.dataDirectory === undefined) return askDevServer(run, ask);
  const directory = usedDirectory(run);
  if (await isDirectoryInUse(directory)) return askServer(run, directory, ask);
  throw new StartRefusal(`No larder is running on ${directory}: start it, or inspect the directory with larder check`);
}

/** All rows of a list, page by page. Throws a `StartRefusal`. */
export async function readAllPages(
  run: RunSettings,
  ask: (call: AdminCall, cursor: { readonly cursor?: string }) => Promise<AdminAnswer<ListPage>>,
): Promise<ListPage["rows"]> {
  const all: ListPage["rows"][number][] = [];
  let cursor: string | undefined;
  do {
    const place = cursor === undefined ? {} : { cursor };
    const page = await callServer(run, (call) => ask(call, place));
    all.push(...page.rows);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return all;
}

/** Calls the server that has the directory locked. Throws a `StartRefusal`. */
export async function askServer<Value>(
  run: RunSettings,
  directory: string,
  ask: (call: AdminCall) => Promise<AdminAnswer<Value>>,
): Promise<Value> {
  const address = readAdminAddress(directory);
  if (address === undefined)
    throw new StartRefusal(`A larder uses ${directory}, but its admin port is not open yet: try again later`);
  const token = adminTokenOf(run, directory);
  const answer = await ask({ address, token });
  return answeredValue(answer, run, {
    address,
    unreachable: `A larder uses ${directory}, and its admin port ${address} cannot be reached`,
  });
}

/** Calls the development server that has no data directory. Throws a `StartRefusal`. */
async function askDevServer<Value>(
  run: RunSettings,
  ask: (call: AdminCall) => Promise<AdminAnswer<Value>>,
): Promise<Value> {
  const plan = adminListenPlan(run);
  if (plan.port === 0) throw new StartRefusal(`${plan.portPlace} 0 is any free port: name the port of the server`, 2);
  const address = addressOf(plan, plan.port);
  const token = resolveTenants(run, {}).tenants.adminToken.value;
  return answeredValue(await ask({ address, token }), run, {
    address,
    unreachable: `No larder dev answers at ${address} (start it, or name its port with ${plan.portPlace})`,
  });
}

/** The admin token of the server that uses a data directory. Throws a `StartRefusal`. */
function adminTokenOf(run: RunSettings, directory: string): string {
  const stored = readStoredTokens(directory);
  const command = readServing(directory)?.command ?? "serve";
  const { adminToken } = resolveTenants({ ...run, command }, stored).tenants;
  if (adminToken.from.kind !== "stored" || adminToken.value === stored.adminToken) return adminToken.value;
  const path = join(directory, TOKENS_FILE);
  const where = existsSync(path) ? `${path} has no admin token` : `${path} does not exist`;
  throw new StartRefusal(`${where}: ${tokenRemedy(run)}`);
}

function tokenRemedy({ origins }: RunSettings): string {
  return `set ${origins.adminToken.place} to the admin token that it was started with`;
}

function answeredValue<Value>(
  answer: AdminAnswer<Value>,
  run: RunSettings,
  { address, unreachable }: { address: string; unreachable: string },
): Value {
  switch (answer.kind) {
    case "done":
      return answer.value;
    case "refused":
      throw new StartRefusal(
        answer.status === UNAUTHORIZED_STATUS
          ? `The larder at ${address} has another admin token: ${tokenRemedy(run)}`
          : answer.text,
      );
    case "unreachable":
      throw new StartRefusal(`${unreachable}: ${answer.reason}`);
    default: {
      const never: never = answer;
      throw new Error(`Unknown answer ${String(never)}`);
    }
  }
}
