/** The console of a server: what its service in the edge needs of the program. Loaded by the first request for it. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type ConsoleProgram, consoleService } from "../../../edge/admin/console/routes.ts";
import type { Administration, TenantKind } from "../../../edge/admin/routes.ts";
import type { TokenTable } from "../../../edge/auth.ts";
import { areaNotServing } from "../../../edge/errors.ts";
import type { HttpService } from "../../../edge/handler.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { AreaTenant } from "../../areas/area-tenant.ts";
import { type Addresses, environmentOf } from "../../cli/env-block.ts";
import { adminListenPlan, tlsPlan } from "../../settings/plan.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { areaOfKind, tenantNouns } from "../../tenants/administration.ts";
import type { Secret, Tenants } from "../../tenants/tokens.ts";
import { consoleFiles } from "./files.ts";

export interface ConsoleParts {
  readonly run: RunSettings;
  readonly administration: Administration;
  /** The table with the admin token. */
  readonly tokens: TokenTable;
  readonly clock: Clock;
  /** The addresses of the ports; undefined until all areas listen. */
  readonly addresses: () => Addresses | undefined;
  /** A tenant of the configuration, of the data directory or of the cluster. */
  readonly tenantOf: (kind: TenantKind, name: string) => AreaTenant | undefined;
}

export function openConsole({ run, administration, tokens, clock, addresses, tenantOf }: ConsoleParts): HttpService {
  const isOwnCertificate = ownCertificate(tlsPlan(run)?.certificate.path);
  const isDev = run.command === "dev";
  const { version } = administration.version;
  const program: ConsoleProgram = {
    mode: isDev ? "dev" : "serve",
    version,
    files: consoleFiles(),
    addresses: () => areaAddresses(addresses()),
    placeOf(area) {
      const url = addresses()?.[area];
      return url === undefined ? undefined : { url, isOwnCertificate };
    },
    tokenOf: (kind, name) => tenantOf(kind, name)?.tokens.find(({ access }) => access === "standard")?.token,
    document: async (name) => (await import("../../../edge/openapi/area-documents.ts")).areaDocument(name, version),
    overview: async () => ({
      mode: program.mode,
      ...administration.version,
      readiness: administration.readiness(),
      addresses: program.addresses(),
      stats: await administration.stats(),
      problems: administration.problems(),
    }),
    environment(kind, name) {
      const tenant = tenantOf(kind, name);
      const known = addresses();
      if (known === undefined) throw areaNotServing(areaOfKind[kind]);
      return tenant && environmentOf(known, { ...NO_TENANTS, [kind]: [secretsOf(kind, tenant, isDev)] });
    },
  };
  return consoleService({
    program,
    administration,
    tokens,
    clock,
    isEncrypted: adminListenPlan(run).tls !== undefined,
  });
}

function areaAddresses(addresses: Addresses | undefined): Readonly<Record<string, string>> {
  if (addresses === undefined) return {};
  const { store, vector, messaging, admin, resp } = addresses;
  const respUrl = resp && `${resp.isEncrypted ? "rediss" : "redis"}://${resp.host}`;
  return { store, vector, messaging, admin, ...(respUrl !== undefined && { resp: respUrl }) };
}

const NO_TENANTS: Pick<Tenants, "databases" | "indexes" | "users"> = { databases: [], indexes: [], users: [] };

/** A tenant for the environment block; outside dev with placeholders for its secrets. */
function secretsOf(kind: TenantKind, { name, tokens, signingKeys }: AreaTenant, isDev: boolean): object {
  const secret = (value: string | undefined, what: string): Secret => ({
    value: isDev && value !== undefined ? value : `<${what} of the ${tenantNouns[kind]} ${name}>`,
    from: { kind: "stored" },
  });
  const tokenFor = (wanted: string): string | undefined => tokens.find(({ access }) => access === wanted)?.token;
  return {
    name,
    token: secret(tokenFor("standard"), "token"),
    readOnlyToken: secret(tokenFor("read-only"), "read-only token"),
    currentSigningKey: secret(signingKeys?.current, "current signing key"),
    nextSigningKey: secret(signingKeys?.next, "next signing key"),
  };
}

/** The files of a renewal are seen here a few seconds before or after the listener sees them. */
const KEPT_CERTIFICATES = 2;

/** Whether a certificate is the one of the ports, or the one before. `path`: its file. */
function ownCertificate(path: string | undefined): (certificate: X509Certificate) => boolean {
  let known: readonly string[] = [];
  const read = (): void => {
    if (path === undefined) return;
    try {
      const { fingerprint256 } = new X509Certificate(readFileSync(path));
      known = [fingerprint256, ...known.filter((each) => each !== fingerprint256)].slice(0, KEPT_CERTIFICATES);
    } catch {
      // It is being written: the one before is in use.
    }
  };
  read();
  return ({ fingerprint256 }) => {
    if (!known.includes(fingerprint256)) read();
    return known.includes(fingerprint256);
  };
}
