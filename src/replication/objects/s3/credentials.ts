/**
 * Credentials, found as the tools of AWS do: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else the
 * section AWS_PROFILE (`default`) of the file AWS_SHARED_CREDENTIALS_FILE (`~/.aws/credentials`), else that of
 * AWS_CONFIG_FILE (`~/.aws/config`).
 *
 * (1) A value of them is in no error and no log line.
 * (2) The files are read again, so that a program beside larder may renew them: after 10 s, and at once when the store
 *     says that they have expired.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../kernel/clock.ts";
import { codeOf, type Disk } from "../../../persistence/disk/disk.ts";
import { readFileIfThere } from "../../../persistence/disk/durable-file.ts";
import { ObjectStoreFailure } from "../object-store.ts";

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

export interface CredentialsOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly disk: Disk;
  readonly clock: Pick<Clock, "monotonicMs">;
}

const READ_AGAIN_MS = 10_000;
const REMEDY = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE and AWS_PROFILE";
/** The values that a profile must have. */
const NAMES = ["aws_access_key_id", "aws_secret_access_key"];
/** How a profile may get credentials that larder does not support. */
const OTHER_WAYS = ["role_arn", "credential_process", "sso_session", "sso_start_url", "web_identity_token_file"];
/** Variables with which clusters of containers do so. */
const OTHER_VARIABLES = [
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

export class CredentialsSource {
  readonly #options: CredentialsOptions;
  #known: { readonly credentials: Credentials; readonly readAtMs: number } | undefined;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** Rejects with an `ObjectStoreFailure` of the kind `refused` that names the variable or the file, and the remedy. */
  async get(): Promise<Credentials> {
    const { environment, clock } = this.#options;
    const fromEnvironment = environmentCredentials(environment);
    if (fromEnvironment !== undefined) return fromEnvironment;
    const nowMs = clock.monotonicMs();
    // keeps (2)
    if (this.#known === undefined || nowMs - this.#known.readAtMs >= READ_AGAIN_MS)
      this.#known = { credentials: await this.#read(), readAtMs: nowMs };
    return this.#known.credentials;
  }

  /** The store says that they have expired: the next call reads the files. */
  forget(): void {
    this.#known = undefined;
  }

  async #read(): Promise<Credentials> {
    const { environment } = this.#options;
    const profile = nonEmpty(environment["AWS_PROFILE"]) ?? "default";
    const home = homeOf(environment);
    const main = nonEmpty(environment["AWS_SHARED_CREDENTIALS_FILE"]) ?? join(home, ".aws/credentials");
    const found = await this.#readFile(main);
    const values = found === undefined ? undefined : sectionOf(found, profile);
    if (values !== undefined && hasCredentials(values))
      return credentialsIn(values, `the profile ${profile} of ${main}`);
    const config = nonEmpty(environment["AWS_CONFIG_FILE"]) ?? join(home, ".aws/config");
    const others = sectionOf((await this.#readFile(config)) ?? "", profile);
    if (others !== undefined && hasCredentials(others))
      return credentialsIn(others, `the profile ${profile} of ${config}`);
    if (values !== undefined) return credentialsIn(values, `the profile ${profile} of ${main}`);
    const variable = OTHER_VARIABLES.find((name) => nonEmpty(environment[name]) !== undefined);
    const other = variable === undefined ? "" : `${variable} is set, which larder does not support; `;
    const what = found === undefined ? "does not exist" : `has no profile ${profile}`;
    throw refused(`No credentials were found: ${other}${main} ${what}; ${REMEDY}`);
  }

  /** Undefined: it does not exist. */
  async #readFile(path: string): Promise<string | undefined> {
    try {
      return (await readFileIfThere(this.#options.disk, path))?.toString("utf8");
    } catch (cause) {
      throw new ObjectStoreFailure("refused", `Cannot read ${path}: ${codeOf(cause) ?? "an error"}; ${REMEDY}`, {
        cause,
      });
    }
  }
}

/** Whether a profile has credentials, or says how to get them. */
function hasCredentials(values: ReadonlyMap<string, string>): boolean {
  return [...NAMES, ...OTHER_WAYS].some((name) => values.has(name));
}

function credentialsIn(values: ReadonlyMap<string, string>, where: string): Credentials {
  const other = OTHER_WAYS.find((name) => values.has(name));
  if (other !== undefined && !values.has("aws_access_key_id"))
    throw refused(`${where} uses ${other}, which larder does not support: ${REMEDY}`);
  for (const name of NAMES) if ((values.get(name) ?? "") === "") throw refused(`${where} has no ${name}: ${REMEDY}`);
  return checked(
    {
      accessKeyId: values.get("aws_access_key_id") ?? "",
      secretAccessKey: values.get("aws_secret_access_key") ?? "",
      sessionToken: nonEmpty(values.get("aws_session_token")),
    },
    where,
  );
}

function environmentCredentials(environment: CredentialsOptions["environment"]): Credentials | undefined {
  const accessKeyId = nonEmpty(environment["AWS_ACCESS_KEY_ID"]);
  const secretAccessKey = nonEmpty(environment["AWS_SECRET_ACCESS_KEY"]);
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const [given, missing] =
      accessKeyId === undefined
        ? ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"]
        : ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    throw refused(`${given} is set without ${missing}: set both of them`);
  }
  const sessionToken = nonEmpty(environment["AWS_SESSION_TOKEN"]);
  return checked({ accessKeyId, secretAccessKey, sessionToken }, "the environment");
}

/** They become headers, so a line end in them would be a header of its own. keeps (1) */
function checked(credentials: Credentials, where: string): Credentials {
  for (const value of Object.values(credentials) as readonly (string | undefined)[])
    if (value !== undefined && !/^[\x21-\x7e]{1,8192}$/.test(value))
      throw refused(`The credentials of ${where} have characters that are not valid: copy them again`);
  return credentials;
}

/** The values of a section of an INI file as the tools of AWS read it, by names in lower case; undefined: no such section. */
function sectionOf(text: string, profile: string): ReadonlyMap<string, string> | undefined {
  let values: Map<string, string> | undefined;
  let isInside = false;
  for (const line of text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/)) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#") || trimmed.startsWith(";")) continue;
    const header = /^\[\s*(.*?)\s*\]/.exec(trimmed);
    if (header !== null) {
      isInside = header[1] === profile || header[1] === `profile ${profile}`;
      if (isInside) values ??= new Map();
      continue;
    }
    const at = trimmed.indexOf("=");
    // An indented line belongs to the value before it.
    if (!isInside || at <= 0 || /^\s/.test(line)) continue;
    values?.set(trimmed.slice(0, at).trim().toLowerCase(), trimmed.slice(at + 1).trim());
  }
  return values;
}

function homeOf(environment: CredentialsOptions["environment"]): string {
  return nonEmpty(environment["HOME"]) ?? homedir();
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : text;
}

function refused(text: string): ObjectStoreFailure {
  return new ObjectStoreFailure("refused", text);
}
