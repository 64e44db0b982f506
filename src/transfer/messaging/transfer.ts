/**
 * Transfers the setup of messaging: from listings to a file, and from either into
 * larder. Waiting messages are not moved; they end where they were published.
 *
 * (1) The whole source is read and checked before anything is created.
 * (2) Existing items stay unchanged, unless they are to be replaced. One refusal
 *     does not stop the others.
 * (3) Created items are listed again and compared with the source.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { StartRefusal } from "../../program/refusal.ts";
import type { AreaAnswer, AreaClient } from "../area-client.ts";
import { RecordFields } from "./fields.ts";
import { type Setup, type SetupKind, setupKinds } from "./kinds.ts";

/** By kind, in the order of the table; by name, in the order of the source. */
export type Setups = ReadonlyMap<SetupKind, ReadonlyMap<string, Setup>>;

export interface MessagingSource {
  /** Its name for people. */
  readonly name: string;
  readonly setups: Setups;
}

const FORMAT = 1;

/** All listings of a service. Rejects with a `StartRefusal`. */
export async function readListings(client: AreaClient, name: string): Promise<MessagingSource> {
  const lists = new Map<string, unknown>();
  for (const { path, field } of setupKinds) lists.set(field, await readListing(client, { name, path }));
  return { name, setups: setupsOf(lists, name) };
}

async function readListing(client: AreaClient, { name, path }: { name: string; path: string }): Promise<unknown> {
  const answer = await client.send({ method: "GET", path });
  // Not every service has every kind.
  if (answer.status === 404) return [];
  if (answer.status !== 200) throw new StartRefusal(`${name} refuses ${path}: ${refusalOf(answer)}`);
  return parse(answer.body.toString("utf8"), `The response of ${name} to ${path}`);
}

/** The text of a file. Throws a `StartRefusal`. */
export function parseFile(text: string, path: string): MessagingSource {
  const value = parse(text, path);
  const fields = new Map(typeof value === "object" && value !== null ? Object.entries(value) : []);
  if (fields.get("larder") !== "messaging")
    throw new StartRefusal(`${path} was not written by larder export messaging`);
  if (fields.get("format") !== FORMAT)
    throw new StartRefusal(
      `${path} has the format ${String(fields.get("format"))}, but this version reads format ${FORMAT}`,
    );
  return { name: path, setups: setupsOf(fields, path) };
}

export function printFile({ setups }: MessagingSource): string {
  const lists = setups.entries().map(([{ field }, byName]) => [field, [...byName.values()].map(({ shown }) => shown)]);
  return `${JSON.stringify({ larder: "messaging", format: FORMAT, ...Object.fromEntries(lists) }, undefined, 2)}\n`;
}

function parse(text: string, what: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    throw new StartRefusal(`${what} is not valid JSON`);
  }
}

/** keeps (1) */
function setupsOf(lists: ReadonlyMap<string, unknown>, source: string): Setups {
  const setups = new Map<SetupKind, ReadonlyMap<string, Setup>>();
  for (const kind of setupKinds) {
    const list = lists.get(kind.field) ?? [];
    if (!Array.isArray(list)) throw new StartRefusal(`${source}: ${kind.field} is not an array`);
    const byName = new Map<string, Setup>();
    for (const [index, value] of list.entries()) {
      const path = `${kind.field}[${index}]`;
      const setup = kind.read(new RecordFields(value, `${source}: ${path}`));
      if (setup === undefined) continue;
      if (byName.has(setup.name)) throw new StartRefusal(`${source}: ${path} repeats ${setup.name}`);
      byName.set(setup.name, setup);
    }
    setups.set(kind, byName);
  }
  return setups;
}

/** The result of each item of a kind. */
export interface KindReport {
  readonly kind: SetupKind;
  readonly made: string[];
  /** Existed and was equal. */
  readonly alike: string[];
  /** Existed, differs, and was left unchanged. */
  readonly kept: string[];
  /** Each with the reason. */
  readonly wrong: string[];
}

export interface MessagingImport {
  readonly source: MessagingSource;
  readonly client: AreaClient;
  readonly replaces: boolean;
  readonly clock: Clock;
}

/** Rejects with a `StartRefusal` if nothing can be done at all. */
export async function importMessaging({ source, client, replaces, clock }: MessagingImport): Promise<KindReport[]> {
  const ours = "the messaging user";
  const before = (await readListings(client, ours)).setups;
  const reports: KindReport[] = [];
  for (const [kind, wanted] of source.setups) {
    const report: KindReport = { kind, made: [], alike: [], kept: [], wrong: [] };
    reports.push(report);
    for (const setup of wanted.values()) {
      const existing = before.get(kind)?.get(setup.name);
      if (setup.hidden !== undefined) report.wrong.push(`${setup.name}: ${source.name} hides ${setup.hidden}`);
      else if (existing !== undefined && isAlike(setup, existing)) report.alike.push(setup.name);
      else if (existing !== undefined && !existing.isUnfinished && !replaces) report.kept.push(setup.name);
      else {
        const refusal = await make(client, setup.requests(existing?.shown, clock));
        if (refusal === undefined) report.made.push(setup.name);
        else report.wrong.push(`${setup.name}: ${refusal}`);
      }
    }
  }
  // keeps (3)
  const after = (await readListings(client, ours)).setups;
  for (const { kind, made, wrong } of reports) {
    for (const name of made) {
      const setup = source.setups.get(kind)?.get(name);
      const found = after.get(kind)?.get(name);
      if (setup === undefined || found === undefined || !isAlike(setup, found))
        wrong.push(`${name}: it was created, but is listed differently: ${JSON.stringify(found?.shown)}`);
    }
  }
  return reports;
}

export function isAlike(one: Setup, other: Setup): boolean {
  return one.essence === other.essence;
}

/** The reason of a refusal, or undefined. keeps (2) */
async function make(client: AreaClient, requests: ReturnType<Setup["requests"]>): Promise<string | undefined> {
  for (const request of requests) {
    const answer = await client.send(request);
    if (answer.status < 300) continue;
    // All other requests would be refused too.
    if (answer.status === 401 || answer.status === 403)
      throw new StartRefusal(`The request was refused for the messaging user: ${refusalOf(answer)}`);
    return refusalOf(answer);
  }
  return undefined;
}

function refusalOf({ status, body }: AreaAnswer): string {
  try {
    const { error } = parseJsonText(body.toString("utf8")) as { error?: unknown };
    if (typeof error === "string") return `${error} (${status})`;
  } catch {
    // A proxy may send any response.
  }
  return `status ${status}`;
}

/** Equal for equal setups, in any order of the listing. */
export function digestOf(setups: Setups): string {
  const texts = setups
    .entries()
    .flatMap(([{ field }, byName]) => byName.values().map(({ essence }) => `${field} ${essence}`))
    .toArray()
    .sort();
  return createHash("sha256").update(texts.join("\n")).digest("hex").slice(0, 32);
}

/** One sentence each. */
export function hiddenSetups({ name, setups }: MessagingSource): readonly string[] {
  return setups
    .entries()
    .flatMap(([kind, byName]) =>
      byName
        .values()
        .filter(({ hidden }) => hidden !== undefined)
        .map((setup) => `${kind.words}: ${setup.name}: ${name} hides ${setup.hidden}, so the file cannot recreate it`),
    )
    .toArray();
}
