/** `larder problems`: the last warnings and errors of a running server. */
import { askForProblems } from "../../../edge/admin/client.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { callServer } from "../running-server.ts";
import { cellOf, tableLines } from "./table.ts";

/** Rejects with a `StartRefusal`. */
export async function problemLines(run: RunSettings, { isJson }: { isJson: boolean }): Promise<readonly string[]> {
  const problems = await callServer(run, askForProblems);
  if (isJson) return [JSON.stringify(problems, undefined, 2)];
  if (problems.length === 0) return ["# the server has logged no warning and no error since its start"];
  return tableLines(
    problems.map(({ time, level, area, count, message, fields }) => [
      ...[time, level, area, count].map(cellOf),
      [cellOf(message), ...Object.entries(Object(fields)).map(([name, value]) => `${name}=${cellOf(value)}`)].join(" "),
    ]),
    ["time", "level", "area", "count", "message"],
  );
}
