/**
 * A list that comes page by page. A page without rows ends the automatic paging: a search that finds little goes on when the
 * reader asks for it.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { textOf } from "../../../api/load.ts";

export interface RowsPage<Row, Cursor> {
  readonly rows: readonly Row[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: Cursor | undefined;
}

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly error: string | undefined;
  readonly isLoading: boolean;
  /** All rows have come. */
  readonly isComplete: boolean;
  /** For `Table.onEnd`; undefined while a page is on its way, after a failure, a page without rows, and the last page. */
  readonly onEnd: (() => void) | undefined;
  /** Asks for the next page in any case. */
  more(): void;
  reload(): void;
}

interface State<Row, Cursor> {
  readonly rows: readonly Row[];
  readonly next: Cursor | undefined;
  readonly isLoading: boolean;
  readonly wasEmpty: boolean;
  readonly error?: string;
}

/** `keyOf` tells rows apart: a scan may return an element twice. The list begins again when an input changes. */
export function usePages<Row, Cursor>(
  load: (cursor: Cursor | undefined, signal: AbortSignal) => Promise<RowsPage<Row, Cursor>>,
  inputs: readonly unknown[],
  keyOf?: (row: Row) => string,
): Pages<Row> {
  const start: State<Row, Cursor> = { rows: [], next: undefined, isLoading: true, wasEmpty: false };
  const [state, setState] = useState(start);
  const [round, setRound] = useState(0);
  const controller = useRef(new AbortController());
  const seen = useRef(new Set<string>());

  // Not state: two calls of `onEnd` may come before the state of the first one.
  const reading = useRef(false);

  const read = (cursor: Cursor | undefined): void => {
    const { signal } = controller.current;
    reading.current = true;
    setState(({ error: _, ...old }) => ({ ...old, isLoading: true }));
    load(cursor, signal).then(
      (page) => {
        if (signal.aborted) return;
        reading.current = false;
        const fresh = keyOf === undefined ? page.rows : page.rows.filter((row) => isFirst(seen.current, keyOf(row)));
        setState(({ rows }) => ({
          rows: [...rows, ...fresh],
          next: page.next,
          isLoading: false,
          wasEmpty: fresh.length === 0,
        }));
      },
      (error: unknown) => {
        if (signal.aborted) return;
        reading.current = false;
        setState((old) => ({ ...old, isLoading: false, error: textOf(error) }));
      },
    );
  };

  useEffect(() => {
    controller.current = new AbortController();
    seen.current = new Set();
    setState(start);
    read(undefined);
    return () => controller.current.abort();
  }, [JSON.stringify(inputs), round]);

  const { rows, next, isLoading, wasEmpty, error } = state;
  const more = (): void => {
    if (!reading.current && (next !== undefined || rows.length === 0)) read(next);
  };
  const isComplete = !isLoading && error === undefined && next === undefined;
  return {
    rows,
    error,
    isLoading,
    isComplete,
    onEnd: isLoading || isComplete || wasEmpty || error !== undefined ? undefined : more,
    more,
    reload: () => setRound((old) => old + 1),
  };
}

function isFirst(seen: Set<string>, key: string): boolean {
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}
