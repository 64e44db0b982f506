/**
 * What a page shows, from requests: `useLoad` runs a function when the page appears and when its inputs change, keeps the last
 * answer while the next one is on its way, and asks again at an interval only while the page is visible and no answer is on its
 * way: a server whose answers take longer than the interval is still shown.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./client.ts";

export interface Loaded<Value> {
  /** Undefined until the first answer. */
  readonly value: Value | undefined;
  /** The text of the last failure; undefined after a success. */
  readonly error: string | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

export interface LoadOptions<Value> {
  /** Asks again after this time, in ms, while the page is visible; absent: only by `reload`. */
  readonly everyMs?: number | ((value: Value | undefined) => number);
}

/** 10,000 schedules are 2.9 MB, for which the server works 0.13 s. */
const MS_PER_ROW = 3;

/** The interval of a list that is asked for again from its beginning: a longer list comes less often, so that an open page costs the server little. */
export function listMs(everyMs: number, rowCount = 0): number {
  return Math.max(everyMs, rowCount * MS_PER_ROW);
}

/** `inputs`: the function runs again when one of them changes, and the old answer is forgotten. */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
  { everyMs }: LoadOptions<Value> = {},
): Loaded<Value> {
  const [state, setState] = useState<{ value?: Value; error?: string; isLoading: boolean }>({ isLoading: true });
  const [round, setRound] = useState(0);
  const key = JSON.stringify(inputs);
  const lastKey = useRef(key);
  const isBusy = useRef(false);
  // `key` stands for what `load` closes over.
  useEffect(() => {
    const controller = new AbortController();
    const isNew = lastKey.current !== key;
    lastKey.current = key;
    isBusy.current = true;
    setState((old) => (isNew ? { isLoading: true } : { ...old, isLoading: true }));
    load(controller.signal).then(
      (value) => {
        if (controller.signal.aborted) return;
        isBusy.current = false;
        setState({ value, isLoading: false });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        isBusy.current = false;
        setState((old) => ({ ...old, error: textOf(error), isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  const pauseMs = typeof everyMs === "function" ? everyMs(state.value) : everyMs;
  useEffect(() => {
    if (pauseMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible" && !isBusy.current) reload();
    }, pauseMs);
    return () => clearInterval(timer);
  }, [pauseMs, reload]);
  return { value: state.value, error: state.error, isLoading: state.isLoading, reload };
}

export function textOf(error: unknown): string {
  return error instanceof ApiError || error instanceof Error ? error.message : String(error);
}
