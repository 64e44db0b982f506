/** What the server can be asked: the operations of each port, from the OpenAPI documents that it serves. */

import { useLoad } from "../../api/load.ts";
import { Filters, useFilters } from "../../parts/filters.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { BASE } from "../../places.ts";
import { areas, type Listed, readOperations, tokens } from "./document.ts";

const fields = [
  { name: "area", label: "Port", kind: areas },
  { name: "find", label: "Part of the path or the text" },
] as const;

export default function Operations() {
  const { area = areas[0][0], find = "" } = useFilters(fields);
  const { value, error, reload } = useLoad((signal) => readOperations(area, signal), [area]);
  const wanted = find.toLowerCase();
  const rows = value?.filter(({ path, operation: { summary, tags = [] } }) =>
    [path, summary, ...tags].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <>
      <PageHead
        title="API"
        lead="From the OpenAPI documents of this server; each port serves its own at /openapi.json, for generators of clients"
      />
      <Filters label="Operations" fields={fields} />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {rows === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Table
          label="Operations"
          columns={columns}
          rows={rows}
          keyOf={({ method, path }) => `${method} ${path}`}
          hrefOf={({ operation }) => `${BASE}/openapi/${area}/${operation.operationId}`}
          empty={<Empty>No operation has this in its path or its text.</Empty>}
        />
      )}
    </>
  );
}

const columns: readonly Column<Listed>[] = [
  { title: "Method", width: "5rem", cell: ({ method }) => method },
  { title: "Path", width: "minmax(10rem, 1fr)", cell: ({ path }) => <code>{path}</code> },
  { title: "What it does", width: "minmax(8rem, 2fr)", isWide: true, cell: ({ operation }) => operation.summary },
  { title: "Group", width: "10rem", isWide: true, cell: ({ operation }) => operation.tags?.[0] },
  { title: "Token", width: "6rem", cell: ({ operation }) => tokens[operation["x-token"]] },
];
