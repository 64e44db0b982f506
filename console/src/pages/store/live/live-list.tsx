/** The events of a stream, newest first, with a filter. */
import { useState } from "preact/hooks";
import { Badge, type Tone } from "../../../parts/badge.tsx";
import { Button } from "../../../parts/button.tsx";
import { Code } from "../../../parts/code.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { Field } from "../../../parts/field.tsx";
import { countText, momentText } from "../../../parts/format.ts";
import { Empty, ErrorBox } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import type { Live, LiveEvent } from "./use-live.ts";

export interface LiveListProps {
  readonly label: string;
  readonly live: Live;
  readonly columns: readonly Column<LiveEvent>[];
  /** What to do to see the first event. */
  readonly hint: string;
}

const states: Readonly<Record<Live["state"], readonly [Tone, string]>> = {
  stopped: ["plain", "stopped"],
  running: ["good", "running"],
  hidden: ["warn", "waits until the page is visible"],
  ended: ["bad", "ended by larder"],
};

export const timeColumn: Column<LiveEvent> = {
  title: "Time",
  width: "7rem",
  cell: ({ atMs }) => <code>{momentText(atMs).slice(11)}</code>,
};

export function LiveList({ label, live, columns, hint }: LiveListProps) {
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useState<LiveEvent>();
  const [tone, word] = states[live.state];
  const wanted = filter.toLowerCase();
  const rows = wanted === "" ? live.events : live.events.filter(({ text }) => text.toLowerCase().includes(wanted));
  return (
    <>
      <div class="filters">
        <Field label="Show events with">
          <input value={filter} spellcheck={false} onInput={({ currentTarget }) => setFilter(currentTarget.value)} />
        </Field>
        <Button onClick={live.clear}>Clear</Button>
        <span role="status">
          <Badge tone={tone}>{word}</Badge>
        </span>
      </div>
      {live.error !== undefined && <ErrorBox error={live.error} />}
      <Table
        label={label}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => `${id}`}
        onOpen={setOpen}
        empty={
          <Empty>{live.state === "running" ? hint : "Press Start. The stream ends when you leave this page."}</Empty>
        }
      />
      <p class="below">
        {countText(rows.length)} {rows.length === 1 ? "event" : "events"}
        {live.droppedCount > 0 && `, and ${countText(live.droppedCount)} older ones that are not kept`}
      </p>
      {open !== undefined && (
        <Dialog title="Event" onClose={() => setOpen(undefined)}>
          <Code label="Event" text={open.text} />
        </Dialog>
      )}
    </>
  );
}
