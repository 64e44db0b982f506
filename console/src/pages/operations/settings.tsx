/** What the server was started with: each setting with its value, its default and its source. Secrets are only set or not set. */
import { useState } from "preact/hooks";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { type FilterField, Filters, useFilters } from "../../parts/filters.tsx";
import { Facts, PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";

type Value = string | number | boolean | readonly string[] | null;

interface Setting {
  readonly name: string;
  readonly value: Value;
  readonly source: "flag" | "environment" | "file" | "default";
  readonly place?: string;
  readonly default: Value;
  readonly defaultMeaning?: string;
  readonly group: string;
  readonly form: string;
  readonly meaning: string;
  readonly isSecret: boolean;
  readonly flag?: string;
  readonly environment: readonly string[];
  readonly fileKey?: string;
}

const fields: readonly FilterField[] = [
  { name: "text", label: "Name or meaning" },
  {
    name: "source",
    label: "Source",
    kind: [
      ["", "Any"],
      ["changed", "Not the default"],
      ["flag", "Flag"],
      ["environment", "Environment"],
      ["file", "Configuration file"],
      ["default", "Default"],
    ],
  },
];

export default function Settings() {
  const { value, error, reload } = useLoad(
    async (signal) => (await request<{ settings: readonly Setting[] }>("admin/v1/settings", { signal })).settings,
    [],
  );
  const { text = "", source = "" } = useFilters(fields);
  const [shown, setShown] = useState<Setting>();
  const wanted = text.toLowerCase();
  const rows = value?.filter(
    (setting) =>
      `${setting.name} ${setting.meaning} ${setting.group}`.toLowerCase().includes(wanted) &&
      (source === "" || source === setting.source || (source === "changed" && setting.source !== "default")),
  );
  return (
    <>
      <PageHead
        title="Settings"
        lead="What the server was started with. A change of a setting takes effect at the next start."
      />
      <Filters label="Filters of the settings" fields={fields} />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {rows === undefined && error === undefined && <Loading />}
      {rows !== undefined && (
        <Table
          label="Settings"
          rows={rows}
          keyOf={({ name }) => name}
          columns={columns}
          onOpen={setShown}
          empty={<Empty>No setting passes these filters.</Empty>}
        />
      )}
      {shown !== undefined && <Details setting={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

const columns: readonly Column<Setting>[] = [
  { title: "Setting", width: "minmax(8rem, 1fr)", cell: ({ name }) => <code>{name}</code> },
  { title: "Value", width: "minmax(6rem, 1fr)", cell: ({ value }) => <bdi>{valueText(value)}</bdi> },
  { title: "Source", width: "minmax(6rem, 1fr)", cell: ({ source, place }) => <bdi>{place ?? source}</bdi> },
  { title: "Meaning", width: "minmax(8rem, 3fr)", isWide: true, cell: ({ meaning }) => meaning },
];

function Details({ setting, onClose }: { setting: Setting; onClose: () => void }) {
  const { name, value, source, place, defaultMeaning, form, meaning, flag, environment, fileKey, isSecret } = setting;
  return (
    <Dialog title={name} onClose={onClose}>
      <p>{meaning}.</p>
      <Facts
        rows={[
          ["Value", <bdi key="value">{valueText(value)}</bdi>],
          ["Default", isSecret ? undefined : (defaultMeaning ?? valueText(setting.default))],
          ["Source", <bdi key="source">{place === undefined ? source : `${source} ${place}`}</bdi>],
          ["Form", <code key="form">{form}</code>],
          ["Flag", flag && <code key="flag">{flag}</code>],
          ["Environment", <code key="environment">{environment.join(", ")}</code>],
          ["Key in the file", fileKey && <code key="fileKey">{fileKey}</code>],
        ]}
      />
    </Dialog>
  );
}

function valueText(value: Value): string {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "object" ? value.join(", ") || "–" : `${value}`;
}
