/** One operation: its parameters, examples of its body and answer, and its answers. */
import { useLoad } from "../../api/load.ts";
import { Code } from "../../parts/code.tsx";
import { Card, Facts, PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { PageProps } from "../pages.ts";
import { areas, exampleText, type Parameter, readOperations, tokens } from "./document.ts";

export default function OperationPage({ params: { area = "", id = "" } }: PageProps) {
  const { value, error, reload } = useLoad((signal) => readOperations(area, signal), [area]);
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const found = value.find(({ operation }) => operation.operationId === id);
  if (found === undefined) return <ErrorBox error={`This server has no operation ${id}`} />;
  const { method, path, operation } = found;
  const { parameters = [], requestBody, responses } = operation;
  const body = requestBody && exampleText(requestBody);
  const answer = Object.values(responses).map(exampleText)[0];
  return (
    <>
      <PageHead title={operation.summary} lead={operation.description} />
      <Card>
        <Facts
          rows={[
            ["Request", <code key="request">{`${method} ${path}`}</code>],
            ["Port", areas.find(([name]) => name === area)?.[1]],
            ["Token", tokens[operation["x-token"]]],
            ["Group", operation.tags?.[0]],
            ["Id", id],
          ]}
        />
      </Card>
      {body !== undefined && (
        <Card title="Example of a body">
          <Code label="Example of a body" text={body} />
        </Card>
      )}
      {answer !== undefined && (
        <Card title="Example of an answer">
          <Code label="Example of an answer" text={answer} />
        </Card>
      )}
      <Card title="Answers">
        <Facts rows={Object.entries(responses).map(([status, { description }]) => [status, description])} />
      </Card>
      <Card title="Parameters">
        <Table
          label="Parameters"
          columns={columns}
          rows={parameters}
          keyOf={({ in: place, name }) => `${place} ${name}`}
          empty={<Empty>It has none.</Empty>}
        />
      </Card>
    </>
  );
}

const columns: readonly Column<Parameter>[] = [
  { title: "Name", width: "minmax(10rem, 1fr)", cell: ({ name }) => <code>{name}</code> },
  { title: "In", width: "5rem", cell: ({ in: place }) => place },
  { title: "Required", width: "6rem", cell: ({ required }) => (required ? "yes" : "no") },
  {
    title: "Meaning",
    width: "minmax(8rem, 3fr)",
    isWide: true,
    cell: ({ description = "" }) => <span title={description}>{description}</span>,
  },
];
