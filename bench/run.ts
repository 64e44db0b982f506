/**
 * Runs one bench by its name: `npm run bench -- store --quick` runs
 * `bench/store.bench.ts --quick`. Without a name it lists what there is.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SUFFIX = ".bench.ts";

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
// Benches that count bytes ask for collections themselves.
const child = spawn(process.execPath, ["--expose-gc", `${folder}${name}${SUFFIX}`, ...options], { stdio: "inherit" });
child.once("exit", (code) => process.exit(code ?? 1));
