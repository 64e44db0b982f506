/**
 * An event stream of the store that runs only while somebody looks: it stops when the page is left or hidden, and begins again
 * when the page is visible. The list has a bound; the oldest events leave it.
 */
import { useEffect, useState } from "preact/hooks";
import { readEvents } from "../../../api/events.ts";
import { textOf } from "../../../api/load.ts";

export interface LiveEvent {
  readonly id: number;
  readonly atMs: number;
  readonly text: string;
}

export interface Live {
  /** Newest first. */
  readonly events: readonly LiveEvent[];
  readonly state: "stopped" | "running" | "hidden" | "ended";
  readonly error: string | undefined;
  /** Events that have left the list. */
  readonly droppedCount: number;
  clear(): void;
}

const EVENTS_MAX = 1_000;
/** Longer events are cut: a list of many long ones would fill the memory of the browser. */
const EVENT_LENGTH_MAX = 10_000;
/** Events within this time are shown together. */
const FLUSH_MS = 250;

interface Shown {
  readonly events: readonly LiveEvent[];
  readonly droppedCount: number;
}

const nothing: Shown = { events: [], droppedCount: 0 };
let nextId = 1;

/** `path`: of the stream; undefined: stopped. */
export function useLive(path: string | undefined): Live {
  const [shown, setShown] = useState(nothing);
  const [state, setState] = useState<Live["state"]>("stopped");
  const [error, setError] = useState<string>();
  const isVisible = useVisible();
  useEffect(() => {
    setError(undefined);
    if (path === undefined || !isVisible) {
      setState(path === undefined ? "stopped" : "hidden");
      return;
    }
    setState("running");
    const controller = new AbortController();
    let waiting: LiveEvent[] = [];
    let isConfirmed = false;
    const add = (text: string): void => {
      // The first event of a stream only says that it has begun.
      if (!isConfirmed) {
        isConfirmed = true;
        return;
      }
      const cut = text.length > EVENT_LENGTH_MAX ? `${text.slice(0, EVENT_LENGTH_MAX)}…` : text;
      waiting.push({ id: nextId++, atMs: Date.now(), text: cut });
    };
    const flush = (): void => {
      if (waiting.length === 0) return;
      const fresh = waiting.reverse();
      waiting = [];
      setShown(({ events, droppedCount }) => {
        const all = [...fresh, ...events];
        return { events: all.slice(0, EVENTS_MAX), droppedCount: droppedCount + Math.max(0, all.length - EVENTS_MAX) };
      });
    };
    const timer = setInterval(flush, FLUSH_MS);
    readEvents(path, add, controller.signal).then(
      () => setState("ended"),
      (thrown: unknown) => {
        if (controller.signal.aborted) return;
        setState("ended");
        setError(textOf(thrown));
      },
    );
    return () => {
      controller.abort();
      clearInterval(timer);
      flush();
    };
  }, [path, isVisible]);
  return { ...shown, state, error, clear: () => setShown(nothing) };
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const update = (): void => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", update);
    return () => document.removeEventListener("visibilitychange", update);
  }, []);
  return isVisible;
}
