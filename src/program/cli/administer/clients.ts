/** `larder clients`: the clients that are connected to a running server over RESP, and the end of one. */
import { askForClients, askToKillClient } from "../../../edge/admin/client.ts";
import { CLIENTS_PAGE_MAX, clientParameters } from "../../../edge/admin/clients.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { callServer, readAllPages } from "../running-server.ts";
import { cellOf, tableLines } from "./table.ts";

const COLUMNS = ["id", "database", "user", "name", "address", "library", "age", "idle", "state", "command", "bytes"];

type Client = Readonly<Record<string, unknown>>;

/** Rejects with a `StartRefusal`. */
export async function clientLines(run: RunSettings, options: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const id = options.get("kill");
  if (id !== undefined) {
    const ended = await callServer(run, (call) => askToKillClient(call, id));
    return [options.has("json") ? JSON.stringify(ended, undefined, 2) : `ended the connection of client ${id}`];
  }
  const clients = await readClients(run, options);
  if (options.has("json")) return [JSON.stringify(clients, undefined, 2)];
  if (clients.length === 0) return ["# no client is logged in over RESP; --resp-port of the server opens that port"];
  return tableLines(clients.map(cellsOf), COLUMNS);
}

/** All that pass the filters. */
function readClients(run: RunSettings, options: ReadonlyMap<string, string>): Promise<readonly Client[]> {
  const filters = Object.fromEntries([...options].filter(([name]) => Object.hasOwn(clientParameters, name)));
  const query = { ...filters, count: String(CLIENTS_PAGE_MAX) };
  return readAllPages(run, (call, cursor) => askForClients(call, { ...query, ...cursor }));
}

function cellsOf({ libraryName, libraryVersion, ageSeconds, idleSeconds, states, ...client }: Client): string[] {
  const { id, database, user, name, address, lastCommand, memoryBytes } = client;
  const library = [libraryName, libraryVersion].filter((part) => part !== "" && part !== undefined).join(" ");
  const state = Array.isArray(states) ? states.join(", ") : states;
  return [
    ...[id, database, user, name, address, library].map(cellOf),
    ...[`${ageSeconds}s`, `${idleSeconds}s`],
    ...[state, lastCommand, memoryBytes].map(cellOf),
  ];
}
