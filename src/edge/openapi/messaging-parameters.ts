/** Headers and query parameters of messaging, from the tables that read them. */

import { canonicalName } from "../../kernel/header-name.ts";
import { headerFamilies, headerRows } from "../../messaging/mod.ts";
import { type FilterTarget, filterRows, orderNames } from "../messaging/filters/messages.ts";
import { runLogFilterRows } from "../messaging/filters/run-logs.ts";
import { EXACT_URL, runsFilterRows } from "../messaging/filters/runs.ts";
import { trimBodyRow } from "../messaging/views/trim-body.ts";
import type { Parameter } from "./operation.ts";
import { list, type Schema, text, words } from "./schema.ts";

type HeaderRow = (typeof headerRows)[number];

const messageRows = headerRows.filter(({ onlyOnSchedules }) => onlyOnSchedules !== true);
const scheduleRows = headerRows.filter(({ notOnSchedules }) => notOnSchedules !== true);
const callbackRows = headerRows.filter(({ onCallbacks }) => onCallbacks);

/** With the prefix `Service-` (H.prefixes); the description of the document has the other spellings. */
function headerParameter({ name, value, meaning, examples }: HeaderRow, prefix = ""): Parameter {
  return {
    name: `Service-${canonicalName(prefix + name)}`,
    in: "header",
    schema: { ...text, examples },
    description: `${prefix === "" ? "" : "Callback: "}${meaning} (${value})`,
  };
}

const callbackHeaders: readonly Parameter[] = ["callback-", "failure-callback-"].flatMap((prefix) =>
  callbackRows
    // A failure callback has no failure callback.
    .filter(({ name }) => prefix === "callback-" || name !== "failure-callback")
    .map((row) => headerParameter(row, prefix)),
);

const contentType: Parameter = {
  name: "Content-Type",
  in: "header",
  schema: { ...text, examples: ["application/json", "text/plain"] },
  description: "Forwarded with the body",
};

const plain = new Map(headerRows.map((row) => [row, headerParameter(row)]));
const plainOf = (rows: readonly HeaderRow[]): readonly Parameter[] => rows.flatMap((row) => plain.get(row) ?? []);

/** Headers that are known by a prefix; OpenAPI has no wildcards in names. */
export const HEADER_FAMILIES = `Headers with a known prefix: ${headerFamilies
  .map(({ prefix, meaning }) => `\`Service-${canonicalName(prefix)}…\` ${meaning}`)
  .join("; ")}.`;

export const messageHeaders: readonly Parameter[] = [contentType, ...plainOf(messageRows), ...callbackHeaders];
export const scheduleHeaders: readonly Parameter[] = [
  contentType,
  ...plainOf(scheduleRows).map((row) => (row.name === "Service-Cron" ? { ...row, isRequired: true } : row)),
  ...callbackHeaders,
];
/** Headers that change dead letters that are published again. */
export const overrideHeaders: readonly Parameter[] = [...plainOf(messageRows), ...callbackHeaders];

export const runIdHeader: Parameter = {
  name: "Service-Workflow-RunId",
  in: "header",
  schema: text,
  description: "The id of the run",
};

function valueSchema(values: "whole numbers" | readonly string[] | undefined): Schema {
  if (values === undefined) return text;
  return values === "whole numbers" ? { type: "integer", minimum: 0 } : words(...values);
}

function queryList(
  name: string,
  values: "whole numbers" | readonly string[] | undefined,
  description: string,
): Parameter {
  return { name, in: "query", schema: list(valueSchema(values)), description };
}

const filtersByTarget = new Map<FilterTarget, readonly Parameter[]>();

/** The filters for a kind of target. */
export function filters(target: FilterTarget): readonly Parameter[] {
  let found = filtersByTarget.get(target);
  if (found === undefined) {
    found = filterRows
      .filter((row) => row.for.includes(target))
      .map(({ name, values, meaning }) => queryList(name, values, meaning));
    filtersByTarget.set(target, found);
  }
  return found;
}

export const runFilters: readonly Parameter[] = runsFilterRows.map(({ name, values, meaning }) =>
  queryList(name, values, meaning),
);
export const exactUrl: Parameter = {
  name: EXACT_URL,
  in: "query",
  schema: words("true", "false"),
  description: "Whether `workflowUrl` is the whole URL",
};

/** The filters of the log by run. */
export const runLogFilters: readonly Parameter[] = eachNameOnce([
  ...runFilters,
  ...runLogFilterRows.map(({ name, values, meaning }) => queryList(name, values, meaning)),
]);

/** The same, and the filters of the log by message. If both have a name, the former is described. */
export const runEventFilters: readonly Parameter[] = eachNameOnce([...filters("logs"), ...runLogFilters]);

/** The last parameter of each name. */
function eachNameOnce(parameters: readonly Parameter[]): readonly Parameter[] {
  return [...new Map(parameters.map((parameter) => [parameter.name, parameter])).values()];
}

export const cursor: Parameter = {
  name: "cursor",
  in: "query",
  schema: text,
  description: "The cursor of the previous page",
};
export const order: Parameter = { name: "order", in: "query", schema: words(...orderNames) };

export const trimBody: Parameter = {
  name: trimBodyRow.name,
  in: "query",
  schema: { type: "integer", minimum: 0 },
  description: trimBodyRow.meaning,
};

/** The most results; a larger number means `countMax`. */
export function count(countMax: number): Parameter {
  return {
    name: "count",
    in: "query",
    schema: { type: "integer", minimum: 1, maximum: countMax },
    description: "Maximum number of results",
  };
}
