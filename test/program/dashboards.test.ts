/**
 * Compares the dashboard and the alert rules with the metrics of the real
 * program: every metric that they query exists, and no label has a caller's text.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Metrics, printMetrics } from "../../src/kernel/metrics.ts";
import { measureNode, measureShards, measureShipping, shardFigures } from "../../src/program/cluster/shard-figures.ts";
import { measureFollowedArea, measureFollower } from "../../src/program/metrics/follower.ts";
import { newRecord } from "../../src/replication/follow/record.ts";
import { noRequests } from "../../src/replication/objects/store-requests.ts";
import { localCertificates } from "../harness/local-certificates.ts";
import { type RunningProgram, repositoryRoot, startProgram } from "./program-process.ts";

const timeout = 60_000;

interface Figure {
  readonly kind: string;
  /** The labels of all its series. */
  readonly labels: ReadonlySet<string>;
}

let directory = "";
let text = "";
/** By the name of a family. */
const figures = new Map<string, Figure>();

/** Text of a caller, in every place that could become a label. */
const CANARY = "canary";

before(
  async () => {
    directory = mkdtempSync(join(tmpdir(), "larder-test-"));
    const [{ certificate, key }] = localCertificates;
    writeFileSync(join(directory, "cert.pem"), certificate);
    writeFileSync(join(directory, "key.pem"), key);
    const tls = ["--resp-tls-cert", join(directory, "cert.pem"), "--resp-tls-key", join(directory, "key.pem")];
    await using program = await startProgram("serve", {
      args: ["--data-dir", join(directory, "data"), "--resp-port", "0", ...tls, "--replicate", `file://${directory}`],
    });
    await leaveCanaries(program);
    text = await (await fetch(`${program.adminUrl}/metrics`)).text();
    readFigures(text);
    readFigures(clusterText());
    readFigures(followerText());
  },
  { timeout },
);

after(() => rmSync(directory, { recursive: true, force: true }));

async function leaveCanaries({ storeUrl, storeToken, environment }: RunningProgram): Promise<void> {
  const ofStore = { authorization: `Bearer ${storeToken}` };
  // The delay prevents look-ups and calls during the test.
  const ofMessaging = { authorization: `Bearer ${environment["QSTASH_TOKEN"]}`, "upstash-delay": "1h" };
  const ofVector = { authorization: `Bearer ${environment["UPSTASH_VECTOR_REST_TOKEN"]}` };
  const messaging = environment["QSTASH_URL"];
  const vector = environment["UPSTASH_VECTOR_REST_URL"];
  const calls: readonly (readonly [string, RequestInit])[] = [
    [storeUrl, { method: "POST", headers: ofStore, body: JSON.stringify([CANARY, CANARY]) }],
    [`${storeUrl}/set/${CANARY}/${CANARY}`, { headers: ofStore }],
    [`${storeUrl}/${CANARY}/${CANARY}`, { headers: ofStore }],
    [storeUrl, { headers: { authorization: `Bearer ${CANARY}` } }],
    [`${messaging}/v2/enqueue/${CANARY}/https://${CANARY}.test/${CANARY}`, { method: "POST", headers: ofMessaging }],
    [`${messaging}/v2/${CANARY}`, { headers: ofMessaging }],
    [`${vector}/query/${CANARY}`, { method: "POST", headers: ofVector, body: "{}" }],
    [`${vector}/${CANARY}`, { method: "PUT", headers: ofVector, body: "{}" }],
  ];
  for (const [url, init] of calls) await (await fetch(url, init)).arrayBuffer();
}

/** The metrics that only a node of a cluster has: cluster/handover.test.ts compares them with those of a real one. */
function clusterText(): string {
  const metrics = new Metrics();
  measureNode(metrics, () => ({ leaseMs: 5_000, skewMs: 0, livingNodes: 1 }));
  const own = {
    ...{ state: undefined, suspendedFor: undefined, takeovers: 0 },
    ...{ missing: { bytes: 0, ms: 0 }, readFormat: 1 },
  };
  measureShards(metrics, () => [shardFigures(1, undefined, own)]);
  measureShipping(metrics, 1, () => ({ unshippedBytes: 0, lagMs: 0, healCount: 0 }));
  return printMetrics([{ labels: { area: "store" }, families: metrics.snapshot() }]);
}

/** The metrics that only `larder follow` has: cli/follow/admin-port.test.ts has their values. */
function followerText(): string {
  const [metrics, ofArea] = [new Metrics(), new Metrics()];
  const record = newRecord("");
  measureFollower(metrics, { phase: () => "waiting", record: () => record, failures: () => 0, requests: noRequests });
  measureFollowedArea(ofArea, { nowMs: () => 2, completeToMs: () => 1, applied: () => undefined });
  return printMetrics([
    { labels: {}, families: metrics.snapshot().filter(({ name }) => name.startsWith("larder_follower_")) },
    { labels: { area: "store" }, families: ofArea.snapshot() },
  ]);
}

function readFigures(text: string): void {
  for (const [, name = "", kind = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const labels = new Set<string>();
    for (const line of text.split("\n")) {
      const [, named = "", pairs = ""] = /^([a-z_]+)\{(.*)\} \S+$/.exec(line) ?? [];
      if (!namesOf(name, kind).includes(named)) continue;
      for (const [, label = ""] of pairs.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) labels.add(label);
    }
    figures.set(name, { kind, labels });
  }
}

/** The names of a family in queries. */
function namesOf(name: string, kind: string): readonly string[] {
  return kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

interface Query {
  readonly where: string;
  readonly expression: string;
}

function dashboardQueries(): readonly Query[] {
  const path = "deploy/grafana-dashboard.json";
  const queries: Query[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (key === "expr" && typeof member === "string") queries.push({ where: path, expression: member });
      else walk(member);
    }
  };
  walk(JSON.parse(readFileSync(join(repositoryRoot, path), "utf8")));
  return queries;
}

function alertQueries(): readonly Query[] {
  const path = "deploy/prometheus-alerts.yaml";
  const rules = readFileSync(join(repositoryRoot, path), "utf8");
  return Array.from(rules.matchAll(/^\s+expr: (.+)$/gm), ([, expression = ""]) => ({ where: path, expression }));
}

/** Metrics and labels that Prometheus adds. */
const metricsOfPrometheus = new Set(["up"]);
const labelsOfPrometheus = new Set(["instance", "job"]);

test("the program has every metric and label that the dashboard and the alert rules name", () => {
  assert.ok(dashboardQueries().length > 20 && alertQueries().length > 5, "the queries are found");
  const known = new Map<string, Figure>();
  for (const [name, figure] of figures) for (const each of namesOf(name, figure.kind)) known.set(each, figure);
  for (const { where, expression } of [...dashboardQueries(), ...alertQueries()]) {
    // A word before a selector is a metric, and so is a word with a prefix of larder's metrics.
    const named = expression.match(/\b(?:larder|process)_\w+|\b\w+(?=\{)/g) ?? [];
    assert.ok(named.length > 0, `${where}: ${expression} names no metric`);
    for (const name of named) {
      assert.ok(known.has(name) || metricsOfPrometheus.has(name), `${where}: the program has no metric ${name}`);
    }
    const labels = Array.from(expression.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g), ([, label = ""]) => label);
    for (const [, list = ""] of expression.matchAll(/\bby \(([^)]*)\)/g)) labels.push(...list.split(/,\s*/));
    for (const label of labels) {
      const exists = labelsOfPrometheus.has(label) || named.some((name) => known.get(name)?.labels.has(label));
      assert.ok(exists, `${where}: ${expression} names the label ${label}, which its metric does not have`);
    }
  }
});

// The operator chooses the values of `database` and `tenant`. A family has at most 1,000 combinations
// (kernel/metrics.test.ts).
const ownLabels = new Set(
  "area command database filter index kind le listener node outcome phase reason route shard state status tenant topk version".split(
    " ",
  ),
);

test("only known labels exist, and none has the text of a caller", () => {
  const found = new Set([...figures.values()].flatMap(({ labels }) => [...labels]));
  assert.deepEqual(
    [...found].filter((label) => !ownLabels.has(label)),
    [],
  );
  assert.match(
    text,
    /^larder_http_requests_total\{area="messaging",route="C POST \/v2\/enqueue\/:queueName\/\*",status="200"\} 1$/m,
  );
  assert.equal(text.toLowerCase().includes(CANARY), false);
});

test("an alert fires while an area refuses writes, whatever the status of its errors", () => {
  const fires = alertQueries().some(({ expression }) => expression.includes("larder_journal_refusing) > 0"));
  assert.equal(fires, true);
  assert.deepEqual([...(figures.get("larder_journal_refusing")?.labels ?? [])], ["area"]);
});

test("a server without a cluster has no metric of a cluster", () => {
  assert.equal(text.includes("larder_cluster_"), false);
});
