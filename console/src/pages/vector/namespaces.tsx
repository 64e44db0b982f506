/** An index: its definition, its size, its namespaces. */
import { useRef } from "preact/hooks";
import { listMs, useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { bytesText, countText, shareText } from "../../parts/format.ts";
import { Card, Facts, PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { PageProps } from "../pages.ts";
import { callIndex, firstNamespaces, indexPage, infoOf, type MeasuredRecall, memoryOf, namespaceText } from "./api.ts";

const EVERY_MS = 5_000;
/** Namespaces that are asked for at a time. */
const PAGE = 100;
/** The answer has all indexes. */
const MEMORY_EVERY_MS = 30_000;
/** Facts that have a place of their own. */
const SHOWN = [
  "vectorCount",
  "pendingVectorCount",
  "indexSize",
  "dimension",
  "similarityFunction",
  "indexType",
  "denseIndex",
  "sparseIndex",
  "namespaces",
  "recall",
];

export default function Namespaces({ params: { tenant = "" } }: PageProps) {
  const { value, error, reload } = useLoad((signal) => infoOf(tenant, signal), [tenant], {
    everyMs: (info) => listMs(EVERY_MS, Object.keys(info?.namespaces ?? {}).length),
  });
  const memory = useLoad((signal) => memoryOf(tenant, signal), [tenant], { everyMs: MEMORY_EVERY_MS });
  const wanted = useRef(PAGE);
  const list = useLoad((signal) => firstNamespaces(tenant, wanted.current, signal), [tenant], {
    everyMs: (page) => listMs(EVERY_MS, page?.rows.length),
  });
  const rows = list.value?.rows ?? [];
  const hasMore = list.value?.cursor !== undefined && list.error === undefined;
  const more = (): void => {
    if (wanted.current > rows.length) return; // They are on their way.
    wanted.current = rows.length + PAGE;
    list.reload();
  };
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const further = Object.entries(value).filter(([name]) => !SHOWN.includes(name));
  return (
    <>
      <PageHead title={`Index ${tenant}`} />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {list.error !== undefined && <ErrorBox error={list.error} onRetry={list.reload} />}
      <Card>
        <Facts
          rows={[
            ["Type", value.indexType],
            ["Dimensions", value.dimension > 0 ? countText(value.dimension) : undefined],
            ["Similarity", value.similarityFunction],
            ["Model of texts", value.denseIndex?.embeddingModel],
            ["Sparse model", value.sparseIndex?.embeddingModel],
            ["Records", countText(value.vectorCount)],
            [
              "Pending",
              value.pendingVectorCount > 0
                ? `${countText(value.pendingVectorCount)}, which are scored exactly`
                : undefined,
            ],
            ["Size", bytesText(value.indexSize)],
            ["Memory", memory.value === undefined ? memory.error : bytesText(memory.value)],
            [
              "Target of the recall",
              value.recall === undefined ? "all searches are exact" : shareText(value.recall.target),
            ],
            ...further.map(
              ([name, fact]) => [name, typeof fact === "object" ? JSON.stringify(fact) : String(fact)] as const,
            ),
          ]}
        />
      </Card>
      <Table
        label="Namespaces"
        rows={rows}
        onEnd={hasMore ? more : undefined}
        keyOf={({ name }) => name}
        hrefOf={({ name }) => indexPage(tenant, "records", { namespace: name })}
        columns={[
          { title: "Namespace", width: "minmax(6rem, 2fr)", cell: ({ name }) => <bdi>{namespaceText(name)}</bdi> },
          { title: "Records", width: "7rem", align: "right", cell: ({ vectorCount }) => countText(vectorCount) },
          {
            title: "Pending",
            width: "7rem",
            align: "right",
            isWide: true,
            cell: ({ pendingVectorCount }) => countText(pendingVectorCount),
          },
          {
            title: "Memory",
            width: "7rem",
            align: "right",
            isWide: true,
            cell: ({ memoryBytes }) => (memoryBytes === undefined ? "–" : bytesText(memoryBytes)),
          },
          {
            title: "Actions",
            width: "10rem",
            align: "right",
            cell: ({ name, vectorCount }) => (
              <Action
                kind="danger"
                confirm={`${countText(vectorCount)} records of ${namespaceText(name)} are deleted. This cannot be undone.`}
                run={async () => {
                  await callIndex(tenant, name === "" ? "reset" : "delete-namespace", { namespace: name });
                  reload();
                  list.reload();
                }}
              >
                {name === "" ? "Empty" : "Delete"}
              </Action>
            ),
          },
        ]}
        empty={list.error === undefined && <Loading />}
      />
      {value.recall !== undefined && (
        <Card title="Measured recall">
          <Table
            label="Measured recall"
            rows={value.recall.measured}
            keyOf={({ topK, filter }) => `${topK} ${filter}`}
            columns={recallColumns}
            empty={<Empty>Nothing was measured yet.</Empty>}
          />
        </Card>
      )}
    </>
  );
}

const recallColumns: readonly Column<MeasuredRecall>[] = [
  {
    title: "Queries",
    width: "minmax(8rem, 2fr)",
    cell: ({ topK, filter }) => `topK ${topK}${filter === "none" ? "" : `, a filter that ${filter} pass`}`,
  },
  {
    title: "Recall",
    width: "minmax(8rem, 1fr)",
    cell: ({ recall, targetReached }) => (
      <Badge tone={targetReached ? "good" : "warn"}>{`${shareText(recall)}${targetReached ? "" : ", too low"}`}</Badge>
    ),
  },
  { title: "At least", width: "6rem", align: "right", isWide: true, cell: ({ lowerBound }) => shareText(lowerBound) },
  {
    title: "Lowest in",
    width: "minmax(6rem, 1fr)",
    isWide: true,
    cell: ({ namespace }) => <bdi>{namespaceText(namespace)}</bdi>,
  },
  {
    title: "Sample",
    width: "minmax(9rem, 2fr)",
    isWide: true,
    cell: ({ recordCount, queryCount }) => `${countText(recordCount)} records, ${countText(queryCount)} queries`,
  },
  { title: "Effort", width: "5rem", align: "right", isWide: true, cell: ({ effort }) => countText(effort) },
];
