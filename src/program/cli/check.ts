/**
 * `larder check`: reads everything that `larder serve` reads at a start, the
 * PostgreSQL of a cluster and the store of a copy too, and prints each problem on a
 * line. Changes nothing, except that it tries conditional writes with a small object.
 * Invalid settings never get here, because every command reports them.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { assertNotForeign, checkDataDirectory } from "../../persistence/data-directory.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { DirectoryInUse } from "../../persistence/errors.ts";
import { damageOf, inspectStoredArea } from "../areas/inspect-area.ts";
import { ungivenSecrets } from "../cluster/given-secrets.ts";
import { assertNoNode, isNodeDirectory } from "../cluster/node-file.ts";
import { isClustered } from "../cluster/setting-rules.ts";
import {
  assertFiles,
  assertRestored,
  isReadableByOthers,
  readTokensFile,
  STORED_AREAS,
} from "../directory/data-directory.ts";
import { type DirectoryLock, lockDirectory } from "../directory/directory-lock.ts";
import { assertCanBeMade } from "../directory/make-directory.ts";
import { readCertificate } from "../listeners/certificate.ts";
import { directoryRefusal, StartRefusal } from "../refusal.ts";
import { respPlan, tlsPlan } from "../settings/plan.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { TOKENS_FILE } from "../tenants/stored-tokens.ts";
import { resolveTenants, secretPaths } from "../tenants/tokens.ts";
import { describeArea } from "./backups/describe-area.ts";
import { reportBytes } from "./progress.ts";

/** Prints the findings and returns the exit code: 0 if a start should succeed. */
export async function check(run: RunSettings, print: (line: string) => void): Promise<0 | 1> {
  const { settings, origins } = run;
  const problems: string[] = [];
  const directory = resolve(settings.dataDirectory ?? "");
  const tokensPath = join(directory, TOKENS_FILE);
  const attempt = async <Value>(step: () => Value | Promise<Value>): Promise<Value | undefined> => {
    try {
      return await step();
    } catch (fault) {
      const refusal = directoryRefusal(fault, directory, origins.dataDirectory.place);
      if (!(refusal instanceof StartRefusal)) throw fault;
      problems.push(refusal.message);
      return undefined;
    }
  };

  const stored = await attempt(() => readTokensFile(tokensPath));
  const resolved = resolveTenants(run, stored ?? {});
  problems.push(...resolved.problems, ...(isClustered(run) ? ungivenSecrets(resolved.tenants) : []));
  for (const tls of [tlsPlan(run), settings.respPort === undefined ? undefined : respPlan(run).tls]) {
    if (tls !== undefined) await attempt(() => readCertificate(tls));
  }
  for (const path of secretPaths(run, tokensPath))
    if (isReadableByOthers(path)) problems.push(`${path} can be read by other users: run chmod 600 on it`);
  if (problems.length === 0) print("configuration: ok");

  if (existsSync(directory)) {
    await attempt(() => {
      assertFiles(directory);
      assertRestored(directory);
      assertNotForeign(directory, readdirSync(directory), STORED_AREAS);
    });
  }
  const isUsed = existsSync(directory) && (await attempt(() => checkDataDirectory(fileDisk, directory, STORED_AREAS)));
  const isCache = isClustered(run) || isNodeDirectory(directory);
  if (isCache) {
    if (!isClustered(run)) await attempt(() => assertNoNode(directory));
    else if (problems.length === 0) print(`data directory ${directory}: a cache of the cluster`);
  } else if (isUsed === true) await checkAreas(directory, { run, print, problems, attempt });
  else if (problems.length === 0) {
    await attempt(() => assertCanBeMade(directory));
    if (problems.length === 0) print(`data directory ${directory}: the first start creates it`);
  }
  if (isClustered(run)) {
    const { checkCluster } = await import("../cluster/administer/check-cluster.ts");
    const cluster = await checkCluster(run, directory);
    problems.push(...cluster.problems);
    for (const warning of cluster.warnings) print(`warning: ${warning}`);
    if (cluster.problems.length === 0) print(`cluster ${cluster.id}: ok`);
  }
  const { replicate } = settings;
  if (replicate !== undefined) {
    const { checkCopyStore } = await import("./backups/copies.ts");
    const copy = await attempt(() => checkCopyStore(replicate));
    if (copy !== undefined) print(`copy ${copy}: ok`);
  }
  for (const problem of new Set(problems)) print(`problem: ${problem}`);
  return problems.length === 0 ? 0 : 1;
}

interface AreaCheck {
  readonly run: RunSettings;
  readonly print: (line: string) => void;
  readonly problems: string[];
  readonly attempt: <Value>(step: () => Value | Promise<Value>) => Promise<Value | undefined>;
}

async function checkAreas(directory: string, { run, print, problems, attempt }: AreaCheck): Promise<void> {
  let isInUse = false;
  const lock = await attempt(async (): Promise<DirectoryLock | undefined> => {
    try {
      return await lockDirectory(directory);
    } catch (fault) {
      if (!(fault instanceof DirectoryInUse)) throw fault;
      isInUse = true;
      return undefined;
    }
  });
  if (isInUse) print(`data directory ${directory}: in use by a running larder, which read it when it started`);
  if (lock === undefined) return;
  try {
    for (const area of STORED_AREAS) {
      const report = await attempt(() => reportBytes(run, (onBytes) => inspectStoredArea(directory, area, onBytes)));
      if (report?.fault !== undefined) problems.push(report.fault);
      else if (report !== undefined) print(describeArea(report));
      if (report !== undefined) problems.push(...damageOf([report]));
    }
  } finally {
    lock.release();
  }
}
