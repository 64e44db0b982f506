/** The state of the server at a glance, and how to connect to it. */
import "./home.css";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../../api/admin.ts";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Chart } from "../../parts/chart.tsx";
import { bytesText, countText, durationText, shareText, shortCount } from "../../parts/format.ts";
import { Card, Facts, PageHead } from "../../parts/page.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import { type ClusterNode, Nodes, type Shard, Shards } from "./cluster.tsx";
import { Connect } from "./connect.tsx";
import { Copy, type CopyState } from "./copy.tsx";
import { latencyBetween, type MeasuredArea, type Reading, rateBetween } from "./metrics.ts";
import { Problems } from "./problems.tsx";

type Figures = Readonly<Record<string, number>>;

interface Area extends MeasuredArea {
  readonly state: string;
  /** In a cluster: its shard, or its shards if it has several. */
  readonly shard?: Shard;
  readonly shards?: readonly Shard[];
}

interface Overview {
  readonly mode: "dev" | "serve";
  readonly version: string;
  readonly node: string;
  readonly readiness: {
    readonly isReady: boolean;
    readonly areas: Readonly<Record<string, string>>;
    readonly reasons: readonly string[];
  };
  readonly addresses: Readonly<Record<string, string>>;
  readonly stats: {
    readonly server: Figures;
    readonly areas: Readonly<Record<string, Area>>;
    /** Absent: the data directory is not copied. */
    readonly replication?: CopyState;
    /** Absent: a single server. */
    readonly cluster?: { readonly node: string; readonly nodes: readonly ClusterNode[] };
  };
  readonly problems: readonly Problem[];
}

const EVERY_MS = 5_000;
/** Ten minutes. */
const READINGS_MAX = 121;
const AREAS = ["store", "messaging", "vector"] as const;

export default function Home() {
  const { value, error, reload } = useLoad((signal) => request<Overview>("overview", { signal }), [], {
    everyMs: EVERY_MS,
  });
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const { readiness, stats, problems } = value;
  const { cluster, replication } = stats;
  // A standby is not ready, and nothing is wrong with it.
  const standbys = AREAS.filter((name) => readiness.reasons.includes(`${name} is standby`));
  const faults = readiness.reasons.filter((reason) => !standbys.some((name) => reason === `${name} is standby`));
  const shards = AREAS.flatMap((name) => {
    const { shard, shards = shard === undefined ? [] : [shard] } = stats.areas[name] ?? {};
    return shards.map((each) => ({ ...each, area: titleOf[name] }));
  });
  return (
    <>
      <PageHead
        title="Home"
        lead={
          <>
            larder {value.version} on Node.js {value.node}
            {cluster !== undefined && <>, node {cluster.node}</>}
          </>
        }
        actions={<Ready isReady={readiness.isReady} isStandby={faults.length === 0} />}
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {standbys.length > 0 && (
        <p class="hint">
          This node is a standby for {standbys.join(", ")}: it neither owns their shards nor forwards requests to the
          owners.
        </p>
      )}
      {faults.map((reason) => (
        <ErrorBox key={reason} error={reason} />
      ))}
      <div class="cards">
        {AREAS.map((name) => {
          const area = stats.areas[name];
          if (area === undefined) return null;
          return (
            <Card key={name} title={titleOf[name]} actions={<Badge tone={toneOf(area.state)}>{area.state}</Badge>}>
              <Facts
                rows={Object.entries(area.figures).map(([figure, count]) => [
                  wordsOf(figure),
                  figureText(figure, count),
                ])}
              />
            </Card>
          );
        })}
        <Card title="Server">
          <Facts
            rows={Object.entries(stats.server).map(([figure, count]) => [wordsOf(figure), figureText(figure, count)])}
          />
        </Card>
      </div>
      {problems.length > 0 && <Problems problems={problems} />}
      {cluster !== undefined && <Nodes nodes={cluster.nodes} self={cluster.node} />}
      {shards.length > 0 && <Shards shards={shards} />}
      {replication !== undefined && <Copy copy={replication} />}
      <Charts stats={stats} />
      <Connect addresses={value.addresses} mode={value.mode} />
    </>
  );
}

function Ready({ isReady, isStandby }: { isReady: boolean; isStandby: boolean }) {
  if (isReady) return <Badge tone="good">Ready</Badge>;
  return isStandby ? <Badge tone="warn">Standby</Badge> : <Badge tone="bad">Not ready</Badge>;
}

const titleOf = { store: "Store", messaging: "Messaging", vector: "Vector" } as const;

function toneOf(state: string): Tone {
  if (state === "serving") return "good";
  return state === "failed" ? "bad" : "warn";
}

const furtherWords: Readonly<Record<string, string>> = {
  calls: "deliveries under way",
  recall: "lowest recall",
  recallMissed: "ranges below their target",
  rowBytes: "memory of vectors",
  rowFileBytes: "vectors on disk",
  graphBytes: "memory of graphs",
  directoryBytes: "on disk",
  diskFreeBytes: "disk free",
  unshippedBytes: "not committed",
  unshippedSeconds: "commit lag",
  uncopiedBytes: "not copied",
  uncopiedSeconds: "copy behind",
};

/** Figures from 0 to 1. */
const shares: readonly string[] = ["recall"];

/** `deadLetters` is `dead letters`; the value has the unit. */
function wordsOf(figure: string): string {
  const words = furtherWords[figure];
  if (words !== undefined) return words;
  return figure.replace(/(Bytes|Seconds)$/, "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function figureText(figure: string, count: number): string {
  if (figure.endsWith("Bytes")) return bytesText(count);
  if (figure.endsWith("Seconds")) return durationText(count * 1_000);
  if (shares.includes(figure)) return shareText(count);
  return countText(Math.round(count));
}

/** Requests and latencies of the last ten minutes in which the page was open. `stats`: the latest reading. */
function Charts({ stats }: { stats: Overview["stats"] }) {
  const readings = useRef<Reading[]>([]);
  const [, update] = useState(0);
  useEffect(() => {
    readings.current = [...readings.current.slice(1 - READINGS_MAX), { atMs: Date.now(), areas: stats.areas }];
    update((old) => old + 1);
  }, [stats]);
  const pairs = readings.current.slice(1).map((after, index) => [readings.current[index] as Reading, after] as const);
  const times = pairs.map(([, { atMs }]) => atMs / 1_000);
  const figures = (of: (before: Reading, after: Reading, area: string) => number | null) =>
    AREAS.map((area) => ({ label: titleOf[area], values: pairs.map(([before, after]) => of(before, after, area)) }));
  return (
    <div class="cards charts">
      <Card title="Requests per second">
        <Chart label="Requests per second by area" times={times} series={figures(rateBetween)} format={shortCount} />
      </Card>
      <Card title="Latency, 99 of 100 requests">
        <Chart
          label="Latency in ms by area"
          times={times}
          series={figures((before, after, area) => latencyBetween(before, after, { area, share: 0.99 }))}
          format={(ms) => `${ms < 1 ? ms.toFixed(2) : Math.round(ms)} ms`}
        />
      </Card>
    </div>
  );
}
