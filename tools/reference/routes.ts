/** The routes of all ports, from their OpenAPI documents. */
import { filterRows } from "../../src/edge/messaging/filters/messages.ts";
import { runLogFilterRows } from "../../src/edge/messaging/filters/run-logs.ts";
import { runsFilterRows } from "../../src/edge/messaging/filters/runs.ts";
import { trimBodyRow } from "../../src/edge/messaging/views/trim-body.ts";
import { describedAreas } from "../../src/edge/openapi/area-documents.ts";
import type { Operation } from "../../src/edge/openapi/operation.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const routeParts: Parts = {
  tables: {
    store: () => routeLines("store"),
    vector: () => routeLines("vector"),
    messaging: () => routeLines("messaging"),
    admin: () => routeLines("admin"),
    console: () => routeLines("console"),
    "message-filters": () => [
      ...header("filter", "of", "meaning"),
      ...filterRows.map(({ name, meaning, for: targets }) => row(code(name), targets.join(", "), meaning)),
    ],
    "run-filters": () => filterLines(runsFilterRows),
    "run-log-filters": () => filterLines(runLogFilterRows),
  },
  values: { "trim-body": `${code(trimBodyRow.name)}: ${trimBodyRow.meaning}` },
};

function routeLines(area: keyof typeof describedAreas): readonly string[] {
  const { operations } = describedAreas[area]();
  const groups = Map.groupBy(operations, ({ path, summary }) => `${path.replace(NAMESPACE, "")} ${summary}`);
  return [...header("route", "rule", "token", "what it does", "statuses"), ...groups.values().map(routeLine)];
}

/** Of the vector index; where a path may do without it, both are one line. */
const NAMESPACE = "/{namespace}";

const tokenMarks: Readonly<Record<Operation["token"], string>> = { open: "–", "read-only": "r", standard: "" };

/** Equal methods are in one line. */
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

function filterLines(rows: readonly { readonly name: string; readonly meaning: string }[]): readonly string[] {
  return [...header("filter", "meaning"), ...rows.map(({ name, meaning }) => row(code(name), meaning))];
}
