/** All pages of the reference. */
import { fileURLToPath } from "node:url";
import { commandsPage } from "./commands.ts";
import { errorsPage } from "./errors.ts";
import { filterOperatorsPage } from "./filter-operators.ts";
import { headersPage } from "./headers.ts";
import { metricsPage } from "./metrics.ts";
import type { Page } from "./page.ts";
import { programCommandsPage } from "./program-commands.ts";
import { routesPage } from "./routes.ts";
import { settingsPage } from "./settings.ts";

export const pages: readonly Page[] = [
  programCommandsPage,
  settingsPage,
  routesPage,
  headersPage,
  commandsPage,
  filterOperatorsPage,
  metricsPage,
  errorsPage,
];

export function pathOf({ file }: Page): string {
  return fileURLToPath(new URL(`../../docs/reference/${file}`, import.meta.url));
}
