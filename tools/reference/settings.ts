/** The settings, from their rows. */
import { defaultMeaning, settingGroups } from "../../src/program/cli/help/help-text.ts";
import type { Setting } from "../../src/program/settings/setting.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const settingParts: Parts = { tables: { settings: settingLines } };

function settingLines(): readonly string[] {
  const lines: string[] = [];
  for (const [group, rows] of settingGroups()) {
    lines.push("", `## ${group}`, "", ...header("flag", "environment", "file key", "default", "meaning"));
    for (const setting of rows) lines.push(settingLine(setting));
  }
  return lines;
}

function settingLine(setting: Setting<unknown>): string {
  const { flag, argument, environment, fileKey, meaning } = setting;
  return row(
    flag === undefined ? "–" : code(`${flag} ${argument}`),
    environment.map(code).join(", "),
    fileKey === undefined ? "–" : code(fileKey),
    defaultMeaning(setting),
    meaning,
  );
}
