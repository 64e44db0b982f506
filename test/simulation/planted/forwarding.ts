/** Bugs of nodes that forward requests, and of changes of tokens that must reach all of them. */
import type { Sender } from "../../../src/edge/forward/front.ts";
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import type { ForwardingBug } from "../cluster/forwarding/forwarding-life.ts";
import { runForwarding } from "../cluster/forwarding/simulation.ts";
import { type RevocationBug, runRevocations } from "../cluster/tenants/revocation-world.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

/** An answer that was lost counts as a request that was not carried out. */
function retriesLost(sender: Sender): Sender {
  return {
    ...sender,
    async send(to, request) {
      const outcome = await sender.send(to, request);
      return outcome.kind === "lost" ? { kind: "not executed" } : outcome;
    },
  };
}

const PATIENCE_MS = 100;

/** A request without an answer after a while counts as one that was not carried out. */
function retriesSlow(sender: Sender, clock: VirtualClock): Sender {
  return {
    ...sender,
    send: (to, request) =>
      new Promise((resolve) => {
        clock.after(PATIENCE_MS, () => resolve({ kind: "not executed" }));
        void sender.send(to, request).then(resolve);
      }),
  };
}

export const forwardingBugs: PlantedBugs<ForwardingBug> = {
  simulation: "nodes that forward requests",
  run: async (seed, bug) => textOf((await runForwarding({ seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 20,
  bugs: [
    {
      name: "a front sends a request again whose answer was lost",
      breaks: "src/edge/forward/front.ts",
      bug: { sender: retriesLost },
      seed: 4,
      found: /was carried out 2 times|was refused with \d+ and carried out/,
    },
    {
      name: "a front sends a request again that has no answer yet",
      breaks: "src/edge/forward/pool-sender.ts",
      bug: { sender: retriesSlow },
      seed: 1,
      found: /was carried out 2 times|was refused with \d+ and carried out/,
    },
    {
      name: "a node forwards what was forwarded to it",
      breaks: "src/edge/forward/inner-service.ts",
      bug: { forwardsAgain: true },
      seed: 2,
      found: /node \w forwards request \d+, which node \w has forwarded/,
    },
  ],
};

export const revocationBugs: PlantedBugs<RevocationBug> = {
  simulation: "changes of tokens on the nodes of a cluster",
  run: (seed, bug) =>
    runRevocations(seed, bug).then(
      () => undefined,
      (fault: unknown) => String(fault),
    ),
  runsMax: 40,
  bugs: [
    {
      name: "a change of tokens is answered when the first node has it",
      breaks: "src/program/cluster/tenants/reach.ts",
      bug: { waitsForOne: true },
      seed: 2,
      found: /node \d+ accepts token \d+ of \w+/,
    },
    {
      name: "a node reports a change of tokens before its engines have made it",
      breaks: "src/program/cluster/tenants/run-time-tenants.ts",
      bug: { reportsEarly: true },
      seed: 1,
      found: /node \d+ accepts token \d+ of \w+/,
    },
  ],
};
