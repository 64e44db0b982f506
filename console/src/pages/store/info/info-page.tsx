/** The state of a database by INFO: memory, keys, hit rate, clients, commands. */
import "../store.css";
import { useEffect, useState } from "preact/hooks";
import { useLoad } from "../../../api/load.ts";
import { Button } from "../../../parts/button.tsx";
import { Chart } from "../../../parts/chart.tsx";
import { Code } from "../../../parts/code.tsx";
import { bytesText, countText, durationText, shortCount } from "../../../parts/format.ts";
import { Card, Facts, PageHead } from "../../../parts/page.tsx";
import { ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import type { PageProps } from "../../pages.ts";
import { type CommandUse, commandUses, keyspaceOf, numberIn, type Report, readReport } from "./info.ts";

const EVERY_MS = 10_000;
/** An hour. */
const SAMPLES_MAX = 360;

interface Sample {
  /** Unix seconds. */
  readonly at: number;
  readonly commandsPerSecond: number;
  readonly memoryBytes: number;
}

export default function InfoPage({ params: { tenant: database = "" } }: PageProps) {
  const report = useLoad((signal) => readReport(database, signal), [database], { everyMs: EVERY_MS });
  const samples = useSamples(database, report.value);
  const { value } = report;
  return (
    <>
      <PageHead
        title="Info"
        lead={value !== undefined && `Up for ${durationText(numberIn(value, "Server", "uptime_in_seconds") * 1_000)}`}
        actions={<Button onClick={report.reload}>Refresh</Button>}
      />
      {report.error !== undefined && <ErrorBox error={report.error} onRetry={report.reload} />}
      {value === undefined && report.error === undefined && <Loading />}
      {value !== undefined && <Cards report={value} />}
      <div class="cards">
        <Card title="Commands per second">
          <Chart
            label="Commands per second since this page was opened"
            times={samples.map(({ at }) => at)}
            series={[{ label: "Commands per second", values: samples.map((one) => one.commandsPerSecond) }]}
            format={shortCount}
          />
        </Card>
        <Card title="Memory">
          <Chart
            label="Memory since this page was opened"
            times={samples.map(({ at }) => at)}
            series={[{ label: "Memory", values: samples.map((one) => one.memoryBytes) }]}
            format={bytesText}
          />
        </Card>
      </div>
      {value !== undefined && <Uses report={value} />}
      {value !== undefined && <Whole report={value} />}
    </>
  );
}

function Cards({ report }: { report: Report }) {
  const number = (section: string, name: string): number => numberIn(report, section, name);
  const { keys, withExpiry } = keyspaceOf(report);
  const limit = number("Memory", "maxmemory");
  const hits = number("Stats", "keyspace_hits");
  const misses = number("Stats", "keyspace_misses");
  return (
    <div class="cards">
      <Card title="Memory">
        <Facts
          rows={[
            ["Used by the keys", bytesText(number("Memory", "used_memory"))],
            ["Peak", bytesText(number("Memory", "used_memory_peak"))],
            ["Limit", limit === 0 ? "none" : bytesText(limit)],
            ["At the limit", report.get("Memory")?.get("maxmemory_policy")],
            ["Whole process", bytesText(number("Memory", "used_memory_rss"))],
          ]}
        />
      </Card>
      <Card title="Keys">
        <Facts
          rows={[
            ["Keys", countText(keys)],
            ["With an expiry", countText(withExpiry)],
            ["Hit rate", hits + misses === 0 ? "no reads yet" : `${((100 * hits) / (hits + misses)).toFixed(1)} %`],
            ["Hits, misses", `${countText(hits)}, ${countText(misses)}`],
            ["Expired", countText(number("Stats", "expired_keys"))],
            ["Evicted", countText(number("Stats", "evicted_keys"))],
          ]}
        />
      </Card>
      <Card title="Clients">
        <Facts
          rows={[
            ["RESP connections", countText(number("Clients", "connected_clients"))],
            ["Blocked", countText(number("Clients", "blocked_clients"))],
            ["Subscribed", countText(number("Clients", "pubsub_clients"))],
            ["Tracking keys", countText(number("Clients", "tracking_clients"))],
            ["Commands so far", countText(number("Stats", "total_commands_processed"))],
          ]}
        />
        <p class="hint">
          CLIENT LIST and CLIENT KILL work over RESP only: run redis-cli client list. HTTP requests have no lasting
          connection.
        </p>
      </Card>
    </div>
  );
}

const useColumns: readonly Column<CommandUse>[] = [
  { title: "Command", width: "minmax(8rem, 1fr)", cell: ({ name }) => name },
  { title: "Calls", width: "7rem", align: "right", cell: ({ calls }) => countText(calls) },
  {
    title: "Average time",
    width: "8rem",
    align: "right",
    cell: ({ usPerCall }) => (usPerCall < 1_000 ? `${Math.round(usPerCall)} µs` : durationText(usPerCall / 1_000)),
  },
  { title: "Failed", width: "6rem", align: "right", isWide: true, cell: ({ failed }) => countText(failed) },
];

function Uses({ report }: { report: Report }) {
  return (
    <Card title="Commands">
      <Table label="Commands" columns={useColumns} rows={commandUses(report)} keyOf={({ name }) => name} />
    </Card>
  );
}

function Whole({ report }: { report: Report }) {
  const text = [...report]
    .map(([section, values]) => `# ${section}\n${[...values].map(([name, value]) => `${name}:${value}`).join("\n")}`)
    .join("\n\n");
  return (
    <details class="card">
      <summary>The whole report</summary>
      <Code label="INFO" text={text} />
    </details>
  );
}

/** The reports since the page was opened. */
function useSamples(database: string, report: Report | undefined): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => setSamples([]), [database]);
  useEffect(() => {
    if (report === undefined) return;
    const sample = {
      at: Date.now() / 1_000,
      commandsPerSecond: numberIn(report, "Stats", "instantaneous_ops_per_sec"),
      memoryBytes: numberIn(report, "Memory", "used_memory"),
    };
    setSamples((old) => [...old, sample].slice(-SAMPLES_MAX));
  }, [report]);
  return samples;
}
