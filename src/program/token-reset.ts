/**
 * `larder token reset <database>`: two new default tokens for a database.
 *
 *     somebody has the data directory locked    asked through its admin port, so that the old tokens are refused at once
 *     nobody has                                tokens.json is replaced, under the lock, as the admin port would
 *
 * Either way the new tokens are durable before they are printed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { askForReset } from "../edge/admin-client.ts";
import type { TenantTokens } from "../edge/admin-routes.ts";
import { RequestFailure } from "../edge/errors.ts";
import { DirectoryInUse } from "../persistence/errors.ts";
import { TenantAdministration } from "./administration.ts";
import { openDataDirectory, parseTokensFile, readAdminAddress } from "./data-directory.ts";
import { TOKENS_FILE } from "./kept-tokens.ts";
import type { RunSettings } from "./read-settings.ts";
import { StartRefusal } from "./refusal.ts";
import { indexRulesOf, resolveTenants } from "./tokens.ts";

const UNAUTHORIZED_STATUS = 401;

/** The lines to print. Throws a `StartRefusal`. */
export async function resetTokens(run: RunSettings, database: string): Promise<readonly string[]> {
  try {
    const directory = directoryOf(run);
    return printTokens((await resetInDirectory(run, database)) ?? (await resetInServer(run, directory, database)));
  } catch (fault) {
    if (fault instanceof RequestFailure) throw new StartRefusal(fault.text, 1, { cause: fault });
    throw fault;
  }
}

/** The data directory that is meant. Throws a `StartRefusal` when no server has ever used it: none is made here. */
function directoryOf({ settings, origins }: RunSettings): string {
  const directory = resolve(settings.dataDirectory ?? "");
  if (existsSync(join(directory, TOKENS_FILE))) return directory;
  throw new StartRefusal(
    `No larder has used the data directory ${directory} yet: name its directory with ${origins.dataDirectory.place}`,
  );
}

/** Undefined: the directory is in use. */
async function resetInDirectory(run: RunSettings, name: string): Promise<TenantTokens | undefined> {
  const directory = await openDataDirectory(run).catch((fault: unknown) => {
    if (fault instanceof StartRefusal && fault.cause instanceof DirectoryInUse) return undefined;
    throw fault;
  });
  if (directory === undefined) return undefined;
  try {
    const before = directory.readTokens();
    const { tenants, problems } = resolveTenants(run, before);
    if (problems.length > 0) throw new StartRefusal(problems.join("\n"), 2);
    const isKept = before.databases?.some((each) => each.name === name && each.token !== undefined) === true;
    const isGenerated = tenants.databases.some((each) => each.name === name && each.token.from.kind === "kept");
    if (isGenerated && !isKept)
      throw new StartRefusal(
        `${directory.tokensPath} has no token of the database ${name}: the environment or the configuration sets it, or no start has made it yet`,
      );
    const nobody = { setTokens: async () => {}, dropTenant: async () => {}, tenantNames: async () => [] };
    const administration = new TenantAdministration({
      tenants,
      kept: before,
      keep: (kept) => directory.keepTokens(kept),
      doors: { databases: nobody, indexes: nobody, users: nobody },
      indexRules: indexRulesOf(run),
    });
    return await administration.resetPassword("databases", name);
  } finally {
    directory.release();
  }
}

async function resetInServer(run: RunSettings, directory: string, name: string): Promise<TenantTokens> {
  const address = readAdminAddress(directory);
  if (address === undefined)
    throw new StartRefusal(`A larder uses ${directory} and has no admin port yet: try again when it serves`);
  const tokensPath = join(directory, TOKENS_FILE);
  const token = run.settings.adminToken ?? parseTokensFile(tokensPath, readFileSync(tokensPath, "utf8")).adminToken;
  const remedy = `set ${run.origins.adminToken.place} to the one that it was started with`;
  if (token === undefined) throw new StartRefusal(`${tokensPath} has no admin token: ${remedy}`);
  const answer = await askForReset({ address, token }, { kind: "databases", name });
  switch (answer.kind) {
    case "done":
      return answer.tokens;
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

/** The variables that the official clients read, as the start prints them. */
function printTokens({ name, token, readOnlyToken }: TenantTokens): readonly string[] {
  return [
    `# new tokens of the database ${name}; those before are refused`,
    `UPSTASH_REDIS_REST_TOKEN="${token}"`,
    `KV_REST_API_TOKEN="${token}"`,
    `KV_REST_API_READ_ONLY_TOKEN="${readOnlyToken}"`,
  ];
}
