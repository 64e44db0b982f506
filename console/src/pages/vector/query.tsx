/** Queries an index by a vector, by a text or by one of its records, with a filter. The answer has the time that it took. */
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { textOf } from "../../api/load.ts";
import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { durationText } from "../../parts/format.ts";
import { Card, PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import type { PageProps } from "../pages.ts";
import { callIndex, indexPage, type VectorRecord } from "./api.ts";
import { FilterField, type RefusedFilter } from "./filter/filter-field.tsx";
import { fieldPaths, isFilterError } from "./filter/filter-text.ts";
import { NamespaceField } from "./namespace-field.tsx";
import { shortJson } from "./records.tsx";

interface Answer {
  readonly namespace: string;
  readonly hits: readonly VectorRecord[];
  readonly tookMs: number;
}

export default function Query({ params: { tenant = "" } }: PageProps) {
  const { query } = useLocation();
  const [namespace, setNamespace] = useState(query["namespace"] ?? "");
  const [answer, setAnswer] = useState<Answer>();
  const [error, setError] = useState<string>();
  const [refused, setRefused] = useState<RefusedFilter>();
  const [isBusy, setBusy] = useState(false);
  const ask = async (data: FormData): Promise<void> => {
    setBusy(true);
    setError(undefined);
    setRefused(undefined);
    const startMs = performance.now();
    try {
      const hits = await queryIndex(tenant, namespace, data);
      setAnswer({ namespace, hits, tookMs: performance.now() - startMs });
    } catch (failure) {
      const text = textOf(failure);
      if (isFilterError(text)) setRefused({ filter: filterOf(data), error: text });
      else setError(text);
    }
    setBusy(false);
  };
  return (
    <>
      <PageHead title="Query" lead={`index ${tenant}`} />
      <Card>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (!isBusy) void ask(new FormData(event.currentTarget));
          }}
        >
          <div class="filters">
            <Field label="By">
              <select name="by" defaultValue={query["like"] === undefined ? "text" : "record"}>
                <option value="text">text</option>
                <option value="vector">vector</option>
                <option value="record">id of a record</option>
              </select>
            </Field>
            <NamespaceField index={tenant} value={namespace} onChange={setNamespace} />
            <Field label="Hits">
              <input name="topK" type="number" min="1" max="1000" defaultValue="10" />
            </Field>
          </div>
          <Field
            label="Text, vector as a JSON list, or id"
            hint={
              'A sparse vector is {"indices": [1, 7], "values": [0.5, 2]}; an index with both takes {"vector": …, "sparseVector": …}'
            }
          >
            <textarea name="what" rows={3} required spellcheck={false} defaultValue={query["like"] ?? ""} />
          </Field>
          <FilterField
            name="filter"
            refused={refused}
            suggestions={fieldPaths(answer?.hits.map(({ metadata }) => metadata) ?? [])}
          />
          <label>
            <input type="checkbox" name="exact" /> Compare with all records
          </label>
          <div class="actions">
            <Button type="submit" kind="main" isBusy={isBusy}>
              Query
            </Button>
            {answer !== undefined && !isBusy && (
              <span class="hint" role="status">
                {durationText(answer.tookMs)} with the way to the browser
              </span>
            )}
          </div>
        </form>
      </Card>
      {error !== undefined && <ErrorBox error={error} />}
      {answer !== undefined && (
        <Table
          label="Hits"
          rows={answer.hits}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => indexPage(tenant, "records", { namespace: answer.namespace, id })}
          columns={[
            { title: "Id", width: "minmax(6rem, 1fr)", cell: ({ id }) => <bdi>{id}</bdi> },
            { title: "Score", width: "7rem", align: "right", cell: ({ score }) => score?.toFixed(5) },
            {
              title: "Metadata",
              width: "minmax(6rem, 2fr)",
              cell: ({ metadata }) => <code>{shortJson(metadata)}</code>,
            },
            {
              title: "Data",
              width: "minmax(4rem, 2fr)",
              isWide: true,
              cell: ({ data }) => <bdi>{data?.slice(0, 200)}</bdi>,
            },
          ]}
          empty={<Empty>No record passes the filter.</Empty>}
        />
      )}
    </>
  );
}

/** As it was typed: the place in an error counts its blanks. */
function filterOf(data: FormData): string {
  return String(data.get("filter") ?? "");
}

/** Throws an error with a text for the user. */
async function queryIndex(index: string, namespace: string, data: FormData): Promise<readonly VectorRecord[]> {
  const field = (name: string): string => String(data.get(name) ?? "").trim();
  const what = field("what");
  const options = {
    topK: Number(field("topK")),
    includeMetadata: true,
    includeData: true,
    ...(field("filter") !== "" && { filter: filterOf(data) }),
    ...(data.get("exact") !== null && { exact: true }),
  };
  if (field("by") === "text")
    return await callIndex(index, "query-data", { namespace, json: { data: what, ...options } });
  if (field("by") === "vector") {
    return await callIndex(index, "query", { namespace, json: { ...vectorsOf(what), ...options } });
  }
  const [record] = await callIndex<(VectorRecord | null)[]>(index, "fetch", {
    namespace,
    json: { ids: [what], includeVectors: true },
  });
  if (record === null || record === undefined) throw new Error(`there is no record ${what} in this namespace`);
  const { vector, sparseVector } = record;
  return await callIndex(index, "query", {
    namespace,
    json: { ...(vector && { vector }), ...(sparseVector && { sparseVector }), ...options },
  });
}

/** A dense vector, a sparse one, or an object with both. Throws an error with a text for the user. */
function vectorsOf(text: string): object {
  const given: unknown = JSON.parse(text);
  if (Array.isArray(given)) return { vector: given };
  if (typeof given !== "object" || given === null) throw new Error("the vector must be a JSON list or object");
  const { vector, sparseVector } = given as { vector?: unknown; sparseVector?: unknown };
  return vector === undefined && sparseVector === undefined ? { sparseVector: given } : { vector, sparseVector };
}
