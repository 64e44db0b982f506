import type { ComponentChildren } from "preact";

export type Tone = "good" | "bad" | "warn" | "busy" | "plain";

/** A short word about a state. The tone is never the only difference. */
export function Badge({ tone = "plain", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
