/** Filters of workflow runs (W.cancel-many, W.logs.filters), by the rules of messages.ts. */
import { badRequest, type RunState, type RunsFilter, runStateNames } from "../../../messaging/mod.ts";
import { type Parameters, parseWholeNumber } from "../parameters.ts";

interface RunsDraft {
  ids?: readonly string[];
  urls?: readonly string[];
  urlPrefixes?: readonly string[];
  hosts?: readonly string[];
  paths?: readonly string[];
  fromMs?: number;
  toMs?: number;
  createdAtMs?: readonly number[];
  states?: readonly RunState[];
  labels?: readonly string[];
  flowControlKeys?: readonly string[];
  callerIps?: readonly string[];
}

interface RunsFilterRow {
  readonly name: string;
  readonly meaning: string;
  /** Separator of values; a comma if absent. */
  readonly separator?: RegExp;
  /** Type of its values; texts if absent. A list: the allowed words. */
  readonly values?: "whole numbers" | readonly string[];
  readonly apply: (draft: RunsDraft, values: readonly string[], name: string) => void;
}

/** URLs and paths may contain commas. */
const BEFORE_URL = /,(?=https?:\/\/)/i;
const BEFORE_PATH = /,(?=\/)/;

const ids = (draft: RunsDraft, values: readonly string[]): void => {
  draft.ids = [...(draft.ids ?? []), ...values];
};
const callerIps = (draft: RunsDraft, values: readonly string[]): void => {
  draft.callerIps = values;
};

export const runsFilterRows: readonly RunsFilterRow[] = [
  { name: "workflowRunIds", meaning: "ids of runs", apply: ids },
  { name: "workflowRunId", meaning: "the same", apply: ids },
  {
    name: "workflowUrl",
    meaning: "its URL; when cancelling, a prefix of it unless `workflowUrlExactMatch` is true",
    separator: BEFORE_URL,
    apply(draft, values) {
      draft.urls = values;
    },
  },
  {
    name: "workflowUrlStartingWith",
    meaning: "prefix of its URL",
    separator: BEFORE_URL,
    apply(draft, values) {
      draft.urlPrefixes = values;
    },
  },
  {
    name: "host",
    meaning: "host of its URL",
    apply(draft, values) {
      draft.hosts = values;
    },
  },
  {
    name: "path",
    meaning: "path of its URL",
    separator: BEFORE_PATH,
    apply(draft, values) {
      draft.paths = values;
    },
  },
  {
    name: "fromDate",
    meaning: "started then or later: Unix ms",
    values: "whole numbers",
    apply(draft, [text = ""], name) {
      draft.fromMs = parseWholeNumber(name, text);
    },
  },
  {
    name: "toDate",
    meaning: "started then or before: Unix ms",
    values: "whole numbers",
    apply(draft, [text = ""], name) {
      draft.toMs = parseWholeNumber(name, text);
    },
  },
  {
    name: "workflowCreatedAt",
    meaning: "when it started: Unix ms",
    values: "whole numbers",
    apply(draft, values, name) {
      draft.createdAtMs = values.map((text) => parseWholeNumber(name, text));
    },
  },
  {
    name: "state",
    meaning: "RUN_STARTED, RUN_SUCCESS, RUN_FAILED or RUN_CANCELED",
    values: runStateNames,
    apply(draft, values) {
      draft.states = values.map((text) => parseRunState(text, runStateNames));
    },
  },
  {
    name: "label",
    meaning: "one of its labels",
    apply(draft, values) {
      draft.labels = values;
    },
  },
  {
    name: "flowControlKey",
    meaning: "flow-control key",
    apply(draft, values) {
      draft.flowControlKeys = values;
    },
  },
  { name: "callerIp", meaning: "address of the client that started it", apply: callerIps },
  { name: "callerIP", meaning: "the same", apply: callerIps },
];

/** Whether `workflowUrl` is the whole URL. */
export const EXACT_URL = "workflowUrlExactMatch";
const NAME_LENGTH_MAX = 100;

/** Throws a `MessagingFailure`. A call that changes data refuses unknown names and empty values. */
export function readRunsFilter(
  parameters: Parameters,
  { isChange, others }: { readonly isChange: boolean; readonly others: readonly string[] },
): RunsFilter {
  const draft: RunsDraft = {};
  for (const name of parameters.names) {
    if (name === EXACT_URL || others.includes(name)) continue;
    const row = runsFilterRows.find((candidate) => candidate.name === name);
    if (row === undefined) {
      if (isChange) throw badRequest(`Unknown filter: ${name.slice(0, NAME_LENGTH_MAX)}`);
      continue;
    }
    const values = parameters
      .all(name)
      .flatMap((text) => text.split(row.separator ?? /,/))
      .map((text) => text.trim())
      .filter((text) => text !== "");
    if (values.length > 0) row.apply(draft, values, name);
    else if (isChange) throw badRequest(`Invalid value for ${name}: it must not be empty`);
  }
  if (isChange && draft.urls !== undefined && parameters.text(EXACT_URL) !== "true") {
    draft.urlPrefixes = [...(draft.urlPrefixes ?? []), ...draft.urls];
    delete draft.urls;
  }
  return draft;
}

/** `known`: the states that the parameter takes, for the error. */
export function parseRunState(text: string, known: readonly string[]): RunState {
  const state = runStateNames.indexOf(spelled(text));
  if (state < 0) {
    const names = known.join(", ");
    throw badRequest(`Invalid value for state: ${JSON.stringify(text.slice(0, NAME_LENGTH_MAX))}: use one of ${names}`);
  }
  return state as RunState;
}

/** The canonical spelling of a state. */
export function spelled(text: string): string {
  return text.toUpperCase().replace("CANCELLED", "CANCELED");
}
