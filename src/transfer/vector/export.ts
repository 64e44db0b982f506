/**
 * `larder export vector`: all namespaces of an index into a file.
 *
 *     docs.ndjson.partial    the file being written; becomes docs.ndjson when it is complete
 *     docs.ndjson.state      the progress, for --resume
 *
 * Other clients may write meanwhile, and a cursor of another service may be an
 * offset, so that a delete moves records past it. Therefore each namespace is read
 * again, and the sums of both readings are compared.
 */
import { renameSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { assertOutputFile } from "../../program/cli/backups/output-file.ts";
import type { Progress } from "../../program/cli/progress.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { NdjsonWriter } from "../ndjson-file.ts";
import { endLine, endOfLine, headLine, namespaceLine, recordLine } from "./file.ts";
import { FIRST_PAGE, type IndexClient } from "./index-client.ts";
import { addTexts, readTally, type TransferReport } from "./report.ts";
import { StateFile, type TransferState } from "./state.ts";
import { isSameTally, Tally } from "./tally.ts";

export interface VectorExport {
  readonly index: IndexClient;
  readonly indexName: string;
  readonly path: string;
  /** Only this namespace. */
  readonly namespace: string | undefined;
  /** Whether an existing file is replaced. */
  readonly replaces: boolean;
  readonly resumes: boolean;
  readonly clock: Clock;
  readonly progress: Progress;
}

interface Writing extends VectorExport {
  readonly writer: NdjsonWriter;
  readonly stateFile: StateFile;
  readonly subject: string;
  readonly report: TransferReport;
}

/** Rejects with a `StartRefusal`; the work done so far is kept for --resume. */
export async function exportVectors(wanted: VectorExport): Promise<TransferReport> {
  const { index, indexName, path, namespace, replaces, resumes, clock, progress } = wanted;
  assertOutputFile(path, { place: path, replaces });
  const subject = JSON.stringify(["export", indexName, namespace ?? null]);
  const stateFile = new StateFile(`${path}.state`, clock);
  const before = resumes ? stateFile.read(subject) : undefined;
  if (before === undefined) stateFile.remove();

  const { facts, counts } = await index.info();
  const names = (await index.namespaces()).filter((name) => namespace === undefined || name === namespace);
  const lost = [namespace, before?.namespace].find((name) => name !== undefined && !names.includes(name));
  if (lost !== undefined) throw new StartRefusal(`The index ${indexName} has no namespace ${JSON.stringify(lost)}`);
  const wantedCounts = new Map(names.map((name) => [name, counts.get(name) ?? 0]));
  const count = wantedCounts.values().reduce((sum, each) => sum + each, 0);
  // Each record is read twice.
  progress.expect(2 * count, before === undefined ? 0 : 2 * before.total.count + before.tally.count);

  const partialPath = `${path}.partial`;
  const writer = await NdjsonWriter.open(partialPath, before?.bytes ?? 0);
  const report: TransferReport = {
    total: new Tally(before?.total),
    namespaces: [],
    namespaceCount: before?.namespaceCount ?? 0,
    mismatches: [],
  };
  const writing: Writing = { ...wanted, writer, stateFile, subject, report };
  try {
    if (before === undefined) await writer.write([headLine({ facts, counts: wantedCounts })]);
    for (const name of names) {
      if (before === undefined || name > before.namespace) await writeNamespace(writing, name, undefined);
      else if (name === before.namespace) await writeNamespace(writing, name, before);
    }
    await writer.write([endLine({ namespaceCount: report.namespaceCount, ...report.total.state })]);
    await writer.sync();
  } catch (fault) {
    await keep(writing);
    throw stateFile.hinted(fault);
  } finally {
    await writer.close();
  }
  renameSync(partialPath, path);
  stateFile.remove();
  return report;
}

/** `before`: the progress of the interrupted export. */
async function writeNamespace(writing: Writing, name: string, before: TransferState | undefined): Promise<void> {
  const { index, writer, stateFile, subject, report, progress } = writing;
  const tally = new Tally(before?.tally);
  if (before === undefined) await writer.write([namespaceLine(name)]);
  let cursor = before === undefined ? FIRST_PAGE : before.cursor;
  while (cursor !== undefined) {
    const page = await index.range(name, cursor);
    addTexts(tally, name, page.records);
    await writer.write(page.records.map(recordLine));
    progress.add(page.records.length);
    cursor = page.next;
    const isDue = stateFile.note({
      subject,
      namespace: name,
      cursor,
      tally: tally.state,
      total: report.total.state,
      namespaceCount: report.namespaceCount,
      bytes: writer.bytes,
    });
    if (isDue) await keep(writing);
  }
  if (!isSameTally(await readTally(index, name, progress), tally.state))
    report.mismatches.push(`the namespace ${JSON.stringify(name)} changed during the export`);
  await writer.write([endOfLine(name, tally.state)]);
  report.total.addAll(tally.state);
  report.namespaceCount += 1;
  report.namespaces.push({ name, count: tally.state.count });
}

/** The data that the state describes must be on disk before the state. */
async function keep({ writer, stateFile }: Writing): Promise<void> {
  await writer.sync();
  await stateFile.keep();
}
