/** Clients that write records until the server is gone, each with one request under way. */
import { Agent } from "node:http";
import type { Random } from "../../../../src/kernel/random.ts";
import { ConnectionLost, type Endpoint, post } from "../post.ts";
import type { Entry, Kept, Ledger, Write } from "./ledger.ts";
import { jsonOf, signsOf } from "./signs.ts";

/** The records of a client in a namespace. */
const IDS = 40;
const BATCH_MAX = 6;
const DELETED_MAX = 3;
/** A filter deletes about a quarter of a client's records. */
const FILTER_SHARE = 4;

/** The actions of a client with their weights. */
const kinds: readonly { readonly weight: number; readonly make: (client: Client) => Write | undefined }[] = [
  { weight: 30, make: (client) => upsert(client, 1) },
  { weight: 25, make: (client) => upsert(client, 2 + client.random.below(BATCH_MAX - 1)) },
  { weight: 14, make: updateAll },
  { weight: 8, make: updateMetadata },
  { weight: 16, make: deleteIds },
  { weight: 3, make: deletePrefix },
  { weight: 2, make: deleteByFilter },
  { weight: 2, make: reset },
];
const WEIGHT_SUM = kinds.reduce((sum, { weight }) => sum + weight, 0);

interface Client {
  readonly number: number;
  readonly ledger: Ledger;
  readonly random: Random;
}

/** Resolves when the server is gone for every client; rejects if it refuses a write. */
export async function writeUntilLost(
  endpoint: Endpoint,
  { ledger, clientCount, random }: { ledger: Ledger; clientCount: number; random: Random },
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount });
  const run = async (number: number): Promise<void> => {
    try {
      for (;;) {
        const write = draw({ number, ledger, random });
        if (write === undefined) continue;
        await post(endpoint, { ...write, agent });
        ledger.acknowledge(write);
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  };
  try {
    await Promise.all(Array.from({ length: clientCount }, (_, number) => run(number)));
  } finally {
    agent.destroy();
  }
}

/** Undefined if no record can be changed in this way. */
function draw(client: Client): Write | undefined {
  let left = client.random.below(WEIGHT_SUM);
  const kind = kinds.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  return kind?.make(client);
}

/** Half of the records are in the large namespace, which has a graph. */
function namespaceOf({ number, random }: Client): string {
  return random.below(2) === 0 ? "" : ownNamespace(number);
}

export function ownNamespace(client: number): string {
  return `of client ${client}`;
}

function pathOf(command: string, namespace: string): string {
  return namespace === "" ? `/${command}` : `/${command}/${encodeURIComponent(namespace)}`;
}

function anyEntry(client: Client, namespace: string): Entry {
  return client.ledger.entry(client.number, namespace, `c${client.number}-${client.random.below(IDS)}`);
}

/** Some existing records, each once. */
function keptEntries(client: Client, namespace: string, countMax: number): readonly Entry[] {
  const found = Array.from({ length: countMax }, () => anyEntry(client, namespace)).filter(({ kept }) => kept);
  return [...new Set(found)];
}

function ownEntries({ number, ledger }: Client, namespace: string): readonly Entry[] {
  return [...ledger.entries].filter((entry) => entry.client === number && entry.namespace === namespace && entry.kept);
}

export function recordText(entry: Pick<Entry, "client" | "id">, { seed, version }: Kept): string {
  const rest = { metadata: { client: entry.client, version }, data: String(seed) };
  return `{"id":${JSON.stringify(entry.id)},"vector":${jsonOf(signsOf(seed))},${JSON.stringify(rest).slice(1)}`;
}

function upsert(client: Client, count: number): Write {
  const { ledger } = client;
  const namespace = namespaceOf(client);
  const entries = [...new Set(Array.from({ length: count }, () => anyEntry(client, namespace)))];
  const kept = new Map(entries.map((entry) => [entry, ledger.newKept()]));
  const records = [...kept].map(([entry, value]) => recordText(entry, value));
  const text = records.length === 1 ? (records[0] ?? "") : `[${records.join()}]`;
  const write = { kind: "an upsert", isWhole: true, path: pathOf("upsert", namespace), text, entries };
  return ledger.begin(write, (entry) => kept.get(entry));
}

function updateAll(client: Client): Write | undefined {
  const { ledger } = client;
  const namespace = namespaceOf(client);
  const [entry] = keptEntries(client, namespace, DELETED_MAX);
  if (entry === undefined) return undefined;
  const kept = ledger.newKept();
  const text = recordText(entry, kept);
  const write = { kind: "an update", isWhole: true, path: pathOf("update", namespace), text, entries: [entry] };
  return ledger.begin(write, () => kept);
}

function updateMetadata(client: Client): Write | undefined {
  const { ledger } = client;
  const namespace = namespaceOf(client);
  const [entry] = keptEntries(client, namespace, DELETED_MAX);
  if (entry?.kept === undefined) return undefined;
  const kept = { ...entry.kept, version: ledger.newVersion() };
  const text = JSON.stringify({ id: entry.id, metadata: { version: kept.version }, metadataUpdateMode: "PATCH" });
  const write = { kind: "a patch", isWhole: true, path: pathOf("update", namespace), text, entries: [entry] };
  return ledger.begin(write, () => kept);
}

function deleteIds(client: Client): Write | undefined {
  const namespace = namespaceOf(client);
  const entries = keptEntries(client, namespace, DELETED_MAX);
  if (entries.length === 0) return undefined;
  return deletion(client, { kind: "a delete", namespace, entries, body: { ids: entries.map(({ id }) => id) } });
}

function deletePrefix(client: Client): Write | undefined {
  const namespace = namespaceOf(client);
  const [first] = keptEntries(client, namespace, DELETED_MAX);
  if (first === undefined) return undefined;
  const entries = ownEntries(client, namespace).filter(({ id }) => id.startsWith(first.id));
  return deletion(client, { kind: "a delete by prefix", namespace, entries, body: { prefix: first.id } });
}

function deleteByFilter(client: Client): Write | undefined {
  const namespace = namespaceOf(client);
  const own = ownEntries(client, namespace).toSorted((one, other) => versionOf(one) - versionOf(other));
  const last = own[Math.floor(own.length / FILTER_SHARE)];
  if (last === undefined) return undefined;
  const entries = own.filter((entry) => versionOf(entry) <= versionOf(last));
  const filter = `client = ${client.number} AND version <= ${versionOf(last)}`;
  return deletion(client, { kind: "a delete by filter", namespace, entries, body: { filter } });
}

function reset(client: Client): Write | undefined {
  const namespace = ownNamespace(client.number);
  const entries = ownEntries(client, namespace);
  if (entries.length === 0) return undefined;
  const write = { kind: "a reset", isWhole: true, path: pathOf("reset", namespace), text: "", entries };
  return client.ledger.begin(write, () => undefined);
}

function deletion(
  { ledger }: Client,
  what: { kind: string; namespace: string; entries: readonly Entry[]; body: object },
): Write {
  const { kind, namespace, entries, body } = what;
  const write = { kind, isWhole: true, path: pathOf("delete", namespace), text: JSON.stringify(body), entries };
  return ledger.begin(write, () => undefined);
}

function versionOf({ kept }: Entry): number {
  return kept?.version ?? 0;
}
