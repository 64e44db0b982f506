/** The limit of subscriptions of a session. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startSessions } from "../../../test/harness/session-harness.ts";
import { subscriptionsTooMany } from "../errors.ts";
import { push } from "../reply/reply.ts";
import { Listening } from "./listening.ts";

const channels = { name: "subscribe", kind: "channel" } as const;
const patterns = { name: "psubscribe", kind: "pattern" } as const;

test("SUBSCRIBE and PSUBSCRIBE together have a limit, and unsubscribing makes room", () => {
  const { session } = startSessions().connect();
  const listening = new Listening(session, 2);
  assert.deepEqual(listening.subscribe("a", channels), push(["subscribe", "a", 1]));
  assert.deepEqual(listening.subscribe("a*", patterns), push(["psubscribe", "a*", 2]));
  for (const turn of [channels, patterns])
    assert.throws(
      () => listening.subscribe("b", turn),
      (thrown) => thrown === subscriptionsTooMany,
    );
  assert.equal(listening.count, 2);
  listening.unsubscribe("a", channels);
  assert.deepEqual(listening.subscribe("b", channels), push(["subscribe", "b", 2]));
});
