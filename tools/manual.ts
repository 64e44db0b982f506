/**
 * Fills the tables of docs/manual.md and docs/reference/ from the tables of the
 * program, and writes the JSON Schema and the types of the configuration file. The pages
 * themselves are written by hand (tools/marks.ts); a test compares what is
 * between the marks.
 *
 * Run: node tools/manual.ts
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DEAD_CPU_MS, DEAD_MS, SILENT_MS } from "../src/program/workers/heartbeat.ts";
import { evictionPolicies } from "../src/store/memory/memory-settings.ts";
import { GRAPH_WORK_MIN } from "../src/vector/index/namespace.ts";
import { RESUMABLE_IDLE_SECONDS, RESUMABLE_IDLE_SECONDS_MAX } from "../src/vector/limits.ts";
import { fillMarks, type Parts } from "./marks.ts";
import { commandParts } from "./reference/commands.ts";
import { configSchemaText } from "./reference/config-schema.ts";
import { configurationParts } from "./reference/configuration.ts";
import { configurationTypesText } from "./reference/configuration-types.ts";
import { errorParts } from "./reference/errors.ts";
import { filterOperatorParts } from "./reference/filter-operators.ts";
import { headerParts } from "./reference/headers.ts";
import { metricParts } from "./reference/metrics.ts";
import { programCommandParts } from "./reference/program-commands.ts";
import { routeParts } from "./reference/routes.ts";
import { settingParts } from "./reference/settings.ts";
import { code, header, row } from "./reference/table.ts";

const manualParts: Parts = {
  tables: { "eviction-policies": evictionPolicyLines },
  values: {
    "silent-seconds": String(SILENT_MS / 1_000),
    "dead-cpu-seconds": String(DEAD_CPU_MS / 1_000),
    "dead-seconds": String(DEAD_MS / 1_000),
    "resumable-idle": String(RESUMABLE_IDLE_SECONDS),
    "resumable-idle-max": String(RESUMABLE_IDLE_SECONDS_MAX),
    "graph-work": String(GRAPH_WORK_MIN / 1_000_000),
  },
};

/** The pages with marks, in `docs/`. */
const partsOfPage: Readonly<Record<string, Parts>> = {
  "manual.md": manualParts,
  "reference/program-commands.md": programCommandParts,
  "reference/settings.md": settingParts,
  "reference/configuration.md": configurationParts,
  "reference/routes.md": routeParts,
  "reference/headers.md": headerParts,
  "reference/commands.md": commandParts,
  "reference/filter-operators.md": filterOperatorParts,
  "reference/metrics.md": metricParts,
  "reference/errors.md": errorParts,
};

/** The files without marks, which are fully generated; the package publishes the schema at its root. */
const textOfDocument: Readonly<Record<string, () => string>> = {
  "../config.schema.json": configSchemaText,
  "../src/program/settings/configuration-keys.generated.ts": configurationTypesText,
};

/** Every page with its marks filled, and every document, by its path. Throws where the marks of a page are not those of its tables. */
export function manualPages(): ReadonlyMap<string, string> {
  const pages = Object.entries(partsOfPage).map(([name, parts]): [string, string] => {
    const path = pathOf(name);
    return [path, fillMarks(`docs/${name}`, readFileSync(path, "utf8"), parts)];
  });
  const documents = Object.entries(textOfDocument).map(([name, text]): [string, string] => [pathOf(name), text()]);
  return new Map([...pages, ...documents]);
}

/** The configuration file that the manual shows. */
export function exampleConfiguration(): string {
  const [, text] = /^```jsonc\n(.*?)^```$/ms.exec(readFileSync(pathOf("manual.md"), "utf8")) ?? [];
  if (text === undefined) throw new Error("docs/manual.md: the example of a configuration file is missing");
  return text;
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
}

function evictionPolicyLines(): readonly string[] {
  return [
    ...header("policy", "which keys may go", "which goes first"),
    ...evictionPolicies.map(({ name, candidates, first }) => {
      if (candidates === "none") return row(code(name), "none", "–");
      return row(code(name), candidates === "all" ? "all" : "those that expire", first);
    }),
  ];
}

if (import.meta.main) for (const [path, text] of manualPages()) writeFileSync(path, text);
