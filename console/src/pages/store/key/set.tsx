/** The members of a set, by SSCAN. */
import { useState } from "preact/hooks";
import type { Column } from "../../../parts/table.tsx";
import { type Bytes, bytesOfText } from "../values/bytes.ts";
import { BytesFormButton } from "../values/bytes-dialog.tsx";
import { BytesText } from "../values/bytes-text.tsx";
import { usePages } from "../values/pages.ts";
import { ask, bytesOf } from "../values/run.ts";
import { scanPage, windowRows } from "../values/scan.ts";
import { ElementDialog } from "./element-dialog.tsx";
import { ElementTable } from "./element-table.tsx";
import { FilterField } from "./filter-field.tsx";
import type { ValueViewProps } from "./value-view.ts";

const columns: readonly Column<Bytes>[] = [
  { title: "Member", width: "1fr", cell: (member) => <BytesText bytes={member} /> },
];

export function SetView({ database, keyName, bytes, length, version, changed }: ValueViewProps) {
  const [match, setMatch] = useState("");
  const [open, setOpen] = useState<Bytes>();
  const pages = usePages<Bytes, Bytes>(
    (cursor, signal) => {
      const pattern = match === "" ? undefined : bytesOfText(match);
      const scan = { words: ["SSCAN", keyName], match: pattern, count: windowRows(bytes, length) };
      return scanPage(database, scan, { cursor, signal }, (elements) => elements.map(bytesOf));
    },
    [keyName, match, version],
    (member) => member,
  );
  return (
    <>
      <FilterField label="Members that match" value={match} placeholder="*" onChange={setMatch}>
        <BytesFormButton
          title="Add member"
          action="Add"
          fields={[{ label: "Member", isLong: true }]}
          submit={async (values) => {
            if ((await ask(database, ["SADD", keyName, ...values])) === 0) throw new Error("The set has this member");
            changed();
          }}
        />
      </FilterField>
      <ElementTable
        label="Members"
        noun="members"
        columns={columns}
        pages={pages}
        length={length}
        keyOf={(member) => member}
        onOpen={setOpen}
        empty="No member matches."
      />
      {open !== undefined && (
        <ElementDialog
          title="Member"
          label="Member"
          bytes={open}
          remove={{
            confirm: "This removes the member from the set.",
            run: async () => {
              await ask(database, ["SREM", keyName, open]);
              changed();
            },
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}
