/** All subjects that are measured in separate processes, and their parameters. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { peersFolder, peerVersion } from "../peers/modules.ts";
import type { DataSet } from "./data-set.ts";
import type { Answers, Order } from "./subject.ts";

export interface Subject {
  readonly name: string;
  /** The module of its `Open`. */
  readonly module: string;
  readonly opens: string;
  /** The npm package; undefined: none is needed. */
  readonly peer: string | undefined;
  /** Candidates of a walk, one measurement each; undefined: the default. */
  readonly efforts: readonly (number | undefined)[];
  /** The effort of filtered searches; null: it does not filter. */
  readonly filteredEffort: number | undefined | null;
  /** Scans every row, so it gets fewer queries, and none for very large sets. */
  readonly isExact: boolean;
}

export const names = {
  larder: "larder",
  engine: "larder, engine",
  exact: "larder, no graph",
  hnswlib: "hnswlib-node f32",
  usearchF16: "usearch f16",
  usearchF16Two: "usearch f16, built by 2 threads",
  usearchI8: "usearch i8 + 30 again",
  lance: "LanceDB",
  sqlite: "sqlite-vec",
  plain: "plain loop",
} as const;

export const efforts = [16, 32, 48, 64, 96, 128, 192, 256];

export const subjects: readonly Subject[] = [
  {
    name: names.larder,
    module: "./larder-subject.ts",
    opens: "openLarder",
    peer: undefined,
    efforts: [undefined, ...efforts],
    filteredEffort: undefined,
    isExact: false,
  },
  {
    name: names.exact,
    module: "./larder-subject.ts",
    opens: "openLarderExact",
    peer: undefined,
    efforts: [undefined],
    filteredEffort: undefined,
    isExact: true,
  },
  {
    name: names.hnswlib,
    module: "./peer-subjects.ts",
    opens: "openHnswlib",
    peer: "hnswlib-node",
    efforts,
    filteredEffort: 64,
    isExact: false,
  },
  {
    name: names.usearchF16,
    module: "./peer-subjects.ts",
    opens: "openUsearchF16",
    peer: "usearch",
    efforts,
    filteredEffort: null,
    isExact: false,
  },
  {
    name: names.usearchI8,
    module: "./peer-subjects.ts",
    opens: "openUsearchI8",
    peer: "usearch",
    efforts,
    filteredEffort: null,
    isExact: false,
  },
  {
    name: names.lance,
    module: "./peer-subjects.ts",
    opens: "openLanceDb",
    peer: "@lancedb/lancedb",
    efforts: [64, 128, 256],
    filteredEffort: 128,
    isExact: false,
  },
  {
    name: names.sqlite,
    module: "./peer-subjects.ts",
    opens: "openSqliteVec",
    peer: "sqlite-vec",
    efforts: [undefined],
    filteredEffort: undefined,
    isExact: true,
  },
  {
    name: names.plain,
    module: "./plain-subject.ts",
    opens: "openPlain",
    peer: undefined,
    efforts: [undefined],
    filteredEffort: undefined,
    isExact: true,
  },
];

/** The subjects of the part `equal`, which are searched with the efforts that reach a recall. */
export const equalSubjects: readonly Subject[] = [
  {
    name: names.engine,
    module: "./larder-subject.ts",
    opens: "openLarderEngine",
    peer: undefined,
    efforts,
    filteredEffort: null,
    isExact: false,
  },
  {
    name: names.hnswlib,
    module: "./peer-subjects.ts",
    opens: "openHnswlib",
    peer: "hnswlib-node",
    efforts,
    filteredEffort: null,
    isExact: false,
  },
  {
    name: names.usearchF16Two,
    module: "./peer-subjects.ts",
    opens: "openUsearchF16Two",
    peer: "usearch",
    efforts,
    filteredEffort: null,
    isExact: false,
  },
];

export function missingPeer({ peer }: Subject): string | undefined {
  if (peer === undefined || peerVersion(peer) !== undefined) return undefined;
  return `${peer} is not in ${peersFolder}/node_modules`;
}

export interface RunningSubject {
  readonly subject: Subject;
  ask<Kind extends Order["kind"]>(order: Extract<Order, { readonly kind: Kind }>): Promise<Answers[Kind]>;
  stop(): Promise<void>;
}

const PROCESS = fileURLToPath(new URL("subject-process.ts", import.meta.url));
/** Row data is outside the heap; LanceDB's rows pass through it. */
const HEAP_MB = 4_096;
/** `BENCH_NODE_OPTIONS="--cpu-prof --cpu-prof-dir=…"` for a profile of every subject. */
const nodeOptions = (process.env["BENCH_NODE_OPTIONS"] ?? "").split(" ").filter((option) => option !== "");

export async function startSubject(subject: Subject, set: DataSet, isFiltered: boolean): Promise<RunningSubject> {
  const child = fork(PROCESS, [subject.module, subject.opens, JSON.stringify({ ...set, isFiltered })], {
    execArgv: ["--expose-gc", `--max-old-space-size=${HEAP_MB}`, ...nodeOptions],
    env: { ...process.env, BENCH_PEERS: peersFolder },
  });
  const gone = once(child, "exit");
  await answerOf(child, subject.name);
  return {
    subject,
    ask: async (order) => {
      child.send(order);
      return (await answerOf(child, subject.name)) as never;
    },
    stop: async () => {
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

function answerOf(child: ChildProcess, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error(`the process of ${name} ended`));
    child.once("exit", ended);
    child.once("message", (answer) => {
      child.removeListener("exit", ended);
      resolve(answer);
    });
  });
}
