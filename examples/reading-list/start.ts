/**
 * Starts everything: `larder dev` with the index of larder.json, and the
 * application on port 3000 (or `PORT`). Ctrl-C ends both.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Application, createApplication, type Environment } from "./application.ts";
import { listen } from "./listen.ts";

const larderPath = fileURLToPath(new URL("bin/larder.cjs", import.meta.resolve("larderd/package.json")));
const configPath = fileURLToPath(new URL("larder.json", import.meta.url));
const port = Number(process.env["PORT"] ?? 3000);

const larder = spawn(process.execPath, [larderPath, "dev", "--config", configPath], {
  stdio: ["ignore", "pipe", "inherit"],
  // PORT is this application's; larder would listen there.
  env: { ...process.env, PORT: undefined },
});
larder.on("exit", (code) => process.exit(code ?? 1));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => larder.kill(signal));

const baseUrl = `http://127.0.0.1:${port}`;
let application: Application | undefined;
let output = "";
larder.stdout.setEncoding("utf8");
larder.stdout.on("data", async (chunk: string) => {
  process.stdout.write(chunk);
  output += chunk;
  if (application !== undefined || !output.includes("\n# admin:")) return;
  application = createApplication({ environment: readBlock(output), baseUrl });
  const ready = application;
  await listen(() => ready, port);
  console.log(`The reading list is at ${baseUrl}; README.md beside this file has calls to try`);
});

/** The variables of the printed block. */
function readBlock(text: string): Environment {
  const pairs = text.matchAll(/^([A-Z_]+)="(.*)"$/gm);
  return Object.fromEntries(Array.from(pairs, ([, name, value]) => [name, value])) as unknown as Environment;
}
