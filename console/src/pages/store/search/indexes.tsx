/** The search indexes of a database, and the aliases. */
import "../store.css";
import { useState } from "preact/hooks";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Badge } from "../../../parts/badge.tsx";
import { Button } from "../../../parts/button.tsx";
import { Code } from "../../../parts/code.tsx";
import { Card, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import type { PageProps } from "../../pages.ts";
import { storePath } from "../keys/key-address.ts";
import { bytesOfText } from "../values/bytes.ts";
import { BytesFormButton } from "../values/bytes-dialog.tsx";
import { ask, listOf, mapOf, textOfReply } from "../values/run.ts";
import { NewIndex } from "./new-index.tsx";

interface IndexRow {
  readonly name: string;
  readonly type: string;
}

const columns: readonly Column<IndexRow>[] = [
  { title: "Index", width: "1fr", cell: ({ name }) => <bdi>{name}</bdi> },
  { title: "Over", width: "8rem", cell: ({ type }) => <Badge>{type}</Badge> },
];

export function indexPath(database: string, name: string): string {
  return storePath(database, `search/index?name=${encodeURIComponent(name)}`);
}

export default function Indexes({ params: { tenant: database = "" } }: PageProps) {
  const [isCreating, setCreating] = useState(false);
  const indexes = useLoad(
    async (signal) =>
      listOf(await ask(database, ["SEARCH.LISTINDEXES"], signal)).map((index) => {
        const facts = mapOf(index);
        return { name: textOfReply(facts.get("name")), type: textOfReply(facts.get("type")) };
      }),
    [database],
  );
  return (
    <>
      <PageHead
        title="Search"
        lead="Indexes over the keys of this database, for full-text search, filters and figures."
        actions={
          <Button kind="main" onClick={() => setCreating(true)}>
            New index
          </Button>
        }
      />
      {indexes.error !== undefined && <ErrorBox error={indexes.error} onRetry={indexes.reload} />}
      {indexes.value === undefined && indexes.error === undefined && <Loading />}
      {indexes.value !== undefined && (
        <Table
          label="Indexes"
          columns={columns}
          rows={indexes.value}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => indexPath(database, name)}
          empty={
            <Empty>
              <p>No index yet. An index covers all keys with a prefix. Make one here, or on the command line:</p>
              <Code
                label="The first index"
                text="SEARCH.CREATE reef ON HASH PREFIX 1 reef: SCHEMA note TEXT depth F64 FAST zone KEYWORD"
              />
            </Empty>
          }
        />
      )}
      <Aliases database={database} />
      {isCreating && <NewIndex database={database} onClose={() => setCreating(false)} />}
    </>
  );
}

interface AliasRow {
  readonly alias: string;
  readonly index: string;
}

function Aliases({ database }: { database: string }) {
  const aliases = useLoad(
    async (signal) =>
      listOf(await ask(database, ["SEARCH.LISTALIASES"], signal)).map((pair) => {
        const [alias = "", index = ""] = listOf(pair).map(textOfReply);
        return { alias, index };
      }),
    [database],
  );
  const aliasColumns: readonly Column<AliasRow>[] = [
    { title: "Alias", width: "1fr", cell: ({ alias }) => <bdi>{alias}</bdi> },
    { title: "Index", width: "1fr", cell: ({ index }) => <a href={indexPath(database, index)}>{index}</a> },
    {
      title: "Action",
      width: "6rem",
      cell: ({ alias }) => (
        <Action
          kind="danger"
          confirm={`This removes the alias ${alias}, and no index.`}
          run={async () => {
            await ask(database, ["SEARCH.ALIASDEL", bytesOfText(alias)]);
            aliases.reload();
          }}
        >
          Remove
        </Action>
      ),
    },
  ];
  return (
    <Card
      title="Aliases"
      actions={
        <BytesFormButton
          title="Add alias"
          action="Add"
          fields={[{ label: "Alias" }, { label: "Index" }]}
          submit={async (values) => {
            const isNew = (await ask(database, ["SEARCH.ALIASADD", ...values])) === 1;
            aliases.reload();
            return isNew ? "Added" : "The alias now names this index";
          }}
        />
      }
    >
      {aliases.error !== undefined && <ErrorBox error={aliases.error} onRetry={aliases.reload} />}
      {aliases.value !== undefined && (
        <Table
          label="Aliases"
          columns={aliasColumns}
          rows={aliases.value}
          keyOf={({ alias }) => alias}
          empty={<Empty>No alias. An alias is a second name, which can be given to another index at once.</Empty>}
        />
      )}
    </Card>
  );
}
