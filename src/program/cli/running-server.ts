/**
 * The server that uses a data directory, as commands ask it: its address and
 * the admin token lie in the directory.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AdminAnswer, AdminCall } from "../../edge/admin/client.ts";
import { isUsedDirectory, parseTokensFile, readAdminAddress } from "../directory/data-directory.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { TOKENS_FILE } from "../tenants/stored-tokens.ts";

const UNAUTHORIZED_STATUS = 401;

/** The data directory that is meant. Throws a `StartRefusal` when no server has ever used it: none is made here. */
export function usedDirectory({ settings, origins }: RunSettings): string {
  const directory = resolve(settings.dataDirectory ?? "");
  if (isUsedDirectory(directory)) return directory;
  throw new StartRefusal(
    `No larder has used the data directory ${directory} yet: name its directory with ${origins.dataDirectory.place}`,
  );
}

/** Asks the server that has the directory locked. Throws a `StartRefusal`. */
export async function askServer<Value>(
  run: RunSettings,
  directory: string,
  ask: (call: AdminCall) => Promise<AdminAnswer<Value>>,
): Promise<Value> {
  const address = readAdminAddress(directory);
  if (address === undefined)
    throw new StartRefusal(`A larder uses ${directory} and has no admin port yet: try again when it serves`);
  const tokensPath = join(directory, TOKENS_FILE);
  // Where the environment or the configuration gives every token, there is no file of them.
  const hasFile = existsSync(tokensPath);
  const kept = hasFile ? parseTokensFile(tokensPath, readFileSync(tokensPath, "utf8")) : {};
  const token = run.settings.adminToken ?? kept.adminToken;
  const remedy = `set ${run.origins.adminToken.place} to the one that it was started with`;
  if (token === undefined) {
    const where = hasFile ? `${tokensPath} has no admin token` : `There is no ${tokensPath} with an admin token`;
    throw new StartRefusal(`${where}: ${remedy}`);
  }
  const answer = await ask({ address, token });
  switch (answer.kind) {
    case "done":
      return answer.value;
    case "refused":
      throw new StartRefusal(
        answer.status === UNAUTHORIZED_STATUS
          ? `The larder at ${address} has another admin token: ${remedy}`
          : answer.text,
      );
    case "unreachable":
      throw new StartRefusal(
        `A larder uses ${directory}, and its admin port ${address} cannot be asked: ${answer.reason}`,
      );
    default: {
      const never: never = answer;
      throw new Error(`Unknown answer ${String(never)}`);
    }
  }
}
