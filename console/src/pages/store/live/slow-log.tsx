/** The slow log: commands that took longer than a threshold. */
import "../store.css";
import { useState } from "preact/hooks";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Button } from "../../../parts/button.tsx";
import { Code } from "../../../parts/code.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { durationText } from "../../../parts/format.ts";
import { Facts, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PageProps } from "../../pages.ts";
import { shownBytes } from "../values/bytes.ts";
import { BytesDialog } from "../values/bytes-dialog.tsx";
import { ask, askAll, bytesOf, listOf, mapOf, numberOf, type Reply, textOfReply } from "../values/run.ts";

interface SlowRow {
  readonly id: number;
  readonly atMs: number;
  readonly tookUs: number;
  readonly command: string;
  readonly client: string;
}

const ENTRIES_MAX = 1_000;
const EVERY_MS = 5_000;

const columns: readonly Column<SlowRow>[] = [
  { title: "Command", width: "minmax(8rem, 1fr)", cell: ({ command }) => <bdi class="bytes">{command}</bdi> },
  { title: "Took", width: "6rem", align: "right", cell: ({ tookUs }) => tookText(tookUs) },
  { title: "When", width: "9rem", isWide: true, cell: ({ atMs }) => <Time at={atMs} /> },
  { title: "Client", width: "10rem", isWide: true, cell: ({ client }) => client },
];

export default function SlowLog({ params: { tenant: database = "" } }: PageProps) {
  const [open, setOpen] = useState<SlowRow>();
  const [isSetting, setSetting] = useState(false);
  const log = useLoad((signal) => readLog(database, signal), [database], { everyMs: EVERY_MS });
  const { value } = log;
  return (
    <>
      <PageHead
        title="Slow log"
        lead={value === undefined ? "" : thresholdText(value.thresholdUs)}
        actions={
          <>
            <Button disabled={value === undefined} onClick={() => setSetting(true)}>
              Set the threshold
            </Button>
            <Action
              kind="danger"
              confirm="This removes all entries of the slow log."
              run={async () => {
                await ask(database, ["SLOWLOG", "RESET"]);
                log.reload();
              }}
            >
              Empty
            </Action>
          </>
        }
      />
      {log.error !== undefined && <ErrorBox error={log.error} onRetry={log.reload} />}
      {value === undefined && log.error === undefined && <Loading />}
      {value !== undefined && (
        <Table
          label="Slow commands"
          columns={columns}
          rows={value.rows}
          keyOf={({ id }) => `${id}`}
          onOpen={setOpen}
          empty={<Empty>No command has taken so long. Set a lower threshold to see more.</Empty>}
        />
      )}
      {open !== undefined && (
        <Dialog title="Slow command" onClose={() => setOpen(undefined)}>
          <Facts
            rows={[
              ["Took", tookText(open.tookUs)],
              ["When", <Time key="when" at={open.atMs} isExact />],
              ["Client", open.client],
            ]}
          />
          <Code label="Command" text={open.command} />
        </Dialog>
      )}
      {isSetting && value !== undefined && (
        <BytesDialog
          title="Set the threshold"
          action="Set"
          fields={[
            {
              label: "Microseconds",
              start: `${value.thresholdUs}`,
              hint: "Commands that take longer are logged; -1: none. It holds until the next start.",
            },
          ]}
          submit={async ([us = ""]) => {
            await ask(database, ["CONFIG", "SET", "slowlog-log-slower-than", us]);
            log.reload();
          }}
          onClose={() => setSetting(false)}
        />
      )}
    </>
  );
}

async function readLog(database: string, signal: AbortSignal): Promise<{ rows: SlowRow[]; thresholdUs: number }> {
  const commands = [
    ["SLOWLOG", "GET", ENTRIES_MAX],
    ["CONFIG", "GET", "slowlog-log-slower-than"],
  ];
  const [entries, config] = await askAll(database, commands, signal);
  return {
    rows: listOf(entries).map(rowOf),
    thresholdUs: numberOf(mapOf(config).get("slowlog-log-slower-than")),
  };
}

function rowOf(entry: Reply): SlowRow {
  const [id, at, took, words, client] = listOf(entry);
  return {
    id: numberOf(id),
    atMs: numberOf(at) * 1_000,
    tookUs: numberOf(took),
    command: listOf(words)
      .map((word) => shownBytes(bytesOf(word)))
      .join(" "),
    client: textOfReply(client),
  };
}

function tookText(us: number): string {
  return us < 1_000 ? `${us} µs` : durationText(us / 1_000);
}

function thresholdText(us: number): string {
  return us < 0 ? "The slow log is off." : `Commands that took more than ${tookText(us)}, newest first.`;
}
