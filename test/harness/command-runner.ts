/** Runs commands of the command line in this process, as a shell would with a data directory. */
import assert from "node:assert/strict";
import { StartRefusal } from "../../src/program/refusal.ts";
import { readSettings } from "../../src/program/settings/read-settings.ts";

/** The reading of words and `--data-dir`, which must be valid. */
export function readCommand(words: string, dataDirectory: string) {
  const given = [...words.split(" "), "--data-dir", dataDirectory];
  const reading = readSettings({ arguments: given, environment: {}, readFile: () => "" });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  return reading;
}

/** The exit code of a command and its lines, or those of its refusal. */
export async function runCommand(
  words: string,
  dataDirectory: string,
): Promise<readonly [code: number | undefined, output: string]> {
  const { command, ...call } = readCommand(words, dataDirectory);
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  try {
    return [await command.run({ ...call, commands: [command], version: "1.2.3", print }), lines.join("\n")];
  } catch (fault) {
    assert.ok(fault instanceof StartRefusal, String(fault));
    return [fault.exitCode, fault.message];
  }
}
