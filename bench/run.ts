/**
 * Runs one bench by its name: `npm run bench -- store --quick` runs
 * `bench/store.bench.ts --quick`. Without a name it lists the benches. Long
 * runs of the random suites (`npm run long`) stop for it.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/kernel/clock.ts";
import { isBusyWith, mark } from "../test/long/quiet-machine.ts";

const SUFFIX = ".bench.ts";
const LOOK_MS = 500;

const folder = fileURLToPath(new URL(".", import.meta.url));
const names = readdirSync(folder)
  .filter((file) => file.endsWith(SUFFIX))
  .map((file) => file.slice(0, -SUFFIX.length));

const [name = "", ...options] = process.argv.slice(2);
if (!names.includes(name)) {
  console.error(name === "" ? "Which bench?" : `Unknown bench: ${name}`);
  console.error(`npm run bench -- ${names.join("|")}`);
  process.exit(2);
}
const unmark = mark("bench");
if (isBusyWith("batch")) console.error("Waiting until a long run has ended its batch");
while (isBusyWith("batch")) await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
// Benches that count bytes request collections themselves.
const child = spawn(process.execPath, ["--expose-gc", `${folder}${name}${SUFFIX}`, ...options], { stdio: "inherit" });
child.once("exit", (code) => {
  unmark();
  process.exit(code ?? 1);
});
