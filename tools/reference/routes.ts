/** The routes of all ports, from what their OpenAPI documents say. */
import { filterRows } from "../../src/edge/messaging/filters/messages.ts";
import { runLogFilterRows } from "../../src/edge/messaging/filters/run-logs.ts";
import { runsFilterRows } from "../../src/edge/messaging/filters/runs.ts";
import { trimBodyRow } from "../../src/edge/messaging/views/trim-body.ts";
import { describedAreas } from "../../src/edge/openapi/area-documents.ts";
import type { Operation } from "../../src/edge/openapi/operation.ts";
import { code, header, type Page, row } from "./page.ts";

export const routesPage: Page = {
  file: "routes.md",
  title: "Routes",
  about:
    "every path of every port, the rule that it fulfils, the token that it wants and its statuses; filters of lists",
  lines: routeLines,
};

const titles: Readonly<Record<keyof typeof describedAreas, string>> = {
  store: "The store",
  vector: "The vector index",
  messaging: "Messaging",
  admin: "The admin port",
};

function routeLines(): readonly string[] {
  const lines = [
    "What each takes and answers stands in the OpenAPI document that its port serves at `GET /openapi.json`. The rule is that of the interface; a letter alone says that only clients and documents of the hosted service know the route. A token marked `r` may be the read-only one; `–`: none is needed.",
  ];
  for (const [area, title] of Object.entries(titles)) {
    const { operations } = describedAreas[area as keyof typeof describedAreas]();
    lines.push("", `## ${title}`, "", ...header("route", "rule", "token", "what it does", "statuses"));
    const groups = Map.groupBy(operations, ({ path, summary }) => `${path.replace(NAMESPACE, "")} ${summary}`);
    for (const same of groups.values()) lines.push(routeLine(same));
  }
  lines.push(...filterLines());
  return lines;
}

/** Of the vector index; where a path may do without it, both are one line. */
const NAMESPACE = "/{namespace}";

const tokenMarks: Readonly<Record<Operation["token"], string>> = { open: "–", "read-only": "r", standard: "" };

/** Methods that are the same stand in one line. */
function routeLine(same: readonly Operation[]): string {
  const [first] = same;
  if (first === undefined) return "";
  const methods = [...new Set(same.map(({ method }) => method.toUpperCase()))].join(", ");
  const statuses = [...new Set(same.flatMap(({ answers }) => answers.map(({ status }) => status)))].toSorted(
    (a, b) => a - b,
  );
  const isOptional = same.some(({ path }) => path === first.path + NAMESPACE);
  const path = `${first.path.replaceAll("{", "<").replaceAll("}", ">")}${isOptional ? "[/<namespace>]" : ""}`;
  return row(
    code(`${methods} ${path}`),
    first.rule.length > 1 && first.rule !== "admin" ? first.rule : "",
    tokenMarks[first.token],
    first.summary,
    statuses.join(", "),
  );
}

function filterLines(): readonly string[] {
  return [
    "",
    "## Filters of messaging",
    "",
    "Lists and changes of many take these filters, in the query or, for changes, in a JSON body. Several values of one filter are alternatives, with commas between them or the name repeated; different filters must all match; ids override all others. Lists also take `count`, `cursor` and `order` (`earliestFirst`, `latestFirst`), changes `count` and, of dead letters, `cursor`.",
    "",
    ...header("filter", "of", "meaning"),
    ...filterRows.map(({ name, meaning, for: targets }) => row(code(name), targets.join(", "), meaning)),
    "",
    "Workflow runs are listed and cancelled by these.",
    "",
    ...header("filter", "meaning"),
    ...runsFilterRows.map(({ name, meaning }) => row(code(name), meaning)),
    "",
    "The log by run takes these too.",
    "",
    ...header("filter", "meaning"),
    ...runLogFilterRows.map(({ name, meaning }) => row(code(name), meaning)),
    "",
    `Logs and dead letters, of messages and of workflow runs, take ${code(trimBodyRow.name)} when they are listed: ${trimBodyRow.meaning}.`,
  ];
}
