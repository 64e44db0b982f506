/** `larder import vector` and `larder export vector`: from words and options to a transfer, and its end in lines. */
import { join, resolve } from "node:path";
import { systemClock } from "../../kernel/clock.ts";
import { assertOutputFile } from "../../program/cli/backups/output-file.ts";
import type { CommandCall } from "../../program/cli/command-row.ts";
import { progressOf } from "../../program/cli/progress.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { AreaClient } from "../area-client.ts";
import { isAddress, readSourceAddress } from "../source-address.ts";
import { openTarget, type Target } from "../target.ts";
import { exportVectors } from "./export.ts";
import { importVectors } from "./import.ts";
import { IndexClient } from "./index-client.ts";
import { reportLines, type TransferReport } from "./report.ts";
import { sourceFromFile, sourceFromIndex, type VectorSource } from "./source.ts";

/** In the data directory: how far interrupted imports are. */
const STATE_DIRECTORY = "transfers";

/** Rejects with a `StartRefusal`; 1: it is done, but there are mismatches. */
export async function runVectorExport(call: CommandCall): Promise<0 | 1> {
  const [path = ""] = call.operands;
  if (isAddress(path)) throw new StartRefusal("Name the file to write: larder export vector <file.ndjson>", 2);
  assertOutputFile(resolve(path), { place: path, replaces: call.options.has("replace") });
  const target = await openTarget({ run: call.run, version: call.version, isMade: false });
  try {
    const { index, indexName } = indexOf(target, call);
    const progress = progressOf(call.run, { unit: "records, each read twice", tellsTimeLeft: true });
    const report = await exportVectors({
      ...{ index, indexName, progress, path: resolve(path), clock: systemClock },
      ...choicesOf(call),
    }).finally(() => progress.end());
    return printReport(report, `exported the index ${indexName} to ${path}`, call);
  } finally {
    await target.close();
  }
}

/** Rejects with a `StartRefusal`; 1: it is done, but there are mismatches. */
export async function runVectorImport(call: CommandCall): Promise<0 | 1> {
  const opened = await openSource(call);
  try {
    const target = await openTarget({ run: call.run, version: call.version, isMade: true });
    try {
      const { index, indexName } = indexOf(target, call);
      const progress = progressOf(call.run, { unit: "records, each read twice", tellsTimeLeft: true });
      const { source } = opened;
      const report = await importVectors({
        ...{ source, index, indexName, progress, clock: systemClock },
        ...choicesOf(call),
        stateDirectory: join(target.directory, STATE_DIRECTORY),
      }).finally(() => progress.end());
      return printReport(report, `imported ${source.name} into the index ${indexName}`, call);
    } finally {
      await target.close();
    }
  } finally {
    await opened.close();
  }
}

async function openSource(call: CommandCall): Promise<{ source: VectorSource; close: () => Promise<void> }> {
  const [place = "", givenToken] = call.operands;
  const address = readSourceAddress(place, givenToken, call);
  if (address === undefined) return { source: await sourceFromFile(resolve(place)), close: async () => {} };
  const client = new AreaClient({ ...address, clock: systemClock });
  const close = (): Promise<void> => client.close();
  try {
    const { base } = address;
    return { source: await sourceFromIndex(new IndexClient(client, { name: base }), base), close };
  } catch (fault) {
    await close();
    throw fault;
  }
}

function indexOf(target: Target, { options }: CommandCall): { index: IndexClient; indexName: string } {
  const given = options.get("index");
  const client = target.client("vector", given);
  const indexName = given ?? target.tenants.indexes[0]?.name ?? "";
  const { requestBytesMax } = target;
  return { index: new IndexClient(client, { name: `the index ${indexName}`, requestBytesMax }), indexName };
}

/** With both flags, the interrupted transfer continues, and what follows it is replaced. */
function choicesOf({ options }: CommandCall): { namespace: string | undefined; replaces: boolean; resumes: boolean } {
  return {
    namespace: options.get("namespace"),
    replaces: options.has("replace"),
    resumes: options.has("resume"),
  };
}

function printReport(report: TransferReport, done: string, { print }: CommandCall): 0 | 1 {
  for (const line of reportLines(report, done)) print(line);
  for (const mismatch of report.mismatches) print(`problem: ${mismatch}`);
  return report.mismatches.length === 0 ? 0 : 1;
}
