/**
 * Calls of the admin port from the command line. The address and the token come
 * from the data directory, which both use.
 */
import { parseJsonText } from "../../kernel/json/parse.ts";
import { unreachedText } from "../../kernel/text/unreached.ts";
import { loadHttp } from "../http/builtin-module.ts";
import type { AuditPage } from "./audit.ts";
import type { BackupMade, ChangeReach, TenantKind, TenantTokens } from "./routes.ts";
import type { SettingFacts } from "./settings.ts";

export type AdminAnswer<Value> =
  | { readonly kind: "done"; readonly value: Value }
  /** The server refuses, with a sentence. */
  | { readonly kind: "refused"; readonly status: number; readonly text: string }
  /** No answer, or not from an admin port. */
  | { readonly kind: "unreachable"; readonly reason: string };

export interface AdminCall {
  /** Base address, such as `http://127.0.0.1:8082`. */
  readonly address: string;
  readonly token: string;
}

/** Timeout: the server writes a file and notifies an area. */
const SILENCE_MS_MAX = 30_000;
/** The same for a backup: the log of messages is copied first. */
const BACKUP_MS_MAX = 3_600_000;
/** Far more than names and tokens need. */
const ANSWER_CHARACTERS_MAX = 65_536;
/** The same for a list of all tenants. */
const LIST_CHARACTERS_MAX = 64 * 1_048_576;

/** Gives a tenant new tokens. The old ones are refused afterwards. */
export function askForReset(
  call: AdminCall,
  { kind, name }: { kind: TenantKind; name: string },
): Promise<AdminAnswer<TenantTokens>> {
  const path = `/v1/${kind}/${encodeURIComponent(name)}/reset-password`;
  return ask(call, { method: "POST", path, silenceMsMax: SILENCE_MS_MAX }, ({ token, readOnlyToken, ...rest }) =>
    typeof token === "string" && typeof readOnlyToken === "string"
      ? { name, token, readOnlyToken, ...reachIn(rest) }
      : undefined,
  );
}

/** The fields about nodes of a cluster in the answer of a change. */
export function reachIn({ reachedAllNodes, missingNodes }: Fields): ChangeReach {
  return {
    ...(typeof reachedAllNodes === "boolean" && { reachedAllNodes }),
    ...(Array.isArray(missingNodes) && { missingNodes: missingNodes.map(String) }),
  };
}

/** Makes a directory from which a backup file can be made. */
export function askForBackup(call: AdminCall): Promise<AdminAnswer<BackupMade>> {
  return ask(call, { method: "POST", path: "/v1/backup", silenceMsMax: BACKUP_MS_MAX }, ({ directory, areas }) =>
    typeof directory === "string" && Array.isArray(areas) ? { directory, areas } : undefined,
  );
}

/** Requests the statistics of the server, which are not checked. */
export function askForStats(call: AdminCall): Promise<AdminAnswer<Readonly<Record<string, unknown>>>> {
  return ask(call, { method: "GET", path: "/v1/stats", silenceMsMax: SILENCE_MS_MAX }, (fields) => fields);
}

/** Requests a page of the audit log. `query`: its parameters, which the server checks. */
export function askForAudit(
  call: AdminCall,
  query: Readonly<Record<string, string>>,
): Promise<AdminAnswer<Pick<AuditPage, "cursor" | "unreadableLines"> & { readonly entries: readonly Fields[] }>> {
  const path = `/v1/audit?${new URLSearchParams(query)}`;
  const question = { method: "GET", path, silenceMsMax: SILENCE_MS_MAX, charactersMax: LIST_CHARACTERS_MAX } as const;
  return ask(call, question, ({ entries, unreadableLines, cursor }) => {
    if (!Array.isArray(entries) || typeof unreadableLines !== "number") return undefined;
    const fields = entries.map((each: unknown) => Object(each) as Fields);
    return { entries: fields, unreadableLines, ...(typeof cursor === "string" && { cursor }) };
  });
}

/** A part of a list, whose rows are not checked. */
export interface ListPage {
  readonly rows: readonly Fields[];
  /** Where the next page begins; absent at the end of the list. */
  readonly cursor?: string;
}

/** Requests a page of the clients. `query`: its parameters, which the server checks. */
export function askForClients(
  call: AdminCall,
  query: Readonly<Record<string, string>>,
): Promise<AdminAnswer<ListPage>> {
  return askForPage(call, { path: "/v1/clients", list: "clients", query });
}

/** Requests a page of the namespaces of an index. `query`: its parameters, which the server checks. */
export function askForNamespaces(
  call: AdminCall,
  { index, query }: { index: string; query: Readonly<Record<string, string>> },
): Promise<AdminAnswer<ListPage>> {
  const path = `/v1/indexes/${encodeURIComponent(index)}/namespaces`;
  return askForPage(call, { path, list: "namespaces", query });
}

/** Ends the connection of a client. `id`: as it was given; the server checks it. */
export function askToKillClient(call: AdminCall, id: string): Promise<AdminAnswer<Fields>> {
  const path = `/v1/clients/${encodeURIComponent(id)}`;
  return ask(call, { method: "DELETE", path, silenceMsMax: SILENCE_MS_MAX }, (fields) => fields);
}

/** Requests the settings that the server was started with. */
export function askForSettings(call: AdminCall): Promise<AdminAnswer<readonly SettingFacts[]>> {
  const question = {
    method: "GET",
    path: "/v1/settings",
    silenceMsMax: SILENCE_MS_MAX,
    charactersMax: LIST_CHARACTERS_MAX,
  } as const;
  return ask(call, question, ({ settings }) =>
    Array.isArray(settings) && settings.every(isSettingFacts) ? settings : undefined,
  );
}

/** Whether the fields that commands print are there. */
function isSettingFacts(each: unknown): each is SettingFacts {
  const { name, source, value }: Fields = Object(each);
  return typeof name === "string" && typeof source === "string" && value !== undefined;
}

/** Requests the last warnings and errors, which are not checked. */
export function askForProblems(call: AdminCall): Promise<AdminAnswer<readonly Fields[]>> {
  const question = {
    method: "GET",
    path: "/v1/problems",
    silenceMsMax: SILENCE_MS_MAX,
    charactersMax: LIST_CHARACTERS_MAX,
  } as const;
  return ask(call, question, ({ problems }) =>
    Array.isArray(problems) ? problems.map((each: unknown) => Object(each) as Fields) : undefined,
  );
}

/** The state of a server, as GET /health/ready reports it. */
export interface ServerHealth {
  readonly isReady: boolean;
  readonly areas: Readonly<Record<string, string>>;
  readonly reasons: readonly string[];
}

/** Requests the state of the server and of its areas. */
export function askForHealth(call: AdminCall): Promise<AdminAnswer<ServerHealth>> {
  const question = {
    method: "GET",
    path: "/health/ready",
    silenceMsMax: SILENCE_MS_MAX,
    statuses: [200, 503],
  } as const;
  return ask(call, question, ({ status, areas, reasons }) =>
    typeof status === "string" && typeof areas === "object" && areas !== null && Array.isArray(reasons)
      ? { isReady: status === "ready", areas: { ...areas }, reasons: reasons.map(String) }
      : undefined,
  );
}

export function askForVersion(call: AdminCall): Promise<AdminAnswer<string>> {
  return ask(call, { method: "GET", path: "/version", silenceMsMax: SILENCE_MS_MAX }, ({ version }) =>
    typeof version === "string" ? version : undefined,
  );
}

/** Asks the server to stop. It begins after the answer. */
export function askToStop(call: AdminCall): Promise<AdminAnswer<true>> {
  return ask(call, { method: "POST", path: "/v1/stop", silenceMsMax: SILENCE_MS_MAX, statuses: [202] }, ({ status }) =>
    status === "stopping" ? true : undefined,
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** Requests the databases, indexes or users, which are not checked. */
export function askForTenants(call: AdminCall, kind: TenantKind): Promise<AdminAnswer<readonly Fields[]>> {
  const path = `/v1/${kind}`;
  const question = { method: "GET", path, silenceMsMax: SILENCE_MS_MAX, charactersMax: LIST_CHARACTERS_MAX } as const;
  return ask(call, question, (fields) => {
    const listed = fields[kind];
    return Array.isArray(listed) ? listed.map((each: unknown) => Object(each) as Fields) : undefined;
  });
}

/** Creates a database, index or user; `description` has the fields besides its name. */
export function askToCreate(
  call: AdminCall,
  { kind, name, description }: { kind: TenantKind; name: string; description: Fields },
): Promise<AdminAnswer<Fields>> {
  const body = JSON.stringify({ name, ...description });
  const question = {
    method: "POST",
    path: `/v1/${kind}`,
    silenceMsMax: SILENCE_MS_MAX,
    statuses: [201],
    body,
  } as const;
  return ask(call, question, (fields) => fields);
}

/** Deletes a database, index or user with its data. */
export function askToDelete(
  call: AdminCall,
  { kind, name }: { kind: TenantKind; name: string },
): Promise<AdminAnswer<Fields>> {
  const path = `/v1/${kind}/${encodeURIComponent(name)}`;
  return ask(call, { method: "DELETE", path, silenceMsMax: SILENCE_MS_MAX }, (fields) => fields);
}

/** `list`: the field of the answer that has the rows. */
function askForPage(
  call: AdminCall,
  { path: route, list, query }: { path: string; list: string; query: Readonly<Record<string, string>> },
): Promise<AdminAnswer<ListPage>> {
  const path = `${route}?${new URLSearchParams(query)}`;
  const question = { method: "GET", path, silenceMsMax: SILENCE_MS_MAX, charactersMax: LIST_CHARACTERS_MAX } as const;
  return ask(call, question, ({ [list]: listed, cursor }) => {
    if (!Array.isArray(listed)) return undefined;
    const rows = listed.map((each: unknown) => Object(each) as Fields);
    return { rows, ...(typeof cursor === "string" && { cursor }) };
  });
}

interface Question {
  readonly method: "GET" | "POST" | "DELETE";
  /** The statuses of an answer; 200 if absent. */
  readonly statuses?: readonly number[];
  readonly body?: string;
  readonly charactersMax?: number;
  readonly path: string;
  readonly silenceMsMax: number;
}

/** `read` extracts the value of an answer, or returns undefined if it is not an answer of larder. */
async function ask<Value>(
  { address, token }: AdminCall,
  question: Question,
  read: (fields: Readonly<Record<string, unknown>>) => Value | undefined,
): Promise<AdminAnswer<Value>> {
  let answer: { status: number; text: string };
  try {
    answer = await send(`${address}${question.path}`, token, question);
  } catch (fault) {
    return { kind: "unreachable", reason: unreachedText(fault) };
  }
  const { status, text } = answer;
  const fields = parseObject(text);
  const { statuses = [200] } = question;
  const value = statuses.includes(status) ? read(fields) : undefined;
  if (value !== undefined) return { kind: "done", value };
  const { error } = fields;
  if (typeof error === "string") return { kind: "refused", status, text: error };
  return { kind: "unreachable", reason: `it answers ${status} and is not an admin port of larder` };
}

function send(
  url: string,
  token: string,
  { method, silenceMsMax, body, charactersMax = ANSWER_CHARACTERS_MAX }: Question,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const isEncrypted = url.startsWith("https:");
    const options = {
      method,
      agent: false,
      headers: { authorization: `Bearer ${token}` },
      // The address is in the locked data directory and is local, so no byte leaves the machine. The certificate has
      // the machine's public name.
      ...(isEncrypted && { rejectUnauthorized: false }),
    };
    const sent = (isEncrypted ? process.getBuiltinModule("node:https") : loadHttp()).request(
      url,
      options,
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
          if (text.length > charactersMax) response.destroy(new Error("its response is too long"));
        });
        response.on("error", reject);
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    sent.setTimeout(silenceMsMax, () => sent.destroy(new Error(`it is silent for ${silenceMsMax / 1_000} s`)));
    sent.on("error", reject);
    sent.end(body);
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJsonText(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
