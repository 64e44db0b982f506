/** The members of a sorted set: by rank, within scores, or by pattern; with positions if the scores are those of GEOADD. */
import { useState } from "preact/hooks";
import { Field } from "../../../parts/field.tsx";
import { countText } from "../../../parts/format.ts";
import type { Column } from "../../../parts/table.tsx";
import { type Bytes, bytesOfText } from "../values/bytes.ts";
import { BytesFormButton } from "../values/bytes-dialog.tsx";
import { BytesText } from "../values/bytes-text.tsx";
import { type RowsPage, usePages } from "../values/pages.ts";
import { ask, bytesOf, listOf, type Reply, textOfReply } from "../values/run.ts";
import { scanPage, windowRows } from "../values/scan.ts";
import { ElementDialog } from "./element-dialog.tsx";
import { ElementTable } from "./element-table.tsx";
import { type Order, SortedSetFilters, type View } from "./sorted-set-filters.tsx";
import type { ValueViewProps } from "./value-view.ts";

interface MemberRow {
  readonly member: Bytes;
  /** As the store prints it. */
  readonly score: string;
  /** From the chosen end; absent in a search by pattern. */
  readonly place?: number;
  /** Longitude and latitude. */
  readonly position?: readonly [string, string];
}

export function SortedSetView({ database, keyName, bytes, length, version, changed }: ValueViewProps) {
  const [view, setView] = useState<View>({ order: "low", min: "", max: "", match: "" });
  const [geoChoice, setGeoChoice] = useState<boolean>();
  const [open, setOpen] = useState<MemberRow>();
  const count = windowRows(bytes, length);
  const pages = usePages<MemberRow, Bytes>(
    async (cursor, signal) => {
      const page =
        view.match === ""
          ? await rangePage(database, keyName, { view, count, cursor, signal })
          : await scanPage(
              database,
              { words: ["ZSCAN", keyName], match: bytesOfText(view.match), count },
              { cursor, signal },
              (elements) => membersOf(elements),
            );
      if (geoChoice === false || !page.rows.every(isPosition) || page.rows.length === 0) return page;
      return { ...page, rows: await withPositions(database, keyName, { rows: page.rows, signal }) };
    },
    [keyName, view, geoChoice, version],
    ({ member }) => member,
  );
  const isGeo = pages.rows.some(({ position }) => position !== undefined);
  return (
    <>
      <SortedSetFilters view={view} onChange={setView}>
        {(isGeo || geoChoice === false) && (
          <Field label="Scores">
            <select
              value={isGeo ? "geo" : "numbers"}
              onChange={({ currentTarget }) => setGeoChoice(currentTarget.value === "geo" ? undefined : false)}
            >
              <option value="geo">are positions</option>
              <option value="numbers">are numbers</option>
            </select>
          </Field>
        )}
        <BytesFormButton
          title="Add member"
          action="Add"
          fields={[
            { label: "Score", start: "0" },
            { label: "Member", isLong: true },
          ]}
          submit={async (values) => {
            const isNew = (await ask(database, ["ZADD", keyName, "NX", ...values])) === 1;
            if (!isNew) throw new Error("The sorted set has this member");
            changed();
          }}
        />
      </SortedSetFilters>
      <ElementTable
        label="Members"
        noun="members"
        columns={columnsOf(isGeo, view.match === "")}
        pages={pages}
        length={length}
        keyOf={({ member }) => member}
        onOpen={setOpen}
        empty="No member matches."
      />
      {open !== undefined && (
        <ElementDialog
          title={`Member with score ${open.score}`}
          label="Member"
          bytes={open.member}
          edit={{
            fields: [{ label: "Score", start: open.score }],
            submit: async ([score = ""]) => {
              await ask(database, ["ZADD", keyName, "XX", score, open.member]);
              changed();
            },
          }}
          remove={{
            confirm: "This removes the member with its score.",
            run: async () => {
              await ask(database, ["ZREM", keyName, open.member]);
              changed();
            },
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

function columnsOf(isGeo: boolean, isRanked: boolean): Column<MemberRow>[] {
  const rank: Column<MemberRow> = {
    title: "Rank",
    width: "5rem",
    align: "right",
    isWide: true,
    cell: ({ place }) => (place === undefined ? "" : countText(place)),
  };
  const score: Column<MemberRow> = { title: "Score", width: "9rem", align: "right", cell: (row) => row.score };
  const member: Column<MemberRow> = { title: "Member", width: "1fr", cell: (row) => <BytesText bytes={row.member} /> };
  const position: Column<MemberRow> = {
    title: "Longitude, latitude",
    width: "12rem",
    cell: (row) => row.position?.map((one) => Number(one).toFixed(5)).join(", ") ?? "–",
  };
  return [...(isRanked ? [rank] : []), isGeo ? position : score, member];
}

interface RangeOptions {
  readonly view: View;
  readonly count: number;
  /** The number of members before the page. */
  readonly cursor: Bytes | undefined;
  readonly signal: AbortSignal;
}

async function rangePage(
  database: string,
  keyName: Bytes,
  { view: { order, min, max }, count, cursor, signal }: RangeOptions,
): Promise<RowsPage<MemberRow, Bytes>> {
  const start = Number(cursor ?? 0);
  const reply = await ask(database, rangeWords(keyName, { order, min, max, start, count }), signal);
  const isByRank = min === "" && max === "";
  const rows = membersOf(listOf(reply)).map((row, index) => (isByRank ? { ...row, place: start + index } : row));
  return { rows, next: rows.length < count ? undefined : `${start + count}` };
}

interface Range {
  readonly order: Order;
  readonly min: string;
  readonly max: string;
  readonly start: number;
  readonly count: number;
}

function rangeWords(keyName: Bytes, { order, min, max, start, count }: Range): (Bytes | number)[] {
  const reverse = order === "high" ? ["REV"] : [];
  if (min === "" && max === "") return ["ZRANGE", keyName, start, start + count - 1, ...reverse, "WITHSCORES"];
  const bounds = [bytesOfText(min || "-inf"), bytesOfText(max || "+inf")];
  if (order === "high") bounds.reverse();
  return ["ZRANGE", keyName, ...bounds, "BYSCORE", ...reverse, "LIMIT", start, count, "WITHSCORES"];
}

function membersOf(elements: readonly Reply[]): MemberRow[] {
  const rows: MemberRow[] = [];
  for (let at = 0; at + 1 < elements.length; at += 2)
    rows.push({ member: bytesOf(elements[at]), score: textOfReply(elements[at + 1]) });
  return rows;
}

/** Whether a score can be a position: they have 52 bits. Small ones are left out: they are counts, or times in ms. */
function isPosition({ score }: MemberRow): boolean {
  const number = Number(score);
  return Number.isInteger(number) && number > 2e13 && number < 2 ** 52;
}

async function withPositions(
  database: string,
  keyName: Bytes,
  { rows, signal }: { readonly rows: readonly MemberRow[]; readonly signal: AbortSignal },
): Promise<readonly MemberRow[]> {
  const positions = listOf(await ask(database, ["GEOPOS", keyName, ...rows.map(({ member }) => member)], signal));
  return rows.map((row, index) => {
    const [longitude, latitude] = listOf(positions[index]).map(textOfReply);
    return longitude === undefined || latitude === undefined ? row : { ...row, position: [longitude, latitude] };
  });
}
