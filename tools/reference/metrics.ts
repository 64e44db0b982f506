/**
 * All metrics of `GET /metrics`, from the functions that register them. They get
 * empty objects to measure, and the values are never read.
 */
import { type FamilyFacts, Metrics } from "../../src/kernel/metrics.ts";
import { measureJournal } from "../../src/persistence/journal/journal-metrics.ts";
import { measureDirectory } from "../../src/program/areas/area-persistence.ts";
import { measureNode, measureShards, measureShipping } from "../../src/program/cluster/shard-figures.ts";
import { measureDescriptors } from "../../src/program/listeners/descriptors.ts";
import { measureListeners } from "../../src/program/listeners/listener.ts";
import { measureCopiedArea, measureCopy } from "../../src/program/metrics/copy.ts";
import { measureFollowedArea, measureFollower } from "../../src/program/metrics/follower.ts";
import { measureMessaging } from "../../src/program/metrics/messaging.ts";
import { measureSearch } from "../../src/program/metrics/search.ts";
import { measureResp, measureStore, measureStreams } from "../../src/program/metrics/store.ts";
import { measureMemory, measureTenants } from "../../src/program/metrics/tenants.ts";
import { measureDisk, measureProcess, measureThread } from "../../src/program/metrics/thread.ts";
import { measureTurns } from "../../src/program/metrics/turns.ts";
import { measureSearchThreads, measureVectors } from "../../src/program/metrics/vector.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

/** What is measured is asked for figures alone. */
const nothing = {} as never;

export const metricParts: Parts = {
  tables: {
    process: familiesOf((metrics) => {
      measureProcess(metrics, "");
      measureDescriptors(metrics, { limit: 0, isShort: () => false });
      measureDisk(metrics, () => 0);
    }),
    threads: familiesOf((metrics) => measureThread(metrics)()),
    http: familiesOf((metrics) => void measureListeners(metrics)),
    tenants: familiesOf((metrics) => {
      measureTurns(metrics, nothing, "store");
      measureTenants(metrics, nothing);
    }),
    memory: familiesOf((metrics) => measureMemory(metrics, nothing)),
    journals: familiesOf((metrics) => {
      measureJournal(metrics, nothing);
      measureDirectory(metrics, { bytes: () => 0, recoverySeconds: 0 });
    }),
    store: familiesOf((metrics) => {
      measureStore(metrics, nothing);
      measureSearch(metrics, nothing);
      measureStreams(metrics, nothing);
      measureResp(metrics, nothing);
    }),
    vector: familiesOf((metrics) => {
      measureVectors(metrics, nothing);
      measureSearchThreads(metrics, undefined);
    }),
    messaging: familiesOf((metrics) => measureMessaging(metrics, nothing)),
    replication: familiesOf((metrics) => {
      measureCopy(metrics, nothing);
      measureCopiedArea(metrics, nothing);
    }),
    follower: familiesOf((metrics) => {
      measureFollower(metrics, nothing);
      measureFollowedArea(metrics, nothing);
    }),
    cluster: familiesOf((metrics) => {
      measureNode(metrics, nothing);
      measureShards(metrics, nothing);
      measureShipping(metrics, 0, nothing);
    }),
  },
};

/** The table of the families that `register` adds. */
function familiesOf(register: (metrics: Metrics) => void): () => readonly string[] {
  return () => {
    const metrics = new Metrics();
    register(metrics);
    return [...header("metric", "type", "labels", "meaning"), ...metrics.families.map(metricLine)];
  };
}

function metricLine({ name, kind, labelNames, help }: FamilyFacts): string {
  return row(code(name), kind, labelNames.map(code).join(", "), help);
}
