/** A URL group: its endpoints, which can be added and removed, and its headers. */
import "./messaging.css";
import { useLocation } from "preact-iso";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { FormButton } from "../../parts/form-dialog.tsx";
import { Headers } from "../../parts/headers.tsx";
import { Card, PageHead } from "../../parts/page.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import { api, page } from "./places.ts";
import { addEndpoint, EndpointFields, type UrlGroup } from "./url-groups.tsx";

export default function UrlGroupPage({ params: { tenant = "", name = "" } }: PageProps) {
  const { route } = useLocation();
  const { value, error, reload } = useLoad(
    (signal) => request<UrlGroup>(api(tenant, "topics", name), { signal }),
    [tenant, name],
  );
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const { endpoints } = value;
  return (
    <>
      <PageHead
        title={
          <>
            URL group <bdi>{name}</bdi>
          </>
        }
        lead={
          <>
            changed <Time at={value.updatedAt} />
          </>
        }
        actions={
          <>
            <a class="button" href={`${page(tenant, "publish")}?destination=${encodeURIComponent(name)}`}>
              Publish to it
            </a>
            <FormButton
              title="Add an endpoint"
              submit="Add"
              run={async (fields) => {
                await addEndpoint(tenant, name, fields);
                reload();
              }}
            >
              <EndpointFields />
            </FormButton>
            <Action
              kind="danger"
              confirm="Schedules that publish to it will be refused."
              run={async () => {
                await request(api(tenant, "topics", name), { method: "DELETE" });
                route(page(tenant, "url-groups"));
                return `Deleted the URL group ${name}`;
              }}
            >
              Delete
            </Action>
          </>
        }
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      <Card title="Endpoints">
        <Table
          label="Endpoints"
          rows={endpoints}
          keyOf={({ url }) => url}
          columns={[
            { title: "URL", width: "minmax(8rem, 3fr)", cell: ({ url }) => <bdi title={url}>{url}</bdi> },
            { title: "Name", width: "minmax(4rem, 1fr)", cell: ({ name: text }) => <bdi>{text ?? ""}</bdi> },
            {
              title: "Actions",
              width: "6rem",
              cell: ({ url }) => (
                <Action
                  kind="danger"
                  confirm={
                    endpoints.length === 1
                      ? `Removes ${url}. It is the last endpoint: the group is deleted with it.`
                      : `Removes ${url} from the group.`
                  }
                  run={async () => {
                    await request(api(tenant, "topics", name, "endpoints"), {
                      method: "DELETE",
                      json: { endpoints: [{ url }] },
                    });
                    if (endpoints.length === 1) route(page(tenant, "url-groups"));
                    else reload();
                  }}
                >
                  Remove
                </Action>
              ),
            },
          ]}
        />
      </Card>
      {value.headers !== undefined && (
        <Card title="Headers of its messages">
          <Headers headers={value.headers} of={`URL group ${name}`} />
        </Card>
      )}
    </>
  );
}
