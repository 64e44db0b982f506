/**
 * Requests of commands to the server that uses a data directory: its address and
 * the admin token are in the directory.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AdminAnswer, AdminCall } from "../../edge/admin/client.ts";
import { isUsedDirectory, parseTokensFile, readAdminAddress } from "../directory/data-directory.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { TOKENS_FILE } from "../tenants/stored-tokens.ts";

const UNAUTHORIZED_STATUS = 401;

/** The data directory. Throws a `StartRefusal` if no server has ever used it; never creates one. */
export function usedDirectory({ settings, origins }: RunSettings): string {
  const directory = resolve(settings.dataDirectory ?? "");
  if (isUsedDirectory(directory)) return directory;
  throw new StartRefusal(
    `No larder has used the data directory ${directory} yet: name the right directory with ${origins.dataDirectory.place}`,
  );
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
  const tokensPath = join(directory, TOKENS_FILE);
  // If the environment or the configuration sets every token, the file does not exist.
  const hasFile = existsSync(tokensPath);
  const stored = hasFile ? parseTokensFile(tokensPath, readFileSync(tokensPath, "utf8")) : {};
  const token = run.settings.adminToken ?? stored.adminToken;
  const remedy = `set ${run.origins.adminToken.place} to the admin token that it was started with`;
  if (token === undefined) {
    const where = hasFile ? `${tokensPath} has no admin token` : `${tokensPath} does not exist`;
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
        `A larder uses ${directory}, and its admin port ${address} cannot be reached: ${answer.reason}`,
      );
    default: {
      const never: never = answer;
      throw new Error(`Unknown answer ${String(never)}`);
    }
  }
}
