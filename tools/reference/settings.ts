/** The settings, from their rows. */
import { defaultMeaning, settingGroups } from "../../src/program/cli/help.ts";
import type { Setting } from "../../src/program/settings/settings.ts";
import { code, header, type Page, row } from "./page.ts";

export const settingsPage: Page = {
  file: "settings.md",
  title: "Settings",
  about: "every flag, environment variable and key of the configuration file",
  lines: settingLines,
};

function settingLines(): readonly string[] {
  const lines = [
    "A flag beats the environment, the environment beats the configuration file, the file beats the default. How they are read stands in the [manual](../manual.md#settings).",
  ];
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
