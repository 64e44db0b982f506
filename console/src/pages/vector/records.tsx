/** The records of a namespace in the order of their insertion, and one of them. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { textOf, useLoad } from "../../api/load.ts";
import { BASE } from "../../app.tsx";
import { Action } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { countText } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import type { PageProps } from "../pages.ts";
import { callIndex, infoOf, namespaceText, type VectorRecord } from "./api.ts";
import { EditRecord } from "./edit-record.tsx";

const PAGE = 100;

interface Listed {
  readonly rows: readonly VectorRecord[];
  /** Empty at the end. */
  readonly cursor: string;
  readonly error?: string;
}

const START: Listed = { rows: [], cursor: "0" };

export default function Records({ params: { tenant = "" } }: PageProps) {
  const { query, route, path } = useLocation();
  const { namespace = "", id } = query;
  const { value: info } = useLoad((signal) => infoOf(tenant, signal), [tenant]);
  const { listed, more, reload } = useRecords(tenant, namespace);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
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
        <label>
          Namespace{" "}
          <select
            value={namespace}
            onChange={({ currentTarget }) => show({ namespace: currentTarget.value, id: undefined })}
          >
            {Object.keys(info?.namespaces ?? { [namespace]: {} }).map((name) => (
              <option key={name} value={name}>
                {namespaceText(name)}
              </option>
            ))}
          </select>
        </label>
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
            confirm={`${countText(chosen.size)} records are deleted.`}
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
      {listed.error !== undefined && <ErrorBox error={listed.error} onRetry={reload} />}
      <Table
        label="Records"
        rows={listed.rows}
        keyOf={(record) => record.id}
        chosen={chosen}
        onChoose={setChosen}
        onEnd={listed.cursor === "" ? undefined : more}
        hrefOf={(record) =>
          `${BASE}/vector/${encodeURIComponent(tenant)}/records?${new URLSearchParams({ namespace, id: record.id })}`
        }
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
        empty={listed.cursor === "" && <Empty>There is no record in {namespaceText(namespace)}.</Empty>}
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
            reload();
          }}
        />
      )}
    </>
  );
}

/** Pages of records; the next one comes by `more`. */
function useRecords(index: string, namespace: string): { listed: Listed; more: () => void; reload: () => void } {
  const [round, setRound] = useState(0);
  const place = `${index}/${namespace}/${round}`;
  const [state, setState] = useState({ place, listed: START });
  // Another place, or a change: from the start.
  const listed = state.place === place ? state.listed : START;
  /** The place and the cursor that were asked for last. */
  const asked = useRef("");
  const more = useCallback(() => {
    const { cursor, rows } = listed;
    const next = `${place} ${cursor}`;
    if (asked.current === next || cursor === "") return;
    asked.current = next;
    callIndex<{ nextCursor: string; vectors: readonly VectorRecord[] }>(index, "range", {
      namespace,
      json: { cursor, limit: PAGE, includeMetadata: true, includeData: true },
    })
      .then(
        ({ nextCursor, vectors }) => ({ rows: [...rows, ...vectors], cursor: nextCursor }),
        (failure: unknown) => ({ rows, cursor: "", error: textOf(failure) }),
      )
      .then((found) => {
        if (asked.current === next) setState({ place, listed: found });
      });
  }, [index, namespace, place, listed]);
  useEffect(() => {
    if (listed === START) more();
  }, [listed, more]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  return { listed, more, reload };
}

export function shortJson(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value).slice(0, 200);
}
