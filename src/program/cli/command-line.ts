/** `larder …`: runs the command that the arguments name. The exit code is 0, 1 (the machine) or 2 (the settings). */
import { resolve } from "node:path";
import { readTextFile } from "../../persistence/disk/text-file.ts";
import { readVersion } from "../facts.ts";
import { commandRefusal, StartRefusal } from "../refusal.ts";
import { readSettings } from "../settings/read-settings.ts";
import { commandRows } from "./commands.ts";

/** The command that main runs to write a snapshot; not for users. */
const SNAPSHOT_ROLE = "internal-snapshot";

export async function runCommandLine(words: readonly string[]): Promise<void> {
  if (words[0] === SNAPSHOT_ROLE) {
    const { runSnapshot } = await import("../areas/snapshot-role.ts");
    await runSnapshot(words.slice(1));
    return;
  }
  process.stdout.on("error", ignoreClosedPipe);
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const reading = readSettings({
    arguments: words,
    environment: process.env,
    readFile: (path) => readTextFile(path),
  });
  switch (reading.kind) {
    case "help": {
      const { helpOn } = await import("./help/help-text.ts");
      const { isColourWanted } = await import("./help/colour.ts");
      const text = helpOn(commandRows, reading.topic, {
        version: readVersion(),
        isColoured: isColourWanted(words, process.stdout),
      });
      if (text !== undefined) {
        process.stdout.write(text);
        return;
      }
      const { unknownCommand } = await import("./find-command.ts");
      process.stderr.write(`larder: ${unknownCommand(commandRows, reading.topic)}\n`);
      process.exitCode = 2;
      return;
    }
    case "version":
      process.stdout.write(`larder ${readVersion()}\n`);
      return;
    case "refused":
      if (reading.command?.refused !== undefined) {
        process.exitCode = reading.command.refused(reading.problems, print);
        return;
      }
      for (const problem of reading.problems) process.stderr.write(`larder: ${problem}\n`);
      process.exitCode = 2;
      return;
    case "run": {
      const { command, ...call } = reading;
      try {
        const exitCode = await command.run({ ...call, commands: commandRows, version: readVersion(), print });
        if (exitCode !== undefined) process.exitCode = exitCode;
      } catch (fault) {
        const { settings, origins } = call.run;
        const directory = resolve(settings.dataDirectory ?? "");
        const refusal =
          fault instanceof StartRefusal ? fault : commandRefusal(fault, directory, origins.dataDirectory.place);
        if (!(refusal instanceof StartRefusal)) throw fault;
        for (const sentence of refusal.message.split("\n")) process.stderr.write(`larder: ${sentence}\n`);
        process.exitCode = refusal.exitCode;
      }
      return;
    }
    default: {
      const never: never = reading;
      throw new Error(`Unknown reading ${String(never)}`);
    }
  }
}

/** The reader of the output may end before us, as head does. A command then finishes, and a server goes on. */
function ignoreClosedPipe(fault: NodeJS.ErrnoException): void {
  if (fault.code !== "EPIPE") throw fault;
}
