/** What the list of a delivery costs the engine, by the length of its run: with what was written before it, and from nothing. */
import { Body } from "../../src/messaging/bodies/body.ts";
import { defaultLimits } from "../../src/messaging/limits.ts";
import { Realm } from "../../src/messaging/state/messaging-state.ts";
import { ListCache } from "../../src/messaging/workflow/list-cache.ts";
import type { Run } from "../../src/messaging/workflow/run.ts";
import { median } from "../harness/statistics.ts";

export interface ListResult {
  readonly entries: number;
  readonly bytes: number;
  /** The run has one entry more than the delivery before it had. */
  readonly grownUs: number;
  /** The text was not kept. */
  readonly anewUs: number;
}

const BODY = Buffer.alloc(1_024, "x");
const ROUNDS = 21;
const TEXTS_BYTES_MAX = 512 * 1_024 * 1_024;

export function measureList(entries: number): ListResult {
  const realm = new Realm(defaultLimits);
  const user = realm.createUser(1, "main", { current: "sig_1", next: "sig_2" });
  const record = {
    id: "wfr_1",
    url: "http://a.test/",
    createdAtMs: 1,
    callerIp: "",
    config: { headers: [] },
    depth: 0,
  };
  const run = realm.createRun(user, record);
  for (let count = 0; count < entries; count += 1) addEntry(realm, run);
  const lists = new ListCache(realm.bodies, TEXTS_BYTES_MAX);
  const anew = times(() => {
    run.text?.release();
    return () => lists.listUpTo(run, entries - 1);
  });
  const grown = times(() => {
    addEntry(realm, run);
    return () => lists.listUpTo(run, run.entries.length - 1);
  });
  return { entries, bytes: run.entries[entries - 1]?.listBytes ?? 0, grownUs: grown, anewUs: anew };
}

function addEntry(realm: Realm, { id, user, record, entries }: Run): void {
  const workflow = { runId: id, callType: "step" } as const;
  const envelope = realm.envelopes.share({ url: record.url, method: "POST", headers: [], retriesMax: 3, workflow });
  const facts = { sequence: entries.length + 1, nonce: 1, createdAtMs: 1, notBeforeMs: 1, slotOwner: 0 };
  realm.copyEntry(user, envelope, Body.of(BODY, true), facts);
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
