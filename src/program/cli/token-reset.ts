/**
 * `larder token reset <database>`: replaces the two default tokens of a database.
 *
 *     a server has the data directory locked    it is called through its admin port, so that it refuses the old tokens
 *                                               at once
 *     the data directory is not in use          tokens.json is replaced under the lock, with the code of the admin port
 *
 * In both cases the new tokens are durable before they are printed.
 */
import { askForReset } from "../../edge/admin/client.ts";
import type { TenantTokens } from "../../edge/admin/routes.ts";
import { RequestFailure } from "../../edge/errors.ts";
import { DirectoryInUse } from "../../persistence/errors.ts";
import { openDataDirectory } from "../directory/data-directory.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { TenantAdministration } from "../tenants/administration.ts";
import { noteFromCommandLine } from "../tenants/audit-log.ts";
import { indexRulesOf, resolveTenants } from "../tenants/tokens.ts";
import { reachLines } from "./administer/tenants.ts";
import { askServer, usedDirectory } from "./running-server.ts";

/** Returns the lines to print. Throws a `StartRefusal`. */
export async function resetTokens(run: RunSettings, database: string): Promise<readonly string[]> {
  try {
    const directory = usedDirectory(run);
    return printTokens((await resetInDirectory(run, database)) ?? (await resetInServer(run, directory, database)));
  } catch (fault) {
    if (fault instanceof RequestFailure) throw new StartRefusal(fault.text, 1, { cause: fault });
    throw fault;
  }
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
    const isStored = before.databases?.some((each) => each.name === name && each.token !== undefined) === true;
    const isGenerated = tenants.databases.some((each) => each.name === name && each.token.from.kind === "stored");
    if (isGenerated && !isStored)
      throw new StartRefusal(
        `${directory.tokensPath} has no token of the database ${name}: the environment or the configuration sets it, or no start has created it yet`,
      );
    const noArea = {
      setTokens: async () => {},
      dropTenant: async () => {},
      tenantNames: async () => [],
      tenantMemory: async () => [],
    };
    const administration = new TenantAdministration({
      tenants,
      stored: before,
      store: (tokens) => directory.storeTokens(tokens),
      areas: { databases: noArea, indexes: noArea, users: noArea },
      indexRules: indexRulesOf(run),
    });
    const tokens = await administration.resetPassword("databases", name);
    noteFromCommandLine(run, "databases.reset-password", name);
    return tokens;
  } finally {
    directory.release();
  }
}

function resetInServer(run: RunSettings, directory: string, name: string): Promise<TenantTokens> {
  return askServer(run, directory, (call) => askForReset(call, { kind: "databases", name }));
}

/** The variables that the official clients read, in the form that a start prints. */
function printTokens({ name, token, readOnlyToken, ...reach }: TenantTokens): readonly string[] {
  const isReached = reach.reachedAllNodes !== false;
  return [
    `# new tokens of the database ${name}${isReached ? "; the old tokens are no longer valid" : ""}`,
    ...reachLines(reach),
    `UPSTASH_REDIS_REST_TOKEN="${token}"`,
    `KV_REST_API_TOKEN="${token}"`,
    `KV_REST_API_READ_ONLY_TOKEN="${readOnlyToken}"`,
  ];
}
