/**
 * A list in the order of names, which is asked for from its beginning again and again: `useFirstRows` asks for the first page,
 * and for one page more when `onEnd` is called.
 */
import { useCallback, useRef } from "preact/hooks";
import { request } from "./client.ts";
import { listMs, useLoad } from "./load.ts";

/** Rows that are asked for at a time. */
const PAGE = 100;
/** The most that an answer has. */
const ANSWER_MAX = 1_000;

export interface FirstRowsOptions<Row> {
  readonly path: string;
  readonly nameOf: (row: Row) => string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** How often to ask again; absent: only by `reload`. */
  readonly everyMs?: number;
}

export interface FirstRows<Row> {
  /** Undefined until the first answer. */
  readonly rows: readonly Row[] | undefined;
  readonly error: string | undefined;
  /** Absent: these are all rows. */
  readonly onEnd: (() => void) | undefined;
  reload(): void;
}

export function useFirstRows<Row>({ path, nameOf, query = {}, everyMs }: FirstRowsOptions<Row>): FirstRows<Row> {
  const key = JSON.stringify([path, query]);
  const wanted = useRef({ key, count: PAGE });
  if (wanted.current.key !== key) wanted.current = { key, count: PAGE };
  const { value, error, reload } = useLoad(
    (signal) => firstRows({ path, nameOf, query, wanted: wanted.current.count, signal }),
    [key],
    everyMs === undefined ? {} : { everyMs: (loaded) => listMs(everyMs, loaded?.rows.length) },
  );
  const count = value?.rows.length ?? 0;
  const onEnd = useCallback(() => {
    if (wanted.current.count > count) return; // They are on their way.
    wanted.current.count = count + PAGE;
    reload();
  }, [count, reload]);
  return { rows: value?.rows, error, onEnd: value?.isCut === true && error === undefined ? onEnd : undefined, reload };
}

interface Wanted<Row> extends Required<Pick<FirstRowsOptions<Row>, "path" | "nameOf" | "query">> {
  readonly wanted: number;
  readonly signal: AbortSignal;
}

async function firstRows<Row>({ path, nameOf, query, wanted, signal }: Wanted<Row>) {
  const rows: Row[] = [];
  for (;;) {
    const count = Math.min(wanted - rows.length, ANSWER_MAX);
    const last = rows.at(-1);
    const cursor = last === undefined ? undefined : nameOf(last);
    const page = await request<Row[]>(path, { query: { ...query, count: String(count), cursor }, signal });
    rows.push(...page);
    // An answer with fewer rows is the last one.
    const isCut = page.length === count;
    if (!isCut || rows.length >= wanted) return { rows, isCut };
  }
}
