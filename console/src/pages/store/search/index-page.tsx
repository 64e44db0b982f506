/** A search index: its definition, a query form, and aggregations. */
import "../store.css";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Badge } from "../../../parts/badge.tsx";
import { bytesText, countText } from "../../../parts/format.ts";
import { Card, Facts, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import { Tabs } from "../../../parts/tabs.tsx";
import type { PageProps } from "../../pages.ts";
import { storePath, withQuery } from "../keys/key-address.ts";
import { bytesOfText } from "../values/bytes.ts";
import { ask } from "../values/run.ts";
import { Aggregations } from "./aggregations.tsx";
import { Hits } from "./hits.tsx";
import { describeIndex, type IndexDefinition, type IndexField } from "./query.ts";

const views = ["Query", "Aggregate", "Definition"] as const;

export default function IndexPage({ params: { tenant: database = "" } }: PageProps) {
  const { query, route } = useLocation();
  const { name = "", view = "Query" } = query;
  const [round, setRound] = useState(0);
  const index = useLoad((signal) => describeIndex(database, name, signal), [database, name, round]);
  const { value } = index;
  const bytes = bytesOfText(name);
  const path = storePath(database, "search/index");
  return (
    <>
      <p class="crumb">
        <a href={storePath(database, "search")}>Search</a>
      </p>
      <PageHead
        title={<bdi>{name}</bdi>}
        lead={value !== undefined && <Lead index={value} />}
        actions={
          value !== undefined && (
            <>
              <Action
                confirm="This reads all documents of the index again. Searches see a part of them until it ends."
                run={async () => {
                  await ask(database, ["SEARCH.REINDEX", bytes]);
                  setRound(round + 1);
                  return "The index is being built again";
                }}
              >
                Reindex
              </Action>
              <Action
                kind="danger"
                confirm="This removes the index. The keys that it covers stay."
                run={async () => {
                  await ask(database, ["SEARCH.DROP", bytesOfText(value.name)]);
                  route(storePath(database, "search"));
                  return "Removed";
                }}
              >
                Drop
              </Action>
            </>
          )
        }
      />
      {index.error !== undefined && <ErrorBox error={index.error} onRetry={index.reload} />}
      {value === undefined &&
        index.error === undefined &&
        (index.isLoading ? <Loading /> : <Empty>There is no such index.</Empty>)}
      {value !== undefined && (
        <>
          <Tabs
            label="Views of the index"
            current={view}
            tabs={views.map((title) => ({ title, href: withQuery(path, { ...query, view: title }) }))}
          />
          {view === "Query" && <Hits database={database} index={value} />}
          {view === "Aggregate" && <Aggregations database={database} index={value} />}
          {view === "Definition" && <Definition index={value} />}
        </>
      )}
    </>
  );
}

function Lead({ index: { type, prefixes, bytes, pendingUpdates } }: { index: IndexDefinition }) {
  return (
    <span class="lead-facts">
      <Badge>{type}</Badge>
      <bdi>{prefixes.map((prefix) => (prefix === "" ? "all keys" : `${prefix}*`)).join(" ")}</bdi>
      <span>{bytesText(bytes)} in memory</span>
      {pendingUpdates > 0 && <Badge tone="busy">{countText(pendingUpdates)} updates pending</Badge>}
    </span>
  );
}

const fieldColumns: readonly Column<IndexField>[] = [
  { title: "Field", width: "1fr", cell: ({ name }) => <bdi>{name}</bdi> },
  { title: "Type", width: "8rem", cell: ({ type }) => type },
  { title: "Options", width: "1fr", cell: ({ options }) => <bdi>{options.join(" ")}</bdi> },
];

function Definition({ index: { name, type, prefixes, language, fields } }: { index: IndexDefinition }) {
  return (
    <Card>
      <Facts
        rows={[
          ["Name", <bdi key="name">{name}</bdi>],
          ["Over keys of type", type],
          ["Prefixes", prefixes.map((prefix) => JSON.stringify(prefix)).join(" ")],
          ["Language", language],
        ]}
      />
      <Table label="Fields" columns={fieldColumns} rows={fields} keyOf={(field) => field.name} />
    </Card>
  );
}
