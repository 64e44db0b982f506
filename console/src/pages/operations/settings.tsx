/** What the server was started with: each setting with its value, its default and its source. Secrets are only set or not set. */
import { useState } from "preact/hooks";
import type { SettingFacts, SettingValue } from "../../api/admin.ts";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { type FilterField, Filters, useFilters } from "../../parts/filters.tsx";
import { Facts, PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";

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
    async (signal) => (await request<{ settings: readonly SettingFacts[] }>("admin/v1/settings", { signal })).settings,
    [],
  );
  const { text = "", source = "" } = useFilters(fields);
  const [shown, setShown] = useState<SettingFacts>();
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

const columns: readonly Column<SettingFacts>[] = [
  { title: "Setting", width: "minmax(8rem, 1fr)", cell: ({ name }) => <code>{name}</code> },
  { title: "Value", width: "minmax(6rem, 1fr)", cell: ({ value }) => <bdi>{valueText(value)}</bdi> },
  {
    title: "Default",
    width: "minmax(6rem, 1fr)",
    isWide: true,
    cell: (setting) => <bdi>{defaultText(setting)}</bdi>,
  },
  { title: "Source", width: "minmax(6rem, 1fr)", cell: ({ source, place }) => <bdi>{place ?? source}</bdi> },
  { title: "Meaning", width: "minmax(8rem, 3fr)", isWide: true, cell: ({ meaning }) => meaning },
];

function Details({ setting, onClose }: { setting: SettingFacts; onClose: () => void }) {
  const { name, value, source, place, form, meaning, flag, environment, fileKey } = setting;
  return (
    <Dialog title={name} onClose={onClose}>
      <p>{meaning}.</p>
      <Facts
        rows={[
          ["Value", <bdi key="value">{valueText(value)}</bdi>],
          ["Default", defaultText(setting)],
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

/** Secrets have none. */
function defaultText({ isSecret, defaultMeaning, ...setting }: SettingFacts): string {
  return isSecret ? "" : (defaultMeaning ?? valueText(setting.default));
}

function valueText(value: SettingValue): string {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "object" ? value.join(", ") || "–" : `${value}`;
}
