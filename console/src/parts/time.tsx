/** A moment: how long ago, with the exact time on hover. */
import { signal } from "@preact/signals";
import { agoText, momentText } from "./format.ts";

/** Advances each second while the page is visible, so that all times on it agree. */
const nowMs = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") nowMs.value = Date.now();
}, 1_000);

/** `at`: Unix ms. */
export function Time({ at, isExact = false }: { at: number | undefined; isExact?: boolean }) {
  if (at === undefined || !Number.isFinite(at)) return <span>–</span>;
  const exact = momentText(at);
  return (
    <time dateTime={new Date(at).toISOString()} title={exact}>
      {isExact ? exact : agoText(at, nowMs.value)}
    </time>
  );
}
