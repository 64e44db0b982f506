/** The fields of a hash, by HSCAN. */
import { useState } from "preact/hooks";
import type { Column } from "../../../parts/table.tsx";
import { Time } from "../../../parts/time.tsx";
import { type Bytes, bytesOfText, shownBytes } from "../values/bytes.ts";
import { BytesFormButton } from "../values/bytes-dialog.tsx";
import { BytesText } from "../values/bytes-text.tsx";
import { usePages } from "../values/pages.ts";
import { ask, bytesOf, listOf, numberOf, type Reply } from "../values/run.ts";
import { scanPage, windowRows } from "../values/scan.ts";
import { ElementDialog } from "./element-dialog.tsx";
import { ElementTable } from "./element-table.tsx";
import { FilterField } from "./filter-field.tsx";
import type { ValueViewProps } from "./value-view.ts";

interface FieldRow {
  readonly field: Bytes;
  readonly value: Bytes;
  /** Unix ms. */
  readonly expiresAtMs?: number;
}

const columns: readonly Column<FieldRow>[] = [
  { title: "Field", width: "minmax(6rem, 1fr)", cell: ({ field }) => <BytesText bytes={field} /> },
  { title: "Value", width: "minmax(8rem, 2fr)", cell: ({ value }) => <BytesText bytes={value} /> },
  {
    title: "Expires",
    width: "9rem",
    isWide: true,
    cell: ({ expiresAtMs }) =>
      expiresAtMs === undefined ? <span class="hint">never</span> : <Time at={expiresAtMs} />,
  },
];

export function HashView({ database, keyName, bytes, length, version, changed }: ValueViewProps) {
  const [match, setMatch] = useState("");
  const [open, setOpen] = useState<FieldRow>();
  const pages = usePages<FieldRow, Bytes>(
    async (cursor, signal) => {
      const scan = {
        words: ["HSCAN", keyName],
        match: match === "" ? undefined : bytesOfText(match),
        count: windowRows(bytes, length),
      };
      const page = await scanPage(database, scan, { cursor, signal }, fieldsOf);
      return { ...page, rows: await withExpiry(database, keyName, { rows: page.rows, signal }) };
    },
    [keyName, match, version],
    ({ field }) => field,
  );
  return (
    <>
      <FilterField label="Fields that match" value={match} placeholder="*" onChange={setMatch}>
        <BytesFormButton
          title="Add field"
          action="Add"
          fields={[{ label: "Field" }, { label: "Value", isLong: true }]}
          submit={async (values) => {
            const isNew = (await ask(database, ["HSETNX", keyName, ...values])) === 1;
            if (!isNew) throw new Error("The hash has a field of this name");
            changed();
          }}
        />
      </FilterField>
      <ElementTable
        label="Fields"
        noun="fields"
        columns={columns}
        pages={pages}
        length={length}
        keyOf={({ field }) => field}
        onOpen={setOpen}
        empty="No field matches."
      />
      {open !== undefined && (
        <FieldDialog
          database={database}
          keyName={keyName}
          row={open}
          changed={changed}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

interface FieldDialogProps {
  readonly database: string;
  readonly keyName: Bytes;
  readonly row: FieldRow;
  readonly changed: () => void;
  readonly onClose: () => void;
}

function FieldDialog({ database, keyName, row: { field, value, expiresAtMs }, changed, onClose }: FieldDialogProps) {
  const left = expiresAtMs === undefined ? "" : `${Math.max(1, Math.round((expiresAtMs - Date.now()) / 1_000))}`;
  return (
    <ElementDialog
      title={`Field ${shownBytes(field, 60)}`}
      label="Value"
      bytes={value}
      edit={{
        fields: [
          { label: "Value", start: value, isLong: true },
          { label: "Expires after", start: left, hint: "In seconds; empty: never" },
        ],
        submit: async ([next = "", seconds = ""]) => {
          const option = seconds === "" ? [] : ["EX", seconds];
          const wasSet = await ask(database, ["HSETEX", keyName, "FXX", ...option, "FIELDS", 1, field, next]);
          changed();
          if (wasSet !== 1) throw new Error("The field does not exist any more");
        },
      }}
      remove={{
        confirm: "This removes the field with its value.",
        run: async () => {
          await ask(database, ["HDEL", keyName, field]);
          changed();
        },
      }}
      onClose={onClose}
    />
  );
}

function fieldsOf(elements: readonly Reply[]): FieldRow[] {
  const rows: FieldRow[] = [];
  for (let at = 0; at + 1 < elements.length; at += 2)
    rows.push({ field: bytesOf(elements[at]), value: bytesOf(elements[at + 1]) });
  return rows;
}

async function withExpiry(
  database: string,
  keyName: Bytes,
  { rows, signal }: { readonly rows: readonly FieldRow[]; readonly signal: AbortSignal },
): Promise<readonly FieldRow[]> {
  if (rows.length === 0) return rows;
  const words = ["HPEXPIRETIME", keyName, "FIELDS", rows.length, ...rows.map(({ field }) => field)];
  const times = listOf(await ask(database, words, signal)).map(numberOf);
  return rows.map((row, index) => {
    const at = times[index] ?? -1;
    return at > 0 ? { ...row, expiresAtMs: at } : row;
  });
}
