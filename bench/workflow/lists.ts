/** The cost of the list of a delivery, by the length of its run: with the cached text, and without it. */
import { Body } from "../../src/messaging/bodies/body.ts";
import { defaultLimits } from "../../src/messaging/limits.ts";
import { MessagingState } from "../../src/messaging/state/messaging-state.ts";
import type { Run } from "../../src/messaging/state/run.ts";
import { StepsPayloadCache } from "../../src/messaging/workflow/steps-payload.ts";
import { median } from "../harness/statistics.ts";

export interface ListResult {
  readonly entries: number;
  readonly bytes: number;
  /** The run has one more entry than at the previous delivery. */
  readonly grownUs: number;
  /** The text was not cached. */
  readonly rebuiltUs: number;
}

const BODY = Buffer.alloc(1_024, "x");
const ROUNDS = 21;
const TEXTS_BYTES_MAX = 512 * 1_024 * 1_024;

export function measureList(entries: number): ListResult {
  const state = new MessagingState(defaultLimits);
  const user = state.createUser(1, "main", { current: "sig_1", next: "sig_2" });
  const record = {
    id: "wfr_1",
    url: "http://a.test/",
    createdAtMs: 1,
    callerIp: "",
    config: { headers: [] },
    depth: 0,
  };
  const run = state.createRun(user, record);
  for (let count = 0; count < entries; count += 1) addEntry(state, run);
  const payloads = new StepsPayloadCache(state.bodies, TEXTS_BYTES_MAX);
  const rebuilt = times(() => {
    run.stepsPayload?.release();
    return () => payloads.upTo(run, entries - 1);
  });
  const grown = times(() => {
    addEntry(state, run);
    return () => payloads.upTo(run, run.entries.length - 1);
  });
  return { entries, bytes: run.entries[entries - 1]?.listBytes ?? 0, grownUs: grown, rebuiltUs: rebuilt };
}

function addEntry(state: MessagingState, { id, user, record, entries }: Run): void {
  const workflow = { runId: id, callType: "step" } as const;
  const envelope = state.envelopes.share({ url: record.url, method: "POST", headers: [], retriesMax: 3, workflow });
  const facts = { sequence: entries.length + 1, nonce: 1, createdAtMs: 1, notBeforeMs: 1, slotOwner: 0 };
  state.copyEntry(user, envelope, Body.of(BODY, true), facts);
}

/** Median in us of what `prepare` returns. */
function times(prepare: () => () => unknown): number {
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const measured = prepare();
    const startMs = performance.now();
    measured();
    took.push((performance.now() - startMs) * 1_000);
  }
  return median(took);
}
