/** URL groups: names that stand for several destinations. */
import "./messaging.css";
import { useLocation } from "preact-iso";
import { request } from "../../api/client.ts";
import { useFirstRows } from "../../api/first-rows.ts";
import { Code } from "../../parts/code.tsx";
import { Field } from "../../parts/field.tsx";
import { FormButton, fieldText } from "../../parts/form-dialog.tsx";
import { countText } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import { api, page } from "./places.ts";

export interface UrlGroup {
  readonly name: string;
  readonly endpoints: readonly { readonly url: string; readonly name?: string }[];
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

const FIRST = `curl -X POST "$QSTASH_URL/v2/topics/partners/endpoints" \\
  -H "Authorization: Bearer $QSTASH_TOKEN" \\
  -d '{"endpoints":[{"url":"https://example.com/hook","name":"first"}]}'`;

export default function UrlGroups({ params: { tenant = "" } }: PageProps) {
  const { route } = useLocation();
  const { rows, error, onEnd, reload } = useFirstRows<UrlGroup>({
    path: api(tenant, "topics"),
    nameOf: ({ name }) => name,
  });
  return (
    <>
      <PageHead
        title="URL groups"
        lead="A message to a group is delivered to each of its endpoints"
        actions={
          <FormButton
            title="Create a URL group"
            kind="main"
            submit="Create"
            run={async (fields) => {
              const name = fieldText(fields, "group") ?? "";
              await addEndpoint(tenant, name, fields);
              route(page(tenant, "url-groups", name));
              return `Created the URL group ${name}`;
            }}
          >
            <Field label="Name of the group" hint="Letters, digits, - _ .">
              <input name="group" required spellcheck={false} />
            </Field>
            <EndpointFields />
          </FormButton>
        }
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {rows === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Table
          label="URL groups"
          columns={columns}
          rows={rows}
          onEnd={onEnd}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => page(tenant, "url-groups", name)}
          empty={
            <Empty>
              <p>A group begins with its first endpoint:</p>
              <Code label="A request that creates a URL group" text={FIRST} />
            </Empty>
          }
        />
      )}
    </>
  );
}

const columns: readonly Column<UrlGroup>[] = [
  { title: "Name", width: "minmax(6rem, 1fr)", cell: ({ name }) => <bdi>{name}</bdi> },
  { title: "Endpoints", width: "6rem", align: "right", cell: ({ endpoints }) => countText(endpoints.length) },
  {
    title: "URLs",
    width: "minmax(8rem, 3fr)",
    isWide: true,
    cell: ({ endpoints }) => (
      <bdi>
        {endpoints
          .slice(0, 5)
          .map(({ url }) => url)
          .join(", ")}
      </bdi>
    ),
  },
  { title: "Changed", width: "8.5rem", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];

export async function addEndpoint(tenant: string, group: string, fields: FormData): Promise<void> {
  const endpoint = { url: fieldText(fields, "url"), name: fieldText(fields, "name") };
  await request(api(tenant, "topics", group, "endpoints"), { json: { endpoints: [endpoint] } });
}

export function EndpointFields() {
  return (
    <>
      <Field label="URL">
        <input name="url" type="url" required placeholder="https://example.com/hook" />
      </Field>
      <Field label="Name" hint="Optional: an endpoint of the same URL or name is replaced">
        <input name="name" spellcheck={false} />
      </Field>
    </>
  );
}
