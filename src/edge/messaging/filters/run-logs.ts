/**
 * Filters of the log by run, in addition to those of runs.ts: states of runs and
 * of their steps, and runs by their messages.
 *
 * The state of a step is computed from the log of its run, which is read only for
 * runs that can have such a step.
 */
import {
  badRequest,
  type MessagingApi,
  type Run,
  type RunLog,
  type RunState,
  type RunsFilter,
  runState,
  runStateNames,
} from "../../../messaging/mod.ts";
import { type Parameters, parseWholeNumber } from "../parameters.ts";
import { parseRunState, readRunsFilter, spelled } from "./runs.ts";

export interface RunLogFilter {
  readonly runs: RunsFilter;
  /** Further condition; undefined: all runs that `runs` finds. */
  readonly isMeant: ((run: Run, log: RunLog) => boolean) | undefined;
}

interface StepState {
  readonly name: string;
  /** Runs that can have such a step. */
  readonly of: readonly RunState[];
}

const { started, success, failed, canceled } = runState;

const stepStates: readonly StepState[] = [
  { name: "STEP_PROGRESS", of: [started] },
  { name: "STEP_RETRY", of: [started] },
  { name: "STEP_SUCCESS", of: [started, success, failed, canceled] },
  { name: "STEP_FAILED", of: [failed] },
  { name: "STEP_CANCELED", of: [success, failed, canceled] },
];

interface RunLogFilterRow {
  readonly name: string;
  readonly meaning: string;
  /** The words that are its values; any text if absent. */
  readonly values?: readonly string[];
}

const stateNames: readonly string[] = [...runStateNames, ...stepStates.map(({ name }) => name)];

export const runLogFilterRows: readonly RunLogFilterRow[] = [
  { name: "state", meaning: `${stateNames.join(", ")}: the run, or one of its steps`, values: stateNames },
  { name: "messageId", meaning: "a message of the run" },
  {
    name: "workflowRuns",
    meaning: "ids of runs, each optionally followed by `@` and its start time in Unix ms",
  },
];

const MESSAGES_MAX = 100;
/** Entries of the log; a message has one for each of its states. */
const ENTRIES_MAX = 1_000;

/** Throws a `MessagingFailure`. Ignores unknown names, as in all lists. */
export async function readRunLogFilter(api: MessagingApi, parameters: Parameters): Promise<RunLogFilter> {
  const others = runLogFilterRows.map(({ name }) => name);
  const { ids, ...rest } = readRunsFilter(parameters, { isChange: false, others });
  const named = valuesOf(parameters, "workflowRuns");
  const messages = valuesOf(parameters, "messageId");
  const lists = [
    ids,
    named.length === 0 ? undefined : named.flatMap((text) => namedRun(api, text)),
    messages.length === 0 ? undefined : await runsOfMessages(api, messages),
  ].filter((list) => list !== undefined);
  const [first] = lists;
  const matching = first?.filter((id) => lists.every((list) => list.includes(id)));
  const states = valuesOf(parameters, "state");
  const runs = { ...rest, ...(matching && { ids: matching }) };
  return states.length === 0 ? { runs, isMeant: undefined } : withStates(states, runs);
}

function valuesOf(parameters: Parameters, name: string): readonly string[] {
  const values = parameters.all(name).flatMap((text) => text.split(","));
  return values.map((text) => text.trim()).filter((text) => text !== "");
}

/** The id of an existing run; none if it started at another time. */
function namedRun({ workflows }: MessagingApi, text: string): readonly string[] {
  const at = text.lastIndexOf("@");
  const id = at < 0 ? text : text.slice(0, at);
  const createdAtMs = at < 0 ? undefined : parseWholeNumber("workflowRuns", text.slice(at + 1));
  const run = workflows.find(id);
  return run !== undefined && (createdAtMs ?? run.record.createdAtMs) === run.record.createdAtMs ? [id] : [];
}

async function runsOfMessages(api: MessagingApi, messages: readonly string[]): Promise<readonly string[]> {
  if (messages.length > MESSAGES_MAX) throw badRequest(`Invalid value for messageId: more than ${MESSAGES_MAX} ids`);
  const filter = { attributes: new Map([["messageId", messages] as const]) };
  const { entries } = await api.logs(filter, { order: "latest first", count: ENTRIES_MAX });
  return [...new Set(entries.flatMap(({ message }) => message.envelope.workflow?.runId ?? []))];
}

/** Several states, of runs and of steps, are alternatives. */
function withStates(names: readonly string[], runs: RunsFilter): RunLogFilter {
  const ofRuns = new Set<RunState>();
  const ofSteps = new Set<string>();
  const candidates = new Set<RunState>();
  for (const text of names) {
    const step = stepStates.find(({ name }) => name === spelled(text));
    if (step === undefined) ofRuns.add(parseRunState(text, stateNames));
    else ofSteps.add(step.name);
    for (const state of step?.of ?? []) candidates.add(state);
  }
  const states = [...new Set([...ofRuns, ...candidates])];
  if (ofSteps.size === 0) return { runs: { ...runs, states }, isMeant: undefined };
  const isMeant = ({ state }: Run, { groups }: RunLog): boolean =>
    ofRuns.has(state) ||
    groups.some(({ steps }) => steps.some((step) => "state" in step && ofSteps.has(String(step.state))));
  return { runs: { ...runs, states }, isMeant };
}
