/**
 * The commands on dead letters, schedules and workflow runs: requests to the API
 * of messaging of a running server, with the token of a user. Its error texts are
 * printed unchanged.
 */
import { resolve } from "node:path";
import { systemClock } from "../../../kernel/clock.ts";
import { parseJsonText } from "../../../kernel/json/parse.ts";
import { AreaClient, type AreaRequest } from "../../../transfer/area-client.ts";
import { StartRefusal } from "../../refusal.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { configuredAddresses, readTenants } from "../environment/print-environment.ts";
import type { ItemAction, ItemList } from "./messaging-rows.ts";
import { cellOf, tableLines } from "./table.ts";

type Options = ReadonlyMap<string, string>;

const COUNT_DEFAULT = 100;
const COUNT_MAX = 100_000;

/** Returns the lines to print. Rejects with a `StartRefusal`. */
export async function listItems(run: RunSettings, list: ItemList, options: Options): Promise<readonly string[]> {
  const countMax = readCount(options.get("count"));
  const items = await withClient(run, options, async (send) => {
    const found: unknown[] = [];
    for (let cursor = ""; ; ) {
      const separator = list.path.includes("?") ? "&" : "?";
      const path = cursor === "" ? list.path : `${list.path}${separator}cursor=${encodeURIComponent(cursor)}`;
      const answer = await send({ method: "GET", path });
      found.push(...itemsOf(answer, list.field));
      cursor = textOf(answer, "cursor");
      if (cursor === "" || found.length >= countMax) return found.slice(0, countMax);
    }
  });
  if (options.has("json")) return [JSON.stringify(items, undefined, 2)];
  const rows = items.map((item) => list.columns.map(([, field]) => fieldCell(item, field)));
  const headings = list.columns.map(([heading]) => heading);
  return tableLines(rows, headings);
}

/** Returns the lines to print. Rejects with a `StartRefusal`. */
export async function actOnItem(
  run: RunSettings,
  { action, id, options }: { action: ItemAction; id: string; options: Options },
): Promise<readonly string[]> {
  const path = `${action.path}${encodeURIComponent(id)}${action.end ?? ""}`;
  const answer = await withClient(run, options, (send) => send({ method: action.method, path }));
  return options.has("json") ? [JSON.stringify(answer ?? {}, undefined, 2)] : [`${action.done}: ${id}`];
}

/** Resolves with the JSON of an answer. Rejects with a `StartRefusal` that has the error of the API. */
type Send = (request: AreaRequest) => Promise<unknown>;

async function withClient<Result>(
  run: RunSettings,
  options: Options,
  work: (send: Send) => Promise<Result>,
): Promise<Result> {
  const { tenants, serving, assertKnown } = await readTenants(run, { users: options.get("user") });
  if (serving === undefined && run.settings.dataDirectory !== undefined) {
    throw new StartRefusal(
      `No larder is running on ${resolve(run.settings.dataDirectory)}: start it, or inspect the directory with larder check`,
    );
  }
  const [user] = tenants.users;
  if (user === undefined) throw new StartRefusal("There is no messaging user", 2);
  assertKnown([user.token]);
  const base = (serving?.addresses ?? configuredAddresses(run)).messaging;
  const client = new AreaClient({ base, token: user.token.value, clock: systemClock, isThisMachine: true });
  try {
    return await work(async (request) => {
      const { status, body } = await client.send(request);
      const answer = parseJson(body.toString("utf8"));
      if (status >= 200 && status < 300) return answer;
      throw new StartRefusal(textOf(answer, "error") || `${base} answers ${status}`);
    });
  } finally {
    await client.close();
  }
}

function readCount(text: string | undefined): number {
  if (text === undefined) return COUNT_DEFAULT;
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= COUNT_MAX) return count;
  throw new StartRefusal(`--count: ${JSON.stringify(text)} is not a whole number from 1 to ${COUNT_MAX}`, 2);
}

function itemsOf(answer: unknown, field: string | undefined): readonly unknown[] {
  const items = field === undefined ? answer : fieldOf(answer, field);
  return Array.isArray(items) ? items : [];
}

function fieldOf(value: unknown, field: string): unknown {
  return new Map<string, unknown>(typeof value === "object" && value !== null ? Object.entries(value) : []).get(field);
}

function textOf(value: unknown, field: string): string {
  const found = fieldOf(value, field);
  return typeof found === "string" ? found : "";
}

/** Times are in ms since the epoch. */
function fieldCell(item: unknown, field: string): string {
  const value = fieldOf(item, field);
  const isTime = /(?:At|[Tt]ime)$/.test(field) && typeof value === "number";
  return isTime ? new Date(value).toISOString() : cellOf(value);
}

function parseJson(text: string): unknown {
  try {
    return text === "" ? undefined : parseJsonText(text);
  } catch {
    return undefined;
  }
}
