/** An outbound client that calls a hostile server; its clock is stopped until a call hangs. */
import assert from "node:assert/strict";
import { OutboundClient, type OutboundResult } from "../../src/edge/outbound/client.ts";
import { parseDestinations } from "../../src/edge/outbound/destination-policy.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { HostileKind, HostileOutcome, HostileServer } from "./hostile-server.ts";

const TIMEOUT_MS = 30_000;
const RESPONSE_BYTES_MAX = 20_000;

/** The number of calls of kinds that hang, over all runs on a server. */
const hangCounts = new WeakMap<HostileServer, number>();

export function hostileRun(server: HostileServer) {
  const clock = new VirtualClock();
  const client = new OutboundClient({
    resolver: { resolve: () => Promise.reject(new Error("no names here")) },
    clock,
    policy: parseDestinations("any", []),
    map: [],
    responseBytesMax: RESPONSE_BYTES_MAX,
  });

  return {
    client,

    /** Calls all at once and advances past the deadline of those that hang. Results are in the order of `kinds`. */
    async calls(kinds: readonly HostileKind[]): Promise<readonly OutboundResult[]> {
      const pending = kinds.map((kind) => ({ kind, result: call(client, server.urlOf(kind)) }));
      const hanging = pending.filter(({ kind }) => kind.hangs === true).length;
      hangCounts.set(server, (hangCounts.get(server) ?? 0) + hanging);
      await Promise.all(pending.filter(({ kind }) => kind.hangs !== true).map(({ result }) => result));
      await server.hanging(hangCounts.get(server) ?? 0);
      clock.advance(TIMEOUT_MS);
      return Promise.all(pending.map(({ result }) => result));
    },

    /** Checks that nothing is pending, and that after `close` nothing is open on either side. */
    async end(): Promise<void> {
      assert.equal(client.callCount, 0);
      await client.close();
      assert.equal(client.socketCount, 0);
      await server.quiet();
    },
  };
}

/** True if the result is exactly the outcome of the kind. */
export function matches(result: OutboundResult, outcome: HostileOutcome): boolean {
  if (result.kind === "answer") {
    return (
      outcome.kind === "answer" &&
      result.status === outcome.status &&
      result.isBodyCut === (outcome.isBodyCut ?? false) &&
      result.body.length <= RESPONSE_BYTES_MAX &&
      (outcome.isBodyCut !== true || result.body.length === RESPONSE_BYTES_MAX) &&
      (outcome.body === undefined || result.body.latin1Slice() === outcome.body)
    );
  }
  return (
    outcome.kind === "failure" &&
    outcome.text.test(result.text) &&
    (outcome.status === undefined || result.status === outcome.status)
  );
}

/** A second call of `done` fails the running test. */
function call(client: OutboundClient, url: string): Promise<OutboundResult> {
  return new Promise((resolve) => {
    let doneCount = 0;
    client.send(
      { user: "main", url, method: "POST", headers: ["A", "b"], body: Buffer.from("body"), timeoutMs: TIMEOUT_MS },
      (result) => {
        doneCount += 1;
        assert.equal(doneCount, 1, `${url} has one result`);
        resolve(result);
      },
    );
    assert.equal(doneCount, 0, `${url} has no result before send returns`);
  });
}
