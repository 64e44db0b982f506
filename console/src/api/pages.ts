/**
 * A list that larder gives page by page: `usePages` loads the first page, then the next one when `onEnd` is called, and with
 * `everyMs` looks for new rows at its start while the page is visible. `Table` calls `onEnd` when the end comes near.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { textOf } from "./load.ts";

export interface PageOf<Row> {
  readonly rows: readonly Row[];
  /** Where the next page begins; absent: this is the last one. */
  readonly cursor?: string | undefined;
}

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly error: string | undefined;
  /** True until the first page is there. */
  readonly isLoading: boolean;
  /** Absent: these are all rows. */
  readonly onEnd: (() => void) | undefined;
  /** Begins again with the first page. */
  readonly reload: () => void;
}

export interface PagesOptions<Row> {
  readonly keyOf: (row: Row) => string;
  /** How often to look for new rows; absent: never. The list has the latest rows first then. */
  readonly everyMs?: number | undefined;
}

interface State<Row> {
  readonly rows: readonly Row[];
  readonly cursor: string | undefined;
  readonly isStarted: boolean;
  readonly error: string | undefined;
}

/** A list that is watched keeps no more rows: beyond, it begins again with the latest page. */
const WATCHED_ROWS_MAX = 5_000;

const EMPTY = { rows: [], cursor: undefined, isStarted: false, error: undefined } as const;

/** `inputs`: the list begins again when one of them changes. */
export function usePages<Row>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<Row>>,
  inputs: readonly unknown[],
  { keyOf, everyMs }: PagesOptions<Row>,
): Pages<Row> {
  const [state, setState] = useState<State<Row>>(EMPTY);
  const [round, setRound] = useState(0);
  const latest = useRef({ load, keyOf, state });
  latest.current = { load, keyOf, state };
  const controller = useRef<AbortController>(undefined);
  const isBusy = useRef(false);
  const inputsKey = JSON.stringify(inputs);

  const ask = useCallback(
    async (cursor: string | undefined, join: (old: State<Row>, page: PageOf<Row>) => State<Row>) => {
      const signal = controller.current?.signal;
      if (isBusy.current || signal === undefined) return;
      isBusy.current = true;
      try {
        const page = await latest.current.load(cursor, signal);
        if (!signal.aborted) setState((old) => join(old, page));
      } catch (error) {
        if (!signal.aborted) setState((old) => ({ ...old, isStarted: true, error: textOf(error) }));
      }
      if (!signal.aborted) isBusy.current = false;
    },
    [],
  );

  useEffect(() => {
    const own = new AbortController();
    controller.current = own;
    isBusy.current = false;
    setState(EMPTY);
    void ask(undefined, (_, page) => stateOf(page));
    return () => own.abort();
  }, [inputsKey, round]);

  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState !== "visible") return;
      void ask(undefined, (old, page) => withNew(old, page, latest.current.keyOf));
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  const { cursor } = state;
  const onEnd = useCallback(() => {
    void ask(cursor, (old, page) => ({ ...stateOf(page), rows: [...old.rows, ...page.rows] }));
  }, [cursor]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  return {
    rows: state.rows,
    error: state.error,
    isLoading: !state.isStarted,
    onEnd: cursor === undefined || state.error !== undefined ? undefined : onEnd,
    reload,
  };
}

function stateOf<Row>({ rows, cursor }: PageOf<Row>): State<Row> {
  return { rows, cursor, isStarted: true, error: undefined };
}

/** Puts the new rows of the first page before the old ones. If nothing of it is known, rows between are missing: it replaces them. */
function withNew<Row>(old: State<Row>, page: PageOf<Row>, keyOf: (row: Row) => string): State<Row> {
  const known = new Set(old.rows.slice(0, page.rows.length).map(keyOf));
  const added = page.rows.filter((row) => !known.has(keyOf(row)));
  if (added.length === 0) return old.error === undefined ? old : { ...old, error: undefined };
  const hasGap = added.length === page.rows.length && page.cursor !== undefined;
  if (hasGap || old.rows.length + added.length > WATCHED_ROWS_MAX) return stateOf(page);
  return { ...old, rows: [...added, ...old.rows], error: undefined };
}
