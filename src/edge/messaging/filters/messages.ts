/**
 * Filters that select messages, log entries or dead letters, and the size and
 * order of a page (C.filters, C.pages).
 *
 * (1) Ids override all other filters.
 * (2) Values of one name are alternatives, from repeated names or separated by
 *     commas. Different names must all match.
 * (3) A call that changes data refuses unknown names and empty values: an ignored
 *     filter would select everything. A list ignores them.
 */
import {
  type AttributeName,
  badRequest,
  type Filter,
  type MessageState,
  type Page,
  type RunFilter,
  stateRows,
  statesInProgress,
} from "../../../messaging/mod.ts";
import { type Parameters, parseWholeNumber } from "../parameters.ts";

/** A filter parameter. */
export interface FilterRow {
  readonly name: string;
  readonly meaning: string;
  /** The kinds of calls that accept it. */
  readonly for: readonly FilterTarget[];
  /** Separator of values; a comma if absent. */
  readonly separator?: RegExp;
  /** Type of its values; texts if absent. A list: the allowed words. */
  readonly values?: "whole numbers" | readonly string[];
  readonly attribute?: AttributeName;
  readonly apply?: (draft: FilterDraft, values: readonly string[], name: string) => void;
}

export type FilterTarget = "messages" | "dead letters" | "logs";

interface FilterDraft {
  ids: string[] | undefined;
  readonly attributes: Map<AttributeName, string[]>;
  fromMs: number | undefined;
  toMs: number | undefined;
  statuses: number[] | undefined;
  states: MessageState[] | undefined;
  /** Selects only dead letters of workflow runs. */
  runs: RunFilter | undefined;
}

const everywhere: readonly FilterTarget[] = ["messages", "dead letters", "logs"];
const notForDeadLetters: readonly FilterTarget[] = ["messages", "logs"];
const deadLettersOnly: readonly FilterTarget[] = ["dead letters"];
const logsOnly: readonly FilterTarget[] = ["logs"];

/** URLs and paths may contain commas. */
const BEFORE_URL = /,(?=https?:\/\/)/i;
const BEFORE_PATH = /,(?=\/)/;

const failureFunctionStates: readonly string[] = [
  "CALLBACK_INPROGRESS",
  "CALLBACK_SUCCESS",
  "CALLBACK_FAIL",
  "CALLBACK_CANCELED",
];

export const filterRows: readonly FilterRow[] = [
  { name: "messageIds", meaning: "ids of messages", for: ["messages"], apply: addIds },
  { name: "messageIds", meaning: "ids of messages", for: logsOnly, attribute: "messageId" },
  { name: "messageId", meaning: "id of a message", for: everywhere, attribute: "messageId" },
  { name: "dlqIds", meaning: "ids of dead letters", for: deadLettersOnly, apply: addIds },
  { name: "url", meaning: "destination", for: everywhere, attribute: "url", separator: BEFORE_URL },
  { name: "urls", meaning: "the same", for: logsOnly, attribute: "url", separator: BEFORE_URL },
  { name: "host", meaning: "host of the destination", for: notForDeadLetters, attribute: "host" },
  {
    name: "path",
    meaning: "path of the destination",
    for: notForDeadLetters,
    attribute: "path",
    separator: BEFORE_PATH,
  },
  { name: "topicName", meaning: "URL group", for: everywhere, attribute: "topicName" },
  { name: "scheduleId", meaning: "schedule that published it", for: everywhere, attribute: "scheduleId" },
  { name: "queueName", meaning: "queue", for: everywhere, attribute: "queueName" },
  { name: "label", meaning: "one of its labels", for: everywhere, attribute: "label" },
  { name: "labels", meaning: "the same", for: logsOnly, attribute: "label" },
  { name: "flowControlKey", meaning: "flow-control key", for: everywhere, attribute: "flowControlKey" },
  { name: "callerIp", meaning: "address of the publisher", for: everywhere, attribute: "callerIp" },
  { name: "callerIP", meaning: "the same", for: everywhere, attribute: "callerIp" },
  {
    name: "fromDate",
    meaning: "Unix ms, inclusive",
    for: everywhere,
    values: "whole numbers",
    apply(draft, [text = ""], name) {
      draft.fromMs = parseWholeNumber(name, text);
    },
  },
  {
    name: "toDate",
    meaning: "Unix ms, inclusive",
    for: everywhere,
    values: "whole numbers",
    apply(draft, [text = ""], name) {
      draft.toMs = parseWholeNumber(name, text);
    },
  },
  {
    name: "responseStatus",
    meaning: "status of the last attempt",
    for: deadLettersOnly,
    values: "whole numbers",
    apply(draft, values, name) {
      draft.statuses = values.map((text) => parseWholeNumber(name, text));
    },
  },
  {
    name: "state",
    meaning: "state of the entry; IN_PROGRESS is ACTIVE, RETRY or ERROR",
    for: logsOnly,
    values: [...stateRows.map(({ name }) => name), "IN_PROGRESS"],
    apply(draft, values) {
      draft.states = values.flatMap(parseState);
    },
  },
  {
    name: "source",
    meaning: "`workflow`: only failed workflow runs",
    for: deadLettersOnly,
    values: ["workflow"],
    apply(draft, values, name) {
      if (!values.every((text) => text === "workflow")) throw badRequest(`Invalid value for ${name}: use workflow`);
      draft.runs = { ...draft.runs };
    },
  },
  {
    name: "workflowRunId",
    meaning: "id of a failed workflow run",
    for: deadLettersOnly,
    apply(draft, values) {
      draft.runs = { ...draft.runs, ids: values };
    },
  },
  {
    name: "workflowRunId",
    meaning: "id of the workflow run that it belongs to",
    for: logsOnly,
    attribute: "workflowRunId",
  },
  {
    name: "workflowUrl",
    meaning: "URL of a failed workflow run",
    for: deadLettersOnly,
    separator: BEFORE_URL,
    apply(draft, values) {
      draft.runs = { ...draft.runs, urls: values };
    },
  },
  {
    name: "workflowCreatedAt",
    meaning: "when a failed workflow run started: Unix ms",
    for: deadLettersOnly,
    values: "whole numbers",
    apply(draft, values, name) {
      draft.runs = { ...draft.runs, createdAtMs: values.map((text) => parseWholeNumber(name, text)) };
    },
  },
  {
    name: "failureFunctionState",
    meaning: "CALLBACK_INPROGRESS, CALLBACK_SUCCESS, CALLBACK_FAIL or CALLBACK_CANCELED",
    for: deadLettersOnly,
    values: failureFunctionStates,
    apply(draft, values, name) {
      const unknown = values.find((text) => !failureFunctionStates.includes(text));
      if (unknown !== undefined) {
        const shown = JSON.stringify(unknown.slice(0, NAME_LENGTH_MAX));
        throw badRequest(`Invalid value for ${name}: ${shown}: use one of ${failureFunctionStates.join(", ")}`);
      }
      draft.runs = { ...draft.runs, failureFunctionStates: values };
    },
  },
];

const rowsByTarget: Readonly<Record<FilterTarget, ReadonlyMap<string, FilterRow>>> = {
  messages: rowsFor("messages"),
  "dead letters": rowsFor("dead letters"),
  logs: rowsFor("logs"),
};

function rowsFor(target: FilterTarget): ReadonlyMap<string, FilterRow> {
  return new Map(filterRows.filter((row) => row.for.includes(target)).map((row) => [row.name, row]));
}

export interface FilterReading {
  readonly target: FilterTarget;
  /** The call changes the entries that it finds. */
  readonly isChange: boolean;
  /** Other parameters of the call. */
  readonly others: readonly string[];
}

/** Reads the filter from the parameters. Throws a `MessagingFailure`. */
export function readFilter(parameters: Parameters, { target, isChange, others }: FilterReading): Filter {
  const rows = rowsByTarget[target];
  const draft: FilterDraft = {
    ids: undefined,
    attributes: new Map(),
    fromMs: undefined,
    toMs: undefined,
    statuses: undefined,
    states: undefined,
    runs: undefined,
  };
  for (const name of parameters.names) {
    const row = rows.get(name);
    if (row === undefined) {
      if (isChange && !others.includes(name)) throw badRequest(`Unknown filter: ${name.slice(0, NAME_LENGTH_MAX)}`); // keeps (3)
      continue;
    }
    const values = valuesOf(parameters, row);
    if (values.length > 0) applyRow(draft, row, values);
    else if (isChange) throw badRequest(`Invalid value for ${name}: it must not be empty`); // keeps (3)
  }
  if (draft.ids !== undefined) return { ids: draft.ids, attributes: new Map() }; // keeps (1)
  return filterOf(draft);
}

const NAME_LENGTH_MAX = 100;

/** keeps (2) */
function valuesOf(parameters: Parameters, { name, separator = /,/ }: FilterRow): readonly string[] {
  return parameters
    .all(name)
    .flatMap((text) => text.split(separator))
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

function applyRow(draft: FilterDraft, { name, attribute, apply }: FilterRow, values: readonly string[]): void {
  apply?.(draft, values, name);
  if (attribute !== undefined) draft.attributes.set(attribute, [...(draft.attributes.get(attribute) ?? []), ...values]);
}

function addIds(draft: FilterDraft, values: readonly string[]): void {
  draft.ids = [...(draft.ids ?? []), ...values];
}

function filterOf({ attributes, fromMs, toMs, statuses, states, runs }: FilterDraft): Filter {
  return {
    attributes,
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
    ...(statuses === undefined ? {} : { statuses }),
    ...(states === undefined ? {} : { states }),
    ...(runs === undefined ? {} : { runs }),
  };
}

/** Accepts both spellings of CANCELLED (C6.events). */
function parseState(text: string): readonly MessageState[] {
  const name = text.toUpperCase();
  if (name === "IN_PROGRESS") return statesInProgress;
  const row = stateRows.find((candidate) => candidate.name === (name === "CANCELED" ? "CANCELLED" : name));
  if (row === undefined) {
    const names = stateRows.map((candidate) => candidate.name).join(", ");
    throw badRequest(
      `Invalid value for state: ${JSON.stringify(text.slice(0, NAME_LENGTH_MAX))}: use ${names} or IN_PROGRESS`,
    );
  }
  return [row.state];
}

export interface PageBounds {
  readonly countDefault: number;
  readonly countMax: number;
  readonly orderDefault: Page["order"];
}

const orders: Readonly<Record<string, Page["order"]>> = {
  earliestFirst: "earliest first",
  latestFirst: "latest first",
};

export const orderNames: readonly string[] = Object.keys(orders);

/** Count, cursor and order of a list. A count above the limit becomes the limit. Throws a `MessagingFailure`. */
export function readPage(parameters: Parameters, { countDefault, countMax, orderDefault }: PageBounds): Page {
  const order = parameters.text("order");
  if (order !== undefined && !Object.hasOwn(orders, order)) {
    throw badRequest(
      `Invalid value for order: ${JSON.stringify(order.slice(0, NAME_LENGTH_MAX))}: use ${orderNames.join(" or ")}`,
    );
  }
  const cursor = parameters.text("cursor");
  const page = {
    order: (order === undefined ? undefined : orders[order]) ?? orderDefault,
    count: readCount(parameters, countMax) ?? countDefault,
  };
  return cursor === undefined ? page : { ...page, cursor };
}

/** The count, or undefined. A count above the limit becomes the limit. */
export function readCount(parameters: Parameters, countMax: number): number | undefined {
  const count = parameters.wholeNumber("count");
  if (count === 0) throw badRequest("Invalid value for count: it must be 1 or more");
  return count === undefined ? undefined : Math.min(count, countMax);
}

/** Page of a bulk change; without it, all matching entries. */
export interface BulkPage {
  readonly countMax?: number;
  readonly cursor?: string;
}

export function readBulkPage(parameters: Parameters, countMax: number): BulkPage {
  const count = readCount(parameters, countMax);
  const cursor = parameters.text("cursor");
  return {
    ...(count === undefined ? {} : { countMax: count }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}
