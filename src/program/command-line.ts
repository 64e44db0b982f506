/** `larder …`: reads the arguments and does what they say. The exit code is 0, 1 (the machine) or 2 (the settings). */
import { readFileSync } from "node:fs";
import { readVersion } from "./facts.ts";
import { readSettings } from "./read-settings.ts";

/** What main starts for a snapshot; not for people. */
const SNAPSHOT_ROLE = "internal-snapshot";

export async function runCommandLine(words: readonly string[]): Promise<void> {
  if (words[0] === SNAPSHOT_ROLE) {
    const { runSnapshot } = await import("./snapshot-role.ts");
    await runSnapshot(words.slice(1));
    return;
  }
  const reading = readSettings({
    arguments: words,
    environment: process.env,
    readFile: (path) => readFileSync(path, "utf8"),
  });
  switch (reading.kind) {
    case "help": {
      const { helpText } = await import("./help.ts");
      process.stdout.write(helpText(readVersion()));
      return;
    }
    case "version":
      process.stdout.write(`larder ${readVersion()}\n`);
      return;
    case "refused":
      for (const problem of reading.problems) process.stderr.write(`larder: ${problem}\n`);
      process.exitCode = 2;
      return;
    case "run": {
      if (reading.run.command === "check") {
        const { check } = await import("./check.ts");
        process.exitCode = await check(reading.run, (line) => process.stdout.write(`${line}\n`));
        return;
      }
      const { runServer } = await import("./run-server.ts");
      await runServer(reading.run, readVersion());
      return;
    }
    case "token reset": {
      const { resetTokens } = await import("./token-reset.ts");
      const { exitCode, output, problems } = await resetTokens(reading.run, reading.database);
      process.stdout.write(output);
      for (const problem of problems) process.stderr.write(`larder: ${problem}\n`);
      process.exitCode = exitCode;
      return;
    }
    default: {
      const never: never = reading;
      throw new Error(`Unknown reading ${String(never)}`);
    }
  }
}
