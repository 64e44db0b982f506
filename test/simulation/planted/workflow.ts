/** Bugs that workflows could have, each planted between the parts of an engine. */
import type { Messaging } from "../../../src/messaging/messaging.ts";
import type { Recorder } from "../../../src/messaging/records/recorder.ts";
import type { Run } from "../../../src/messaging/state/run.ts";
import type { WorkflowBug } from "../workflow/life.ts";
import { runSimulation } from "../workflow/simulation.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

export const workflowBugs: PlantedBugs<WorkflowBug> = {
  simulation: "workflows",
  run: async (seed, bug) => textOf((await runSimulation({ seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 150,
  bugs: [
    {
      name: "an event and a time-out both win",
      breaks: "src/messaging/workflow/waits.ts",
      bug: keepWaiters,
      seed: 2,
      found: /the wait \d+ of \S+ must not have both an event and a time-out/,
    },
    {
      name: "a delivery carries entries that came later",
      breaks: "src/messaging/workflow/run-messages.ts",
      bug: runAhead,
      seed: 1,
      found: /a delivery of \S+ must end with its own entry/,
    },
    {
      name: "a delivery carries all written entries of its run's list",
      breaks: "src/messaging/workflow/steps-payload.ts",
      bug: handOutAll,
      seed: 1,
      found: /a delivery of \S+ must end with its own entry/,
    },
    {
      name: "the settings of a run are lost at a restart",
      breaks: "src/messaging/records/run-records.ts",
      bug: loseConfig,
      seed: 1,
      found: /a restart must keep run \S+/,
    },
    {
      name: "a result is appended to an ended run",
      breaks: "src/messaging/state/run.ts",
      bug: keepAppending,
      seed: 6,
      found: /the run \S+ was finished but is in state 3/,
    },
    {
      name: "a run that waits for a child is not woken when the child is cancelled",
      breaks: "src/messaging/workflow/invoke.ts",
      bug: forgetInvoker,
      seed: 4,
      found: /the run \S+ must end/,
    },
  ],
};

function keepWaiters({ engine }: Messaging): void {
  const { recorder } = engine;
  const apply: Recorder["apply"] = recorder.apply.bind(recorder);
  recorder.apply = (user, kind, fields) =>
    kind === "waiterRemoved" ? (undefined as ReturnType<typeof apply<typeof kind>>) : apply(user, kind, fields);
}

function runAhead({ engine }: Messaging): void {
  const { workflows } = engine;
  const bodyOf = workflows.bodyOf.bind(workflows);
  workflows.bodyOf = (message, run) => {
    const last = run.entries.at(-1);
    const isLate =
      last !== undefined && last.sequence > message.sequence && run.entryOf(message.sequence) !== undefined;
    return bodyOf(isLate ? Object.create(message, { sequence: { value: last.sequence } }) : message, run);
  };
}

function handOutAll({ engine }: Messaging): void {
  const { payloads } = engine.workflows;
  const upTo = payloads.upTo.bind(payloads);
  payloads.upTo = (run, index) => upTo(run, Math.max(index, (run.stepsPayload?.count ?? 0) - 1));
}

function loseConfig({ engine }: Messaging, restarts: number): void {
  if (restarts === 0) return;
  for (const { runs } of engine.state.users) {
    for (const run of runs.values()) run.record = { ...run.record, config: { headers: [] } };
  }
}

function keepAppending({ engine }: Messaging): void {
  const { state } = engine;
  const createRun = state.createRun.bind(state);
  state.createRun = (user, record) => {
    const run: Run = createRun(user, record);
    // Failed runs have a state of their own.
    Object.defineProperty(run, "isStarted", { get: () => run.state < 2 });
    return run;
  };
}

function forgetInvoker({ engine }: Messaging): void {
  const { workflows } = engine;
  const cancel = workflows.cancel.bind(workflows);
  workflows.cancel = (unit, run) => {
    const { record } = run;
    run.record = { ...record, invoker: undefined };
    cancel(unit, run);
    run.record = record;
  };
}
