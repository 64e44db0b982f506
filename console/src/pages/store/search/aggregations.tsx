/** Figures over the documents of a search index. */
import { useState } from "preact/hooks";
import { Action } from "../../../parts/action.tsx";
import { Code } from "../../../parts/code.tsx";
import { Editor } from "../../../parts/editor.tsx";
import { aggregate, type IndexDefinition } from "./query.ts";

export function Aggregations({ database, index }: { database: string; index: IndexDefinition }) {
  const [filter, setFilter] = useState("{}");
  const [aggregations, setAggregations] = useState(() => exampleOf(index));
  const [result, setResult] = useState<string>();
  return (
    <>
      <h2>Filter</h2>
      <Editor label="Filter" value={filter} language="json" onChange={setFilter} />
      <h2>Aggregations</h2>
      <Editor label="Aggregations" value={aggregations} language="json" onChange={setAggregations} />
      <div class="below">
        <Action
          kind="main"
          run={async () => setResult(await aggregate(database, index.name, { filter, aggregations }))}
        >
          Compute
        </Action>
      </div>
      {result !== undefined && <Code label="Result" text={result} />}
    </>
  );
}

/** Over the first fields that fit. */
function exampleOf({ fields }: IndexDefinition): string {
  const isFast = ({ options }: (typeof fields)[number]): boolean => options.includes("FAST");
  const group = fields.find(({ type }) => type === "KEYWORD");
  const number = fields.find((field) => isFast(field) && /^[UIF]64$/.test(field.type));
  const stats = number && { $stats: { field: number.name } };
  const example =
    group === undefined
      ? { numbers: stats ?? { $count: { field: fields[0]?.name ?? "" } } }
      : { groups: { $terms: { field: group.name }, ...(stats && { $aggs: { numbers: stats } }) } };
  return JSON.stringify(example, undefined, 2);
}
