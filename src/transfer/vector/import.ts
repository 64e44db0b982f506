/**
 * `larder import vector`: copies records of another index, or of a file, into an
 * index.
 *
 * (1) A namespace must be empty before it is filled, or is emptied with
 *     `--replace`: its content can then be compared with the source.
 * (2) Progress is stored only for records that the index has acknowledged. A
 *     repeated upsert changes nothing, so an import may repeat from any earlier
 *     place.
 * (3) A filled namespace is read once, and its sum is compared with the sent
 *     records.
 * (4) An index is not emptied to be filled from itself.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { secretBytes } from "../../kernel/random.ts";
import type { Progress } from "../../program/cli/progress.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { type IndexClient, mismatchOf } from "./index-client.ts";
import { addTexts, counted, readTally, type TransferReport } from "./report.ts";
import type { Step, VectorSource } from "./source.ts";
import { StateFile, type TransferState } from "./state.ts";
import { isSameTally, Tally } from "./tally.ts";

export interface VectorImport {
  readonly source: VectorSource;
  readonly index: IndexClient;
  readonly indexName: string;
  /** The directory with the state of interrupted imports. */
  readonly stateDirectory: string;
  /** Only this namespace. */
  readonly namespace: string | undefined;
  /** Whether namespaces with records are emptied. */
  readonly replaces: boolean;
  readonly resumes: boolean;
  readonly clock: Clock;
  readonly progress: Progress;
}

const MARK_BYTES = 8;

interface Filling extends VectorImport {
  readonly stateFile: StateFile;
  readonly subject: string;
  readonly report: TransferReport;
  /** The record counts of the index's namespaces before. */
  readonly countsBefore: ReadonlyMap<string, number>;
}

/** Rejects with a `StartRefusal`; the work done so far is kept for --resume. */
export async function importVectors(wanted: VectorImport): Promise<TransferReport> {
  const { source, index, indexName, namespace, replaces, resumes, clock, progress } = wanted;
  const { facts, counts: countsBefore } = await index.info();
  const mismatch = mismatchOf(source.facts, facts);
  if (mismatch !== undefined)
    throw new StartRefusal(
      `${source.name} ${mismatch.replace("the index", `the index ${indexName}`)}: records of one cannot be in the other`,
    );

  const subject = JSON.stringify(["import", source.identity, indexName, namespace ?? null]);
  const stateFile = new StateFile(statePath(wanted), clock);
  const before = resumes ? stateFile.read(subject) : undefined;
  if (before === undefined) stateFile.remove();
  const names = namespace === undefined ? [...source.counts.keys()] : [namespace];
  if (namespace !== undefined && !source.counts.has(namespace))
    throw new StartRefusal(`${source.name} has no namespace ${JSON.stringify(namespace)}`);
  if (!replaces) {
    // Namespaces that an interrupted import has filled are its own.
    const done = before === undefined ? -1 : names.indexOf(before.namespace);
    refuseFilled(names.slice(done + 1), countsBefore, indexName);
  }
  if (replaces && before === undefined) await refuseItself(wanted, countsBefore);
  const count = names.reduce((sum, name) => sum + (source.counts.get(name) ?? 0), 0);
  // Each record is read once at the source and once in the index.
  progress.expect(2 * count, before === undefined ? 0 : 2 * before.total.count + before.tally.count);
  const report: TransferReport = {
    total: new Tally(before?.total),
    namespaces: [],
    namespaceCount: before?.namespaceCount ?? 0,
    mismatches: [],
  };
  const filling: Filling = { ...wanted, stateFile, subject, report, countsBefore };
  try {
    await fill(filling, before);
    await compareCounts(filling);
  } catch (fault) {
    await stateFile.keep();
    throw stateFile.hinted(fault);
  }
  stateFile.remove();
  return report;
}

/** One file for each pair of source and index; names of users never become file names. */
function statePath({ source, indexName, stateDirectory }: VectorImport): string {
  const pair = createHash("sha256")
    .update(JSON.stringify([source.name, indexName]))
    .digest("hex");
  return join(stateDirectory, `import-${pair.slice(0, 32)}.json`);
}

async function fill(filling: Filling, before: TransferState | undefined): Promise<void> {
  const { source, namespace, index, countsBefore, stateFile, subject, report, progress } = filling;
  let name = before?.namespace ?? "";
  let tally = new Tally(before?.tally);
  for await (const step of source.walk(namespace, before)) {
    switch (step.kind) {
      case "begin":
        name = step.namespace;
        tally = new Tally();
        // keeps (1)
        if ((countsBefore.get(name) ?? 0) > 0) await index.reset(name);
        break;
      case "records": {
        if (step.texts.length > 0) {
          addTexts(tally, name, step.texts);
          await index.upsert(name, step.texts);
          progress.add(step.texts.length);
        }
        // keeps (2)
        const isDue = stateFile.note({
          subject,
          namespace: name,
          cursor: step.cursor,
          tally: tally.state,
          total: report.total.state,
          namespaceCount: report.namespaceCount,
          bytes: 0,
        });
        if (isDue) await stateFile.keep();
        break;
      }
      case "end":
        await check(filling, { name, tally, step });
        break;
      default: {
        const never: never = step;
        throw new Error(`Unknown step ${String(never)}`);
      }
    }
  }
}

/** keeps (1), before anything is changed. */
function refuseFilled(names: readonly string[], counts: ReadonlyMap<string, number>, indexName: string): void {
  const filled = names.find((name) => (counts.get(name) ?? 0) > 0);
  if (filled === undefined) return;
  throw new StartRefusal(
    `The namespace ${JSON.stringify(filled)} of the index ${indexName} holds ${counted(counts.get(filled) ?? 0, "record")} already: empty it with --replace, or continue an interrupted import with --resume`,
  );
}

/**
 * The address of an index has many spellings. If both have the same record counts in all namespaces, one record in a new
 * namespace shows whether they are the same index. keeps (4)
 */
async function refuseItself(
  { source, index, indexName }: VectorImport,
  countsBefore: ReadonlyMap<string, number>,
): Promise<void> {
  const isAsMany = source.counts.entries().every(([name, count]) => count === (countsBefore.get(name) ?? 0));
  const record = source.hasNamespace !== undefined && isAsMany ? await firstRecord(source) : undefined;
  if (record === undefined) return;
  const mark = `larder-import-${secretBytes(MARK_BYTES).toString("hex")}`;
  await index.upsert(mark, [record]);
  const isItself = await source.hasNamespace?.(mark).finally(() => index.deleteNamespace(mark));
  if (isItself === true)
    throw new StartRefusal(
      `${source.name} is the index ${indexName} itself: --replace would empty it before it is read`,
    );
}

async function firstRecord(source: VectorSource): Promise<string | undefined> {
  for await (const step of source.walk(undefined, undefined)) {
    if (step.kind === "records" && step.texts.length > 0) return step.texts[0];
  }
  return undefined;
}

/** keeps (3) */
async function check(
  { source, index, report, progress }: Filling,
  { name, tally, step }: { name: string; tally: Tally; step: Step & { kind: "end" } },
): Promise<void> {
  const shown = JSON.stringify(name);
  const sent = tally.state;
  if (step.tally !== undefined && !isSameTally(step.tally, sent))
    report.mismatches.push(
      `${source.name} states that ${shown} has ${counted(step.tally.count, "record")} with the digest ${step.tally.digest}, but has ${counted(sent.count, "record")} with ${sent.digest}: it is damaged`,
    );
  const found = sent.count === 0 ? sent : await readTally(index, name, progress);
  if (!isSameTally(found, sent))
    report.mismatches.push(
      `of the namespace ${shown} ${counted(sent.count, "record")} with the digest ${sent.digest} were sent, but the index has ${counted(found.count, "record")} with ${found.digest}: the source or the index was changed meanwhile`,
    );
  report.total.addAll(sent);
  report.namespaceCount += 1;
  report.namespaces.push({ name, count: sent.count });
}

/** A cursor may be an offset: a source that shrinks while it is read hides records from it. */
async function compareCounts({ source, report }: Filling): Promise<void> {
  const counts = await source.countsNow?.();
  if (counts === undefined) return;
  for (const { name, count } of report.namespaces) {
    const now = counts.get(name) ?? 0;
    if (now !== count)
      report.mismatches.push(
        `${counted(count, "record")} of the namespace ${JSON.stringify(name)} were read, but ${source.name} counts ${now}: it was changed meanwhile`,
      );
  }
}
