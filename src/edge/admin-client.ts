/**
 * What the command line asks of a server that runs: calls of its admin port.
 * The address and the token come from the data directory that both use.
 */
import { request } from "node:http";
import type { TenantKind, TenantTokens } from "./admin-routes.ts";

export type AdminAnswer =
  | { readonly kind: "done"; readonly tokens: TenantTokens }
  /** The server says no, in a sentence. */
  | { readonly kind: "refused"; readonly status: number; readonly text: string }
  /** Nobody is there, or somebody who is no admin port. */
  | { readonly kind: "unreachable"; readonly reason: string };

export interface AdminCall {
  /** Base address, such as `http://127.0.0.1:8082`. */
  readonly address: string;
  readonly token: string;
}

/** How long the server may be silent: it writes a file and tells an area of it. */
const SILENCE_MS_MAX = 30_000;
/** Far more than names and tokens take. */
const ANSWER_CHARACTERS_MAX = 65_536;

/** Gives a tenant new tokens. When this is done the old ones are refused. */
export async function askForReset(
  { address, token }: AdminCall,
  { kind, name }: { kind: TenantKind; name: string },
): Promise<AdminAnswer> {
  let answer: { status: number; text: string };
  try {
    answer = await post(`${address}/v1/${kind}/${encodeURIComponent(name)}/reset-password`, token);
  } catch (fault) {
    return { kind: "unreachable", reason: fault instanceof Error ? fault.message : String(fault) };
  }
  const { status, text } = answer;
  const fields = parseObject(text);
  const { token: fresh, readOnlyToken, error } = fields;
  if (status === 200 && typeof fresh === "string" && typeof readOnlyToken === "string")
    return { kind: "done", tokens: { name, token: fresh, readOnlyToken } };
  if (typeof error === "string") return { kind: "refused", status, text: error };
  return { kind: "unreachable", reason: `it answers ${status} and is no admin port of larder` };
}

function post(url: string, token: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent: false, headers: { authorization: `Bearer ${token}` } };
    const sent = request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > ANSWER_CHARACTERS_MAX) response.destroy(new Error("its answer is too long"));
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.setTimeout(SILENCE_MS_MAX, () => sent.destroy(new Error(`it is silent for ${SILENCE_MS_MAX / 1_000} s`)));
    sent.on("error", reject);
    sent.end();
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
