/** The nodes and the shards of the cluster, as this node sees them. */
import { Badge, type Tone } from "../../parts/badge.tsx";
import { bytesText, durationText } from "../../parts/format.ts";
import { Card } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

export interface ClusterNode {
  readonly name: string;
  readonly isAlive: boolean;
  readonly isDrained: boolean;
  /** It serves no shard. */
  readonly isFront: boolean;
  readonly format: number;
  readonly since: string;
}

export interface Shard {
  readonly shard: number;
  readonly condition: string;
  readonly suspendedFor: string | null;
  readonly owner: string | null;
  /** What this node, as its standby, would have to read for a takeover; null: it is not its standby. */
  readonly missing: { readonly bytes: number; readonly ms: number } | null;
}

export function Nodes({ nodes, self }: { nodes: readonly ClusterNode[]; self: string }) {
  const columns: readonly Column<ClusterNode>[] = [
    {
      title: "Node",
      width: "minmax(6rem, 2fr)",
      cell: ({ name }) => (
        <>
          <bdi>{name}</bdi>
          {name === self && " (this node)"}
        </>
      ),
    },
    {
      title: "State",
      width: "minmax(8rem, 1fr)",
      cell: ({ isAlive, isDrained, isFront }) => (
        <>
          <Badge tone={isAlive ? "good" : "bad"}>{isAlive ? "alive" : "dead"}</Badge>
          {isFront && <Badge tone="plain">front</Badge>}
          {isDrained && <Badge tone="warn">drained</Badge>}
        </>
      ),
    },
    { title: "Seen so since", width: "minmax(6rem, 1fr)", cell: ({ since }) => <Time at={Date.parse(since)} /> },
    {
      title: "Format",
      width: "minmax(4rem, 1fr)",
      isWide: true,
      cell: ({ isFront, format }) => (isFront ? "–" : format),
    },
  ];
  return (
    <Card title="Nodes">
      <Table label="Nodes" rows={nodes} keyOf={({ name }) => name} columns={columns} />
    </Card>
  );
}

type ShardOfArea = Shard & { readonly area: string };

export function Shards({ shards }: { shards: readonly ShardOfArea[] }) {
  return (
    <Card title="Shards">
      <Table label="Shards" rows={shards} keyOf={({ shard }) => `${shard}`} columns={shardColumns} />
    </Card>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  ...{ serving: "good", standby: "plain", recovering: "busy", draining: "busy" },
  ...{ suspended: "bad", broken: "bad", unreadable: "bad", free: "warn" },
};

const shardColumns: readonly Column<ShardOfArea>[] = [
  { title: "Shard", width: "minmax(6rem, 1fr)", cell: ({ area, shard }) => `${area} ${shard}` },
  {
    title: "State at this node",
    width: "minmax(8rem, 1fr)",
    cell: ({ condition, suspendedFor }) => (
      <span title={suspendedFor ?? undefined}>
        <Badge tone={tones[condition] ?? "plain"}>{condition}</Badge>
      </span>
    ),
  },
  { title: "Owner", width: "minmax(6rem, 1fr)", cell: ({ owner }) => <bdi>{owner ?? "–"}</bdi> },
  {
    title: "This standby is behind",
    width: "minmax(8rem, 1fr)",
    isWide: true,
    cell: ({ missing }) => (missing === null ? "–" : `${bytesText(missing.bytes)}, ${durationText(missing.ms)}`),
  },
];
