/** The state of a message, a step or a run, as a badge: one colour for each outcome, whatever the area calls it. */
import { Badge, type Tone } from "./badge.tsx";

/** Tones by the word of the API; other words are plain. */
const tones: Readonly<Record<string, Tone>> = {
  ACTIVE: "busy",
  STEP_PROGRESS: "busy",
  RUN_STARTED: "busy",
  IN_PROGRESS: "busy",
  CALLBACK_INPROGRESS: "busy",
  RETRY: "warn",
  STEP_RETRY: "warn",
  ERROR: "bad",
  FAILED: "bad",
  FAIL: "bad",
  STEP_FAILED: "bad",
  RUN_FAILED: "bad",
  CALLBACK_FAIL: "bad",
  DELIVERED: "good",
  SUCCESS: "good",
  STEP_SUCCESS: "good",
  RUN_SUCCESS: "good",
  CALLBACK_SUCCESS: "good",
};

export function toneOf(state: string): Tone {
  return tones[state] ?? "plain";
}

/** `DELIVERED` is shown as "delivered", `RUN_SUCCESS` as "success". */
export function StateBadge({ state }: { state: string }) {
  return <Badge tone={toneOf(state)}>{stateText(state)}</Badge>;
}

export function stateText(state: string): string {
  return state
    .replace(/^(?:RUN|STEP|CALLBACK)_/, "")
    .toLowerCase()
    .replaceAll("_", " ");
}
