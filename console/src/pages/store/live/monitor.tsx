/** MONITOR: the commands that run on the database. */
import "../store.css";
import { useState } from "preact/hooks";
import { of } from "../../../api/client.ts";
import { Button } from "../../../parts/button.tsx";
import { PageHead } from "../../../parts/page.tsx";
import type { Column } from "../../../parts/table.tsx";
import type { PageProps } from "../../pages.ts";
import { LiveList, timeColumn } from "./live-list.tsx";
import { type LiveEvent, useLive } from "./use-live.ts";

/** 1796024968.736000 [0 127.0.0.1:56126] "SET" "a" "1" */
const LINE = /^[\d.]+ \[\S+ ([^\]]*)\] (.*)$/s;

const columns: readonly Column<LiveEvent>[] = [
  timeColumn,
  { title: "Client", width: "10rem", isWide: true, cell: ({ text }) => LINE.exec(text)?.[1] ?? "" },
  { title: "Command", width: "1fr", cell: ({ text }) => <bdi class="bytes">{LINE.exec(text)?.[2] ?? text}</bdi> },
];

export default function Monitor({ params: { tenant: database = "" } }: PageProps) {
  const [isOn, setOn] = useState(false);
  const live = useLive(isOn ? `${of("store", database)}monitor` : undefined);
  return (
    <>
      <PageHead
        title="Monitor"
        lead="Every command that runs on the database, also those of this console. It costs the database some time while it runs."
        actions={
          <Button kind={isOn ? "plain" : "main"} onClick={() => setOn(!isOn)}>
            {isOn ? "Stop" : "Start"}
          </Button>
        }
      />
      <LiveList label="Commands" live={live} columns={columns} hint="No command has run yet." />
    </>
  );
}
