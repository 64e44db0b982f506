/** The records of a namespace in the order of their insertion, and one of them. */
import { useLocation } from "preact-iso";
import { type PageOf, usePages } from "../../api/pages.ts";
import { Action } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { countNoun } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { Table, useChosen } from "../../parts/table.tsx";
import type { PageProps } from "../pages.ts";
import { callIndex, indexPage, namespaceText, type VectorRecord } from "./api.ts";
import { EditRecord } from "./edit-record.tsx";
import { NamespaceField } from "./namespace-field.tsx";

const PAGE = 100;

const keyOf = ({ id }: VectorRecord): string => id;

export default function Records({ params: { tenant = "" } }: PageProps) {
  const { query, route, path } = useLocation();
  const { namespace = "", id } = query;
  const { rows, error, isLoading, onEnd, reload } = usePages<VectorRecord>(
    (cursor, signal) => loadPage(tenant, namespace, { cursor, signal }),
    [tenant, namespace],
    { keyOf },
  );
  const [chosen, setChosen] = useChosen(namespace);
  const show = (changes: Readonly<Record<string, string | undefined>>): void => {
    const next = new URLSearchParams();
    for (const [name, value] of Object.entries({ namespace, id, ...changes }))
      if (value !== undefined) next.set(name, value);
    route(`${path}?${next}`);
  };
  return (
    <>
      <PageHead
        title="Records"
        lead={`of index ${tenant}`}
        actions={
          <Button kind="main" onClick={() => show({ id: "" })}>
            New record
          </Button>
        }
      />
      <div class="filters">
        <NamespaceField
          index={tenant}
          value={namespace}
          onChange={(next) => show({ namespace: next, id: undefined })}
        />
        <form
          onSubmit={(event) => {
            event.preventDefault();
            show({ id: String(new FormData(event.currentTarget).get("id") ?? "") });
          }}
        >
          <input name="id" aria-label="Id of a record" placeholder="Id of a record" required />{" "}
          <Button type="submit">Open</Button>
        </form>
        {chosen.size > 0 && (
          <Action
            kind="danger"
            confirm={`This deletes ${countNoun(chosen.size, "records")} of ${namespaceText(namespace)}.`}
            run={async () => {
              await callIndex(tenant, "delete", { namespace, json: { ids: [...chosen] } });
              setChosen(new Set());
              reload();
            }}
          >
            Delete chosen
          </Action>
        )}
      </div>
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      <Table
        label="Records"
        rows={rows}
        keyOf={keyOf}
        chosen={chosen}
        onChoose={setChosen}
        onEnd={onEnd}
        hrefOf={(record) => indexPage(tenant, "records", { namespace, id: record.id })}
        columns={[
          { title: "Id", width: "minmax(6rem, 1fr)", cell: (record) => <bdi>{record.id}</bdi> },
          { title: "Metadata", width: "minmax(6rem, 2fr)", cell: ({ metadata }) => <code>{shortJson(metadata)}</code> },
          {
            title: "Data",
            width: "minmax(4rem, 2fr)",
            isWide: true,
            cell: ({ data }) => <bdi>{data?.slice(0, 200)}</bdi>,
          },
        ]}
        empty={
          isLoading ? (
            <Loading />
          ) : (
            error === undefined && <Empty>There is no record in {namespaceText(namespace)}.</Empty>
          )
        }
      />
      {id !== undefined && (
        <EditRecord
          key={id}
          index={tenant}
          namespace={namespace}
          id={id}
          onClose={() => show({ id: undefined })}
          onChanged={() => {
            show({ id: undefined });
            setChosen(new Set());
            reload();
          }}
        />
      )}
    </>
  );
}

async function loadPage(
  index: string,
  namespace: string,
  { cursor, signal }: { cursor: string | undefined; signal: AbortSignal },
): Promise<PageOf<VectorRecord>> {
  const { nextCursor, vectors } = await callIndex<{ nextCursor: string; vectors: readonly VectorRecord[] }>(
    index,
    "range",
    { namespace, json: { cursor: cursor ?? "0", limit: PAGE, includeMetadata: true, includeData: true }, signal },
  );
  return { rows: vectors, cursor: nextCursor === "" ? undefined : nextCursor };
}

export function shortJson(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value).slice(0, 200);
}
