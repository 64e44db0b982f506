/** The elements of a value as a list that comes page by page, with a foot that says how many are shown. */
import { Empty, Loading } from "../../../parts/states.tsx";
import { Table, type TableProps } from "../../../parts/table.tsx";
import type { Pages } from "../values/pages.ts";
import { ListFoot } from "./list-foot.tsx";

export interface ElementTableProps<Row> extends Pick<TableProps<Row>, "label" | "columns" | "keyOf" | "onOpen"> {
  readonly pages: Pages<Row>;
  /** Of the whole value. */
  readonly length: number;
  /** What the elements are: members. */
  readonly noun: string;
  /** Shown instead of rows. */
  readonly empty: string;
}

export function ElementTable<Row>({ pages, length, noun, empty, ...table }: ElementTableProps<Row>) {
  return (
    <>
      <Table
        {...table}
        rows={pages.rows}
        onEnd={pages.onEnd}
        empty={pages.isLoading ? <Loading /> : <Empty>{empty}</Empty>}
      />
      <ListFoot pages={pages} of={length} noun={noun} />
    </>
  );
}
