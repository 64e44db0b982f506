/** Runs commands of the command line in this process, as a shell would with a data directory. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readVersion } from "../../src/program/facts.ts";
import { StartRefusal } from "../../src/program/refusal.ts";
import { readSettings } from "../../src/program/settings/read-settings.ts";
import { assertNoSecret } from "./canaries.ts";

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

/** The exit code of a command, and what it prints on stdout and stderr. */
export interface CommandEnd {
  readonly code: number | undefined;
  readonly output: string;
  readonly log: string;
}

/**
 * Runs a command with these arguments and variables as the program does, in a tenth of the time: for tests of what a
 * command does and says, not of its process. Not for `serve` and `dev`, which go on.
 */
export async function runHere(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandEnd> {
  const readFile = (path: string): string => readFileSync(path, "utf8");
  const reading = readSettings({ arguments: words, environment, readFile });
  if (reading.kind === "refused") return { code: 2, output: "", log: sentences(reading.problems) };
  assert.ok(reading.kind === "run", reading.kind);
  const { command, ...call } = reading;
  let output = "";
  const print = (line: string): void => {
    output += `${line}\n`;
  };
  try {
    const code = await command.run({ ...call, commands: [command], version: readVersion(), print });
    return { code, output, log: "" };
  } catch (fault) {
    if (!(fault instanceof StartRefusal)) throw fault;
    return { code: fault.exitCode, output, log: sentences(fault.message.split("\n")) };
  } finally {
    assertNoSecret(output, Object.values(environment), `the output of ${words.join(" ")}`);
  }
}

function sentences(lines: readonly string[]): string {
  return lines.map((line) => `larder: ${line}\n`).join("");
}
