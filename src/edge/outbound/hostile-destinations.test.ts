/** Every misbehaviour of a destination ends the call with one result and leaves nothing open (threats C-13 to C-16). */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hostileRun, matches } from "../../../test/harness/hostile-calls.ts";
import { type HostileServer, hostileKinds, startHostileServer } from "../../../test/harness/hostile-server.ts";

let server: HostileServer;
before(async () => {
  server = await startHostileServer();
});
after(() => server.stop());

for (const kind of hostileKinds) {
  test(`${kind.name === "compressed" ? "C-16" : "C-13, C-14"}: ${kind.name} is ${kind.outcome.kind === "answer" ? "an answer" : "a failure with its own text"}`, async () => {
    const run = hostileRun(server);
    const [result] = await run.calls([kind]);
    assert.ok(result !== undefined && matches(result, kind.outcome), JSON.stringify(result));
    await run.end();
  });
}
