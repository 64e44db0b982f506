/**
 * All figures of `GET /metrics`, from the functions that register them. They
 * are given nothing to measure, and nobody reads the figures.
 */
import { type FamilyFacts, Metrics } from "../../src/kernel/metrics.ts";
import { measureJournal } from "../../src/persistence/journal/journal-metrics.ts";
import { measureDirectory } from "../../src/program/areas/recover-area.ts";
import { measureDescriptors } from "../../src/program/listeners/descriptors.ts";
import { measureListeners } from "../../src/program/listeners/listener.ts";
import { measureMessaging } from "../../src/program/metrics/messaging.ts";
import { measureResp, measureStore, measureStreams } from "../../src/program/metrics/store.ts";
import { measureMemory, measureTenants } from "../../src/program/metrics/tenants.ts";
import { measureDisk, measureProcess, measureThread } from "../../src/program/metrics/thread.ts";
import { measureTurns } from "../../src/program/metrics/turns.ts";
import { measureVectors } from "../../src/program/metrics/vector.ts";
import { code, header, type Page, row } from "./page.ts";

export const metricsPage: Page = {
  file: "metrics.md",
  title: "Metrics",
  about: "every figure of `GET /metrics`, with its type and its labels",
  lines: metricLines,
};

interface Chapter {
  readonly title: string;
  readonly about: string;
  readonly register: (metrics: Metrics) => void;
}

/** What is measured is asked for figures alone. */
const nothing = {} as never;

const chapters: readonly Chapter[] = [
  {
    title: "The process",
    about: "Once; the disk where there is a data directory.",
    register(metrics) {
      measureProcess(metrics, "");
      measureDescriptors(metrics, { limit: 0, isShort: () => false });
      measureDisk(metrics, () => 0);
    },
  },
  {
    title: "Threads",
    about: "For the main thread, and for each area that has a thread of its own.",
    register: (metrics) => measureThread(metrics)(),
  },
  {
    title: "HTTP",
    about: "For each area with a port of its own, for one port of all, and for the admin port.",
    register: (metrics) => void measureListeners(metrics),
  },
  {
    title: "Tenants",
    about: "For each area: its databases, indexes or users of messaging, the busiest first.",
    register(metrics) {
      measureTurns(metrics, nothing, "store");
      measureTenants(metrics, nothing);
    },
  },
  {
    title: "Memory",
    about: "For each area; areas that share a thread share its memory.",
    register: (metrics) => measureMemory(metrics, nothing),
  },
  {
    title: "Journals",
    about: "For each area that keeps something.",
    register(metrics) {
      measureJournal(metrics, nothing);
      measureDirectory(metrics, { bytes: () => 0, recoverySeconds: 0 });
    },
  },
  {
    title: "The store",
    about: "Those of RESP only with `--resp-port`.",
    register(metrics) {
      measureStore(metrics, nothing);
      measureStreams(metrics, nothing);
      measureResp(metrics, nothing);
    },
  },
  {
    title: "The vector index",
    about: "Of all indexes together.",
    register: (metrics) => measureVectors(metrics, nothing),
  },
  { title: "Messaging", about: "Of all users together.", register: (metrics) => measureMessaging(metrics, nothing) },
];

function metricLines(): readonly string[] {
  const lines = [
    "In the text format of Prometheus. The label `area` says which part of the server a figure is of; others stand beside each. A family has at most 1,000 combinations of labels, and what comes behind is counted under `other`.",
  ];
  for (const { title, about, register } of chapters) {
    const metrics = new Metrics();
    register(metrics);
    lines.push("", `## ${title}`, "", about, "", ...header("metric", "type", "labels", "meaning"));
    lines.push(...metrics.families.map(metricLine));
  }
  return lines;
}

function metricLine({ name, kind, labelNames, help }: FamilyFacts): string {
  return row(code(name), kind, labelNames.map(code).join(", "), help);
}
