/** Messages of channels, live, and a form to publish one. */
import "../store.css";
import { useState } from "preact/hooks";
import { of } from "../../../api/client.ts";
import { useLoad } from "../../../api/load.ts";
import { Button } from "../../../parts/button.tsx";
import { Field } from "../../../parts/field.tsx";
import { countText } from "../../../parts/format.ts";
import { Card, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import type { PageProps } from "../../pages.ts";
import type { Bytes } from "../values/bytes.ts";
import { BytesDialog } from "../values/bytes-dialog.tsx";
import { BytesText } from "../values/bytes-text.tsx";
import { ask, bytesOf, listOf, numberOf } from "../values/run.ts";
import { LiveList, timeColumn } from "./live-list.tsx";
import { type LiveEvent, useLive } from "./use-live.ts";

/** What is subscribed to. */
interface Target {
  readonly isPattern: boolean;
  readonly name: string;
}

export default function PubSub({ params: { tenant: database = "" } }: PageProps) {
  const [typed, setTyped] = useState<Target>({ isPattern: true, name: "*" });
  const [target, setTarget] = useState<Target>();
  const [isPublishing, setPublishing] = useState(false);
  const route = target?.isPattern === true ? "psubscribe" : "subscribe";
  const path = target && `${of("store", database)}${route}/${encodeURIComponent(target.name)}`;
  const live = useLive(path);
  return (
    <>
      <PageHead title="Pub/Sub" actions={<Button onClick={() => setPublishing(true)}>Publish</Button>} />
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          setTarget(target === undefined ? typed : undefined);
        }}
      >
        <Field label="Listen to">
          <select
            value={typed.isPattern ? "pattern" : "channel"}
            disabled={target !== undefined}
            onChange={({ currentTarget }) => setTyped({ ...typed, isPattern: currentTarget.value === "pattern" })}
          >
            <option value="pattern">Channels that match</option>
            <option value="channel">The channel</option>
          </select>
        </Field>
        <Field label="Name">
          <input
            value={typed.name}
            disabled={target !== undefined}
            spellcheck={false}
            required
            onInput={({ currentTarget }) => setTyped({ ...typed, name: currentTarget.value })}
          />
        </Field>
        <Button kind={target === undefined ? "main" : "plain"} type="submit">
          {target === undefined ? "Start" : "Stop"}
        </Button>
      </form>
      <LiveList
        label="Messages"
        live={live}
        columns={[timeColumn, messageColumn(target)]}
        hint={'No message yet. Press Publish, or run PUBLISH news "hello" on the command line.'}
      />
      <Channels database={database} />
      {isPublishing && (
        <BytesDialog
          title="Publish a message"
          action="Publish"
          fields={[{ label: "Channel" }, { label: "Message", isLong: true }]}
          submit={async (values) => {
            const count = numberOf(await ask(database, ["PUBLISH", ...values]));
            return `${countText(count)} ${count === 1 ? "subscriber has" : "subscribers have"} got it`;
          }}
          onClose={() => setPublishing(false)}
        />
      )}
    </>
  );
}

/** An event is `message,<channel>,<text>` or `pmessage,<pattern>,<channel>,<text>`: what is known of it is left out. */
function messageColumn(target: Target | undefined): Column<LiveEvent> {
  const start = target === undefined ? "" : `${target.isPattern ? "pmessage" : "message"},${target.name},`;
  return {
    title: target?.isPattern === false ? "Message" : "Channel, message",
    width: "1fr",
    cell: ({ text }) => <bdi class="bytes">{text.startsWith(start) ? text.slice(start.length) : text}</bdi>,
  };
}

interface ChannelRow {
  readonly name: Bytes;
  readonly subscribers: number;
}

/** Channels whose subscribers are counted. */
const CHANNELS_MAX = 200;

const channelColumns: readonly Column<ChannelRow>[] = [
  { title: "Channel", width: "1fr", cell: ({ name }) => <BytesText bytes={name} /> },
  { title: "Subscribers", width: "7rem", align: "right", cell: ({ subscribers }) => countText(subscribers) },
];

function Channels({ database }: { database: string }) {
  const channels = useLoad((signal) => readChannels(database, signal), [database]);
  return (
    <Card title="Channels with subscribers" actions={<Button onClick={channels.reload}>Refresh</Button>}>
      {channels.error !== undefined && <ErrorBox error={channels.error} onRetry={channels.reload} />}
      {channels.value !== undefined && (
        <Table
          label="Channels"
          columns={channelColumns}
          rows={channels.value}
          keyOf={({ name }) => name}
          empty={<Empty>No client is subscribed to a channel.</Empty>}
        />
      )}
    </Card>
  );
}

async function readChannels(database: string, signal: AbortSignal): Promise<ChannelRow[]> {
  const names = listOf(await ask(database, ["PUBSUB", "CHANNELS"], signal))
    .slice(0, CHANNELS_MAX)
    .map(bytesOf);
  const counts = listOf(await ask(database, ["PUBSUB", "NUMSUB", ...names], signal));
  return names.map((name, index) => ({ name, subscribers: numberOf(counts[index * 2 + 1]) }));
}
