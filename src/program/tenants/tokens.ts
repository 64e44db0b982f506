/**
 * Resolves which databases, indexes and messaging users exist, and their secrets.
 *
 * A secret comes from the first of these that has it:
 *
 *     environment          for the base tenant of its area (main; the index dev in dev)
 *     configuration file   for the tenants that it lists
 *     well-known           in dev, for the base tenant, if no other machine can reach it
 *     tokens.json          if it was generated before
 *     generated now        and then stored in tokens.json
 *
 * (1) The base tenant is created if no tenants are named: in serve once, at the
 *     first start, so that a deleted tenant stays deleted.
 * (2) No token is valid for two tenants, or for both accesses of one tenant.
 * (3) A well-known or easily guessed secret is refused if other machines can
 *     reach the port (threats A-01).
 */

import { parseJsonText } from "../../kernel/json/parse.ts";
import { secretText } from "../../kernel/random.ts";
import { newSigningKey } from "../../messaging/settings.ts";
import { hasSecrets, type ListedTenant, type ListedUser, placeIn } from "../settings/config.ts";
import { FieldReader } from "../settings/field-reader.ts";
import {
  defaultIndex,
  developmentIndex,
  INDEX_KEYS,
  type IndexPlan,
  type IndexRules,
  readIndexPlan,
} from "../settings/index-settings.ts";
import type { Origin, RunSettings } from "../settings/run-settings.ts";
import type { SettingName } from "../settings/settings.ts";
import { isLoopback } from "../settings/values.ts";
import type { StoredTenant, StoredTokens, StoredUser } from "./stored-tokens.ts";

export interface Secret {
  readonly value: string;
  readonly from:
    | { readonly kind: "given"; readonly place: string }
    | { readonly kind: "stored" }
    | { readonly kind: "well-known" };
}

export interface Tenant {
  readonly name: string;
  readonly token: Secret;
  readonly readOnlyToken: Secret;
  /** Where the configuration lists it, such as `store.databases[0] in larder.json:3`; undefined: it is not listed. */
  readonly listedAt: string | undefined;
}

export interface IndexTenant extends Tenant {
  readonly index: IndexPlan;
}

export interface UserTenant extends Tenant {
  readonly currentSigningKey: Secret;
  readonly nextSigningKey: Secret;
}

export interface Tenants {
  readonly databases: readonly Tenant[];
  readonly indexes: readonly IndexTenant[];
  readonly users: readonly UserTenant[];
  readonly adminToken: Secret;
}

export interface ResolvedTenants {
  readonly tenants: Tenants;
  /** The content of tokens.json; the same object as before if nothing was generated. */
  readonly stored: StoredTokens;
  /** One sentence for each problem that prevents a start. */
  readonly problems: readonly string[];
}

const MAIN = "main";
const DEV_INDEX = "dev";

/** The public development credentials (the read-only token is our own, in the same form). */
export const wellKnown = {
  storeToken: "dev",
  storeReadOnlyToken: "dev-readonly",
  vectorToken: "dev",
  vectorReadOnlyToken: "dev-readonly",
  messagingToken: messagingToken({ user: "defaultUser", password: "defaultPassword" }),
  messagingReadOnlyToken: messagingToken({ user: "defaultUser", password: "readOnlyPassword" }),
  currentSigningKey: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
  nextSigningKey: "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
  adminToken: "dev",
} as const satisfies Partial<Record<SettingName, string>>;

type SecretName = keyof typeof wellKnown;

/** Resolves all tenants and generates missing secrets. Accesses no file. */
export function resolveTenants(run: RunSettings, stored: StoredTokens): ResolvedTenants {
  const resolver = new Resolver(run, stored);
  const tenants = resolver.tenants();
  const problems = [...resolver.problems, ...sameTokens(tenants), ...reachableWeak(run, tenants)];
  return { tenants, stored: resolver.stored, problems };
}

/** The rules for an index that is, or was, created at run time. */
export function indexRulesOf({ command, configuration, settings }: RunSettings): IndexRules {
  return {
    models: configuration.models,
    environment: undefined,
    dimensionMax: settings.dimensionMax,
    ...(command === "dev" && { undescribed: developmentIndex }),
  };
}

/** An unguessable token: 43 letters and digits, 256 bits. */
export function generateToken(): string {
  return secretText(43);
}

/** New secrets for a tenant that is created at run time. */
export function secretsOfNew(
  kind: StoredList,
  name: string,
): { readonly token: string; readonly readOnlyToken: string } & Readonly<Record<string, string>> {
  if (kind !== "users") return { token: generateToken(), readOnlyToken: generateToken() };
  return {
    token: generateMessagingToken(name),
    readOnlyToken: generateMessagingToken(name),
    currentSigningKey: newSigningKey(),
    nextSigningKey: newSigningKey(),
  };
}

function generateMessagingToken(user: string): string {
  return messagingToken({ user, password: secretText(32) });
}

/** The `UserID` of a messaging token; the token itself if it has another form. */
export function userIdOf(token: string): string {
  return fieldOf(token, "UserID") ?? token;
}

function passwordOf(token: string): string | undefined {
  return fieldOf(token, "Password");
}

/** A field of a messaging token; undefined if it has another form. */
function fieldOf(token: string, name: string): string | undefined {
  try {
    const fields: unknown = parseJsonText(Buffer.from(token, "base64").toString("utf8"));
    if (typeof fields === "object" && fields !== null)
      return Object.entries(fields)
        .find(([key]) => key === name)
        ?.map(String)[1];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return undefined;
}

function messagingToken({ user, password }: { user: string; password: string }): string {
  return Buffer.from(JSON.stringify({ UserID: user, Password: password })).toString("base64");
}

/** The possible sources of one secret. */
interface Wanted {
  /** The setting that may set it, for the base tenant only. */
  setting: SecretName | undefined;
  listed: string | undefined;
  listedAt: string;
  stored: string | undefined;
  generate: () => string;
}

type StoredList = "databases" | "indexes" | "users";

class Resolver {
  readonly #run: RunSettings;
  stored: StoredTokens;
  readonly problems: string[] = [];

  constructor(run: RunSettings, stored: StoredTokens) {
    this.#run = run;
    this.stored = stored;
  }

  tenants(): Tenants {
    const { configuration } = this.#run;
    const base = { databases: MAIN, indexes: this.#isDev ? DEV_INDEX : MAIN, users: MAIN };
    return {
      databases: this.#names("databases", base.databases, configuration.databases).map((name) =>
        this.#database(name, name === base.databases),
      ),
      indexes: this.#names("indexes", base.indexes, configuration.indexes).map((name) =>
        this.#index(name, name === base.indexes),
      ),
      users: this.#names("users", base.users, configuration.users).map((name) => this.#user(name, name === base.users)),
      adminToken: this.#adminToken(),
    };
  }

  get #isDev(): boolean {
    return this.#run.command === "dev";
  }

  /** keeps (1) */
  #names(list: StoredList, base: string, listed: readonly ListedTenant[]): readonly string[] {
    const stored = this.stored[list];
    const isBaseNamed = settingsOf[list].some((setting) => this.#given(setting) !== undefined);
    const isBaseWanted = isBaseNamed || (listed.length === 0 && (this.#isDev || stored === undefined));
    const names = new Set(isBaseWanted ? [base] : []);
    for (const tenant of listed) names.add(tenant.name);
    for (const tenant of stored ?? []) if (tenant.madeBy !== "configuration") names.add(tenant.name);
    return [...names];
  }

  #database(name: string, isBase: boolean): Tenant {
    const listed = find(this.#run.configuration.databases, name);
    return this.#pair("databases", { name, listed, isBase, generate: generateToken });
  }

  #index(name: string, isBase: boolean): IndexTenant {
    const listed = find(this.#run.configuration.indexes, name);
    const index = listed === undefined ? this.#storedIndex(name) : listed.plan;
    const { dimension } = index.definition;
    const { settings, origins } = this.#run;
    if (listed !== undefined && dimension !== undefined && dimension > settings.dimensionMax) {
      this.problems.push(
        `${this.#listedAt(listed.path)} has ${dimension} dimensions, but ${origins.dimensionMax.place} allows ${settings.dimensionMax}`,
      );
    }
    return { ...this.#pair("indexes", { name, listed, isBase, generate: generateToken }), index };
  }

  /** The plan of an index in tokens.json. */
  #storedIndex(name: string): IndexPlan {
    const { definition } = this.stored.indexes?.find((each) => each.name === name) ?? {};
    if (definition === undefined) return this.#isDev ? developmentIndex : defaultIndex;
    const reader = new FieldReader();
    const plan = readIndexPlan(reader, reader.object(definition, "definition", INDEX_KEYS), {
      path: "definition",
      rules: indexRulesOf(this.#run),
    });
    this.problems.push(...reader.problems.map((problem) => `The index ${name} in tokens.json: ${problem}`));
    return plan;
  }

  #user(name: string, isBase: boolean): UserTenant {
    const listed = find(this.#run.configuration.users, name);
    const pair = this.#pair("users", { name, listed, isBase, generate: () => generateMessagingToken(name) });
    const key = (which: "currentSigningKey" | "nextSigningKey"): Secret =>
      this.#tenantSecret("users", which, { name, listed, isBase, generate: newSigningKey });
    return { ...pair, currentSigningKey: key("currentSigningKey"), nextSigningKey: key("nextSigningKey") };
  }

  #pair(list: StoredList, subject: Subject): Tenant {
    return {
      name: subject.name,
      token: this.#tenantSecret(list, "token", subject),
      readOnlyToken: this.#tenantSecret(list, "readOnlyToken", subject),
      listedAt: subject.listed && this.#listedAt(subject.listed.path),
    };
  }

  #tenantSecret(list: StoredList, which: SecretField, subject: Subject): Secret {
    const { name, listed, isBase, generate } = subject;
    const entry: Partial<StoredUser> | undefined = this.stored[list]?.find((each) => each.name === name);
    const secret = this.#secret({
      setting: isBase ? settingOf[list][which] : undefined,
      listed: (listed as ListedUser | undefined)?.[which],
      listedAt: listed === undefined ? "" : this.#listedAt(`${listed.path}.${which}`),
      stored: entry?.[which],
      generate,
    });
    if (secret.from.kind === "stored" && entry?.[which] === undefined) {
      const madeBy = listed === undefined ? "start" : "configuration";
      this.#keep(list, { ...(entry ?? { name, madeBy }), [which]: secret.value } as StoredTenant);
    }
    return secret;
  }

  #adminToken(): Secret {
    const secret = this.#secret({
      setting: "adminToken",
      listed: undefined,
      listedAt: "",
      stored: this.stored.adminToken,
      generate: generateToken,
    });
    if (secret.from.kind === "stored") this.#update({ adminToken: secret.value });
    return secret;
  }

  #secret({ setting, listed, listedAt, stored, generate }: Wanted): Secret {
    const given = setting === undefined ? undefined : this.#given(setting);
    if (given !== undefined) return { value: given.value, from: { kind: "given", place: given.origin.place } };
    if (listed !== undefined) return { value: listed, from: { kind: "given", place: listedAt } };
    const isWellKnown = this.#isDev && setting !== undefined && isLoopback(hostOf(setting, this.#run)); // keeps (3)
    if (isWellKnown) return { value: wellKnown[setting], from: { kind: "well-known" } };
    return { value: stored ?? generate(), from: { kind: "stored" } };
  }

  #given(setting: SecretName): { value: string; origin: Origin } | undefined {
    const value = this.#run.settings[setting];
    return value === undefined ? undefined : { value, origin: this.#run.origins[setting] };
  }

  #listedAt(path: string): string {
    return placeIn(this.#run.settings.config ?? "the configuration", this.#run.configuration, path);
  }

  #keep(list: StoredList, entry: StoredTenant): void {
    const others = (this.stored[list] ?? []).filter((each) => each.name !== entry.name);
    this.#update({ [list]: [...others, entry] });
  }

  #update(change: Partial<StoredTokens>): void {
    const changed = Object.entries(change).some(([key, value]) => this.stored[key as keyof StoredTokens] !== value);
    if (changed) this.stored = { ...this.stored, ...change };
  }
}

/** The address at which clients use the secret. */
function hostOf(setting: SecretName, { settings }: RunSettings): string {
  return setting === "adminToken" ? settings.adminHost : settings.host;
}

interface Subject {
  name: string;
  listed: ListedTenant | undefined;
  isBase: boolean;
  generate: () => string;
}

type SecretField = "token" | "readOnlyToken" | "currentSigningKey" | "nextSigningKey";

/** The settings of the secrets of each area's base tenant. */
const settingOf: Readonly<Record<StoredList, Readonly<Partial<Record<SecretField, SecretName>>>>> = {
  databases: { token: "storeToken", readOnlyToken: "storeReadOnlyToken" },
  indexes: { token: "vectorToken", readOnlyToken: "vectorReadOnlyToken" },
  users: {
    token: "messagingToken",
    readOnlyToken: "messagingReadOnlyToken",
    currentSigningKey: "currentSigningKey",
    nextSigningKey: "nextSigningKey",
  },
};

const settingsOf: Readonly<Record<StoredList, readonly SecretName[]>> = {
  databases: Object.values(settingOf.databases),
  indexes: Object.values(settingOf.indexes),
  users: Object.values(settingOf.users),
};

function find<Listed extends ListedTenant>(listed: readonly Listed[], name: string): Listed | undefined {
  return listed.find((tenant) => tenant.name === name);
}

/** The place to change this secret, for people. */
export function placeOf(secret: Secret, otherwise: string): string {
  return secret.from.kind === "given" ? secret.from.place : otherwise;
}

/** keeps (2). The reader checked the configuration file alone; this also checks environment and tokens.json. */
function sameTokens(tenants: Tenants): readonly string[] {
  const problems: string[] = [];
  for (const list of [tenants.databases, tenants.indexes, tenants.users]) {
    const seen = new Map<string, string>();
    for (const tenant of list) {
      for (const [which, secret] of [
        ["token", tenant.token],
        ["read-only token", tenant.readOnlyToken],
      ] as const) {
        const place = placeOf(secret, `the ${which} of ${tenant.name}`);
        const earlier = seen.get(secret.value);
        if (earlier === undefined) seen.set(secret.value, place);
        else problems.push(`${place} is the same token as ${earlier}: each token names one tenant and one access`);
      }
    }
  }
  return problems;
}

const wellKnownValues: ReadonlySet<string> = new Set(Object.values(wellKnown));

/** A secret with fewer characters, or fewer different ones, can be guessed over a network; 32 hex digits are 128 bits. */
const SECRET_LENGTH_MIN = 16;
const DIFFERENT_CHARACTERS_MIN = 6;

/** The weakness of a secret, and the remedy; undefined: it is strong enough. */
function weaknessOf(
  secret: Secret,
  setting: SecretName,
): { readonly fault: string; readonly remedy: string } | undefined {
  if (wellKnownValues.has(secret.value)) {
    const remedy = secret.from.kind === "given" ? "choose another" : `set ${variableOf(setting)}`;
    return { fault: "is well known", remedy };
  }
  // Generated secrets are long enough.
  if (secret.from.kind !== "given") return undefined;
  const password = passwordOf(secret.value);
  const guessed = password ?? secret.value.replace(/^sig_/, "");
  const subject = password === undefined ? "is" : "has a password that is";
  const remedy = `choose one of at least ${SECRET_LENGTH_MIN} random characters, such as openssl rand -hex 24 prints`;
  if (guessed.length < SECRET_LENGTH_MIN) return { fault: `${subject} too short (${guessed.length})`, remedy };
  if (new Set(guessed).size < DIFFERENT_CHARACTERS_MIN) return { fault: `${subject} too uniform`, remedy };
  return undefined;
}

/** keeps (3) */
function reachableWeak({ settings }: RunSettings, tenants: Tenants): readonly string[] {
  const problems: string[] = [];
  const check = (host: string, hostFlag: string, secrets: readonly (readonly [Secret, SecretName])[]): void => {
    if (isLoopback(host)) return;
    for (const [secret, setting] of secrets) {
      const weakness = weaknessOf(secret, setting);
      if (weakness === undefined) continue;
      problems.push(
        `${placeOf(secret, `The ${describe(setting)} of larder dev`)} ${weakness.fault} and is refused on ${host}, which other machines may reach: ${weakness.remedy}, or use ${hostFlag} 127.0.0.1`,
      );
    }
  };
  const areaSecrets: (readonly [Secret, SecretName])[] = [];
  for (const tenant of tenants.databases) {
    areaSecrets.push([tenant.token, "storeToken"], [tenant.readOnlyToken, "storeReadOnlyToken"]);
  }
  for (const tenant of tenants.indexes) {
    areaSecrets.push([tenant.token, "vectorToken"], [tenant.readOnlyToken, "vectorReadOnlyToken"]);
  }
  for (const tenant of tenants.users) {
    areaSecrets.push([tenant.token, "messagingToken"], [tenant.readOnlyToken, "messagingReadOnlyToken"]);
    areaSecrets.push([tenant.currentSigningKey, "currentSigningKey"], [tenant.nextSigningKey, "nextSigningKey"]);
  }
  check(settings.host, "--host", areaSecrets);
  check(settings.adminHost, "--admin-host", [[tenants.adminToken, "adminToken"]]);
  return problems;
}

/** `storeReadOnlyToken` is `LARDER_STORE_READ_ONLY_TOKEN`. */
function variableOf(setting: SecretName): string {
  return `LARDER_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function describe(setting: SecretName): string {
  return setting.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Files with secrets that other users of this machine must not read: generated tokens, and a configuration with tokens. */
export function secretPaths(
  { configuration, settings }: RunSettings,
  tokensPath: string | undefined,
): readonly string[] {
  const paths = [tokensPath, hasSecrets(configuration) ? settings.config : undefined];
  return paths.filter((path) => path !== undefined);
}
