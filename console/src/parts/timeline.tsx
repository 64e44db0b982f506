/** What happened, from the first to the last: a list with a mark for each event. */
import "./timeline.css";
import type { ComponentChildren } from "preact";
import type { Tone } from "./badge.tsx";
import { durationText } from "./format.ts";
import { Time } from "./time.tsx";

export interface TimelineItem {
  readonly key: string;
  readonly tone: Tone;
  readonly title: ComponentChildren;
  /** Unix ms. */
  readonly at?: number | undefined;
  readonly tookMs?: number | undefined;
  /** Below the title. */
  readonly detail?: ComponentChildren;
}

export function Timeline({ label, items }: { label: string; items: readonly TimelineItem[] }) {
  return (
    <ol class="timeline" aria-label={label}>
      {items.map(({ key, tone, title, at, tookMs, detail }) => (
        <li key={key} class={`tone-${tone}`}>
          <div class="timeline-head">
            <strong>{title}</strong>
            {tookMs !== undefined && <span class="hint">took {durationText(tookMs)}</span>}
            {at !== undefined && (
              <span class="hint">
                <Time at={at} isExact /> (<Time at={at} />)
              </span>
            )}
          </div>
          {detail !== undefined && <div class="timeline-detail">{detail}</div>}
        </li>
      ))}
    </ol>
  );
}
