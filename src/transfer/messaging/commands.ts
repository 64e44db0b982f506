/** `larder import messaging` and `larder export messaging`: runs a transfer and prints its result. */
import { resolve } from "node:path";
import { systemClock } from "../../kernel/clock.ts";
import { writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { readTextFile } from "../../persistence/disk/text-file.ts";
import { assertOutputFile } from "../../program/cli/backups/output-file.ts";
import type { CommandCall } from "../../program/cli/command-row.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { AreaClient } from "../area-client.ts";
import { fileRefusal } from "../ndjson-file.ts";
import { isAddress, readSourceAddress } from "../source-address.ts";
import { openTarget } from "../target.ts";
import {
  digestOf,
  hiddenSetups,
  importMessaging,
  type KindReport,
  type MessagingSource,
  parseFile,
  printFile,
  readListings,
} from "./transfer.ts";

/** Headers and bodies are secrets. */
const FILE_MODE = 0o600;
/** A file has the bodies of schedules, and must fit into one string. */
const FILE_BYTES_MAX = 500 * 1024 * 1024;

/** Rejects with a `StartRefusal`; 1: done, but the file is incomplete. */
export async function runMessagingExport({ run, version, operands, options, print }: CommandCall): Promise<0 | 1> {
  const [place = ""] = operands;
  if (isAddress(place)) throw new StartRefusal("Name the file to write: larder export messaging <file.json>", 2);
  const path = resolve(place);
  assertOutputFile(path, { place, replaces: options.has("replace") });
  const target = await openTarget({ run, version, isMade: false });
  try {
    const client = target.client("messaging", options.get("user"));
    const found = await readListings(client, "the messaging user");
    await writeFileDurably(path, printFile(found), { mode: FILE_MODE }).catch((fault: unknown) => {
      throw fileRefusal(fault, path);
    });
    const written = parseFile(readText(path), path);
    for (const [kind, byName] of written.setups) print(`${kind.words}: ${byName.size}`);
    print(`exported to ${place}, digest ${digestOf(written.setups)}`);
    const now = await readListings(client, "the messaging user");
    const wrong = [...hiddenSetups(found)];
    if (digestOf(now.setups) !== digestOf(written.setups)) wrong.push("the setup changed during the export");
    for (const each of wrong) print(`problem: ${each}`);
    return wrong.length === 0 ? 0 : 1;
  } finally {
    await target.close();
  }
}

/** Rejects with a `StartRefusal`; 1: done, but some items could not be created, or differ. */
export async function runMessagingImport(call: CommandCall): Promise<0 | 1> {
  const source = await readSource(call);
  const { run, version, options, print } = call;
  const target = await openTarget({ run, version, isMade: true });
  try {
    const client = target.client("messaging", options.get("user"));
    const replaces = options.has("replace");
    const reports = await importMessaging({ source, client, replaces, clock: systemClock });
    for (const report of reports) print(reportLine(report));
    print(`imported from ${source.name}, digest ${digestOf(source.setups)}`);
    const wrong = reports.flatMap((report) => report.wrong.map((each) => `${report.kind.words}: ${each}`));
    for (const each of wrong) print(`problem: ${each}`);
    return wrong.length === 0 ? 0 : 1;
  } finally {
    await target.close();
  }
}

async function readSource(call: CommandCall): Promise<MessagingSource> {
  const [place = "", givenToken] = call.operands;
  const address = readSourceAddress(place, givenToken, call);
  if (address === undefined) {
    const path = resolve(place);
    return parseFile(readText(path), path);
  }
  const client = new AreaClient({ ...address, clock: systemClock });
  try {
    return await readListings(client, address.base);
  } finally {
    await client.close();
  }
}

function readText(path: string): string {
  try {
    return readTextFile(path, FILE_BYTES_MAX);
  } catch (fault) {
    throw fileRefusal(fault, path);
  }
}

function reportLine({ kind, made, alike, kept }: KindReport): string {
  const parts = [`${kind.words}: ${made.length} made`];
  if (alike.length > 0) parts.push(`${alike.length} already exist unchanged`);
  if (kept.length > 0)
    parts.push(
      `${kept.length} exist with other settings and were left unchanged (--replace overwrites them): ${kept.join(", ")}`,
    );
  return parts.join(", ");
}
