/**
 * A list of any length: only the visible rows are elements. A list that larder gives page by page asks for the next page when
 * its end comes near, and never for more.
 */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<Row> {
  readonly title: string;
  /** As in `grid-template-columns`: `8rem`, `1fr`, `minmax(6rem, 2fr)`. */
  readonly width: string;
  readonly align?: "right";
  /** Not shown on a narrow screen. */
  readonly isWide?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string;
  /** Makes rows links: the path of a row, from `/console`. */
  readonly hrefOf?: (row: Row) => string | undefined;
  readonly onOpen?: (row: Row) => void;
  /** Called when the end of the rows comes near; absent: these are all rows. */
  readonly onEnd?: (() => void) | undefined;
  /** Shown instead of rows. */
  readonly empty?: ComponentChildren;
  /** Chosen rows by key, with check boxes; absent: rows cannot be chosen. */
  readonly chosen?: ReadonlySet<string>;
  readonly onChoose?: (chosen: ReadonlySet<string>) => void;
}

const NONE: ReadonlySet<string> = new Set();

/** The chosen rows of a list. The inputs name the list: of another one, other rows are chosen, at first none. */
export function useChosen(
  ...inputs: readonly unknown[]
): readonly [chosen: ReadonlySet<string>, choose: (chosen: ReadonlySet<string>) => void] {
  const list = JSON.stringify(inputs);
  const [state, setState] = useState({ list, chosen: NONE });
  return [state.list === list ? state.chosen : NONE, (chosen) => setState({ list, chosen })];
}

const ROW_PX = 36;
/** Rows outside the window that exist nevertheless. */
const OVERSCAN = 12;

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, hrefOf, onOpen, onEnd, empty, chosen, onChoose } = props;
  const box = useRef<HTMLDivElement>(null);
  const items = useVirtual(box, rows.length);
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (onEnd !== undefined && last >= rows.length - OVERSCAN - 1) onEnd();
  }, [last, rows.length, onEnd]);
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const widths = [...(chosen === undefined ? [] : ["2rem"]), ...columns.map(({ width }) => width)].join(" ");
  const narrowWidths = [
    ...(chosen === undefined ? [] : ["2rem"]),
    ...columns.filter(({ isWide }) => isWide !== true).map(({ width }) => width),
  ].join(" ");
  const style = { "--columns": widths, "--narrow-columns": narrowWidths };
  const keys = (): string[] => rows.map(keyOf);
  return (
    <div class="table" role="table" aria-label={label} aria-rowcount={rows.length + 1} style={style}>
      <div class="table-head row" role="row" aria-rowindex={1}>
        {chosen !== undefined && (
          <span role="columnheader">
            <input
              type="checkbox"
              aria-label="Choose all shown"
              checked={rows.length > 0 && chosen.size === rows.length}
              onChange={({ currentTarget }) => onChoose?.(new Set(currentTarget.checked ? keys() : []))}
            />
          </span>
        )}
        {columns.map(({ title, align, isWide }) => (
          <span key={title} role="columnheader" class={cellClass(align, isWide)}>
            {title}
          </span>
        ))}
      </div>
      <div class="table-body" ref={box} tabIndex={0} role="rowgroup" aria-label={`Rows of ${label}`}>
        <div role="presentation" style={{ height: `${rows.length * ROW_PX}px`, position: "relative" }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const key = keyOf(row, index);
            const href = hrefOf?.(row);
            const cells = columns.map(({ title, align, isWide, cell }, at) => (
              <span key={title} role="cell" class={cellClass(align, isWide)}>
                {at > 0 ? cell(row) : firstCell(cell(row), { href, open: onOpen && (() => onOpen(row)) })}
              </span>
            ));
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the link or button in the row has the keyboard.
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                class={onOpen === undefined && href === undefined ? "row" : "row opens"}
                style={{ transform: `translateY(${start}px)` }}
                onClick={({ target, currentTarget }) => {
                  if ((target as Element).closest("a, button, input, label, select") !== null) return;
                  if (getSelection()?.isCollapsed === false) return;
                  if (onOpen !== undefined) onOpen(row);
                  else currentTarget.querySelector("a")?.click();
                }}
              >
                {chosen !== undefined && (
                  <span role="cell">
                    <input
                      type="checkbox"
                      aria-label={`Choose row ${index + 1}`}
                      checked={chosen.has(key)}
                      onChange={() => {
                        const next = new Set(chosen);
                        if (!next.delete(key)) next.add(key);
                        onChoose?.(next);
                      }}
                    />
                  </span>
                )}
                {cells}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** The first cell of a row that opens has the keyboard: it is a link or a button. */
function firstCell(
  content: ComponentChildren,
  { href, open }: { href: string | undefined; open: (() => void) | undefined },
): ComponentChildren {
  if (href !== undefined) return <a href={href}>{content}</a>;
  if (open === undefined) return content;
  return (
    <button type="button" class="opener" onClick={open}>
      {content}
    </button>
  );
}

function cellClass(align: "right" | undefined, isWide: boolean | undefined): string {
  return `${align === "right" ? "right" : ""} ${isWide === true ? "wide" : ""}`;
}

/** The rows to show, by the scroll position of the box. */
function useVirtual(box: { readonly current: HTMLDivElement | null }, count: number) {
  const [, update] = useState(0);
  const [virtualizer] = useState(
    () =>
      new Virtualizer<HTMLDivElement, Element>({
        count,
        getScrollElement: () => box.current,
        estimateSize: () => ROW_PX,
        overscan: OVERSCAN,
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: () => update((old) => old + 1),
      }),
  );
  virtualizer.setOptions({ ...virtualizer.options, count });
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer.getVirtualItems();
}
