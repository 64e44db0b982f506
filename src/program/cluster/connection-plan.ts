/**
 * The URL of the cluster's PostgreSQL, as a setting.
 *
 *     postgres://user:password@db1,db2:5433/larder?sslmode=verify-full&sslrootcert=/etc/ca.pem
 *
 * Several hosts are the members of one PostgreSQL: the one that accepts writes is
 * used. Connections to another machine are encrypted and the certificate of the
 * server is verified, unless `sslmode` says otherwise.
 *
 * (1) No text made here contains the password, or a part of a URL that cannot be
 *     read, because that part may be one.
 */
import { isIP } from "node:net";
import { BadValue, isLoopback, type Parser, PORT_MAX, parser } from "../settings/values.ts";

export interface PostgresHost {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** How a connection is protected. `require`: encrypted, but with any server. */
export type Encryption = "disable" | "require" | "verify-full";

export interface ConnectionPlan {
  /** The members, in the order of the URL. */
  readonly hosts: readonly PostgresHost[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string;
  /** Undefined: verified, except on this machine, where connections are in the clear. */
  readonly encryption: Encryption | undefined;
  /** The file of the certificates to verify with; undefined: those of Node. */
  readonly rootCertificatePath: string | undefined;
}

const PORT = 5432;
const ENCRYPTIONS: readonly Encryption[] = ["disable", "require", "verify-full"];
const FORM = "postgres://<user>@<host>:<port>/<database>";
/** Scheme, user with password, hosts, database, parameters. */
const PARTS = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)\/([^/?#]+)(?:\?([^#]*))?$/;
const HOST = /^(\[[\da-fA-F:.]+\]|[A-Za-z\d._-]+)(?::(\d{1,5}))?$/;

/** A URL without a password. */
export const parseClusterUrl: Parser<ConnectionPlan> = parser(
  { type: "string", pattern: "^postgres(ql)?://" },
  (text) => {
    const plan = readUrl(text);
    if (plan.password !== undefined)
      throw new BadValue(
        "the URL has a password, which others may read here: set the variable LARDER_CLUSTER_URL or LARDER_CLUSTER_URL_FILE instead",
      );
    return plan;
  },
);

/** A URL that may have a password. */
export const parseSecretClusterUrl: Parser<ConnectionPlan> = parser({ type: "string" }, readUrl);

/** Whether the connection to a host is encrypted, and how. */
export function encryptionOf({ encryption }: ConnectionPlan, { host }: PostgresHost): Encryption {
  return encryption ?? (isLoopback(host) ? "disable" : "verify-full");
}

/** The hosts for people: `db1:5432, db2:5433`. */
export function printHosts({ hosts }: Pick<ConnectionPlan, "hosts">): string {
  return hosts.map(printHost).join(", ");
}

export function printHost({ host, port }: PostgresHost): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** keeps (1) */
function readUrl(text: string): ConnectionPlan {
  const [, login, hosts = "", database = "", parameters = ""] = PARTS.exec(text) ?? [];
  if (hosts === "") throw new BadValue(`the URL does not have the form ${FORM}`);
  const [user, password] = splitLogin(login ?? "");
  const { encryption, rootCertificatePath } = readParameters(parameters);
  return {
    hosts: hosts.split(",").map(readHost),
    user: decode(user),
    password: decode(password),
    database: decode(database) ?? "",
    encryption,
    rootCertificatePath,
  };
}

function splitLogin(login: string): readonly [user: string, password: string] {
  const colon = login.indexOf(":");
  return colon === -1 ? [login, ""] : [login.slice(0, colon), login.slice(colon + 1)];
}

function readHost(text: string): PostgresHost {
  const [, host, digits] = HOST.exec(text) ?? [];
  const port = digits === undefined ? PORT : Number(digits);
  if (host === undefined || port === 0 || port > PORT_MAX)
    throw new BadValue("a host of the URL is not <name>:<port>: separate several hosts by commas");
  return { host: host.startsWith("[") ? host.slice(1, -1) : host, port };
}

function readParameters(text: string): Pick<ConnectionPlan, "encryption" | "rootCertificatePath"> {
  let encryption: Encryption | undefined;
  let rootCertificatePath: string | undefined;
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === "sslmode") encryption = readEncryption(value);
    else if (name === "sslrootcert" && value !== "") rootCertificatePath = value;
    else throw new BadValue("the URL may have the parameters sslmode and sslrootcert only");
  }
  return { encryption, rootCertificatePath };
}

function readEncryption(value: string): Encryption {
  const found = ENCRYPTIONS.find((each) => each === value);
  if (found === undefined) throw new BadValue(`sslmode of the URL is not one of ${ENCRYPTIONS.join(", ")}`);
  return found;
}

/** Undefined for an empty part. */
function decode(part: string): string | undefined {
  if (part === "") return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new BadValue("a part of the URL has a percent sign that begins no escape: write % as %25");
  }
}
