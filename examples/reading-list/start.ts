/**
 * Starts everything: `larder dev` with the index of larder.json, and the
 * application on port 3000 (or `PORT`). Ctrl-C ends both.
 *
 * With `--without-larder` it starts the application only: the environment has the
 * addresses and tokens of a larder that runs.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Application, createApplication, type Environment } from "./application.ts";
import { listen } from "./listen.ts";

const NAMES: readonly (keyof Environment)[] = [
  "UPSTASH_REDIS_REST_URL",
  "UPSTASH_REDIS_REST_TOKEN",
  "UPSTASH_VECTOR_REST_URL",
  "UPSTASH_VECTOR_REST_TOKEN",
  "QSTASH_URL",
  "QSTASH_TOKEN",
  "QSTASH_CURRENT_SIGNING_KEY",
  "QSTASH_NEXT_SIGNING_KEY",
];

const larderPath = fileURLToPath(new URL("bin/larder.cjs", import.meta.resolve("larderd/package.json")));
const configPath = fileURLToPath(new URL("larder.json", import.meta.url));
const port = Number(process.env["PORT"] ?? 3000);
const baseUrl = `http://127.0.0.1:${port}`;

if (process.argv.includes("--without-larder")) {
  const missing = NAMES.filter((name) => process.env[name] === undefined);
  if (missing.length > 0) throw new Error(`Set ${missing.join(", ")}`);
  await startApplication(process.env as unknown as Environment);
} else startLarder();

async function startApplication(environment: Environment): Promise<void> {
  const application: Application = createApplication({ environment, baseUrl });
  await listen(() => application, port);
  console.log(`The reading list is at ${baseUrl}; README.md beside this file has calls to try`);
}

function startLarder(): void {
  const larder = spawn(process.execPath, [larderPath, "dev", "--config", configPath], {
    stdio: ["ignore", "pipe", "inherit"],
    // PORT is this application's; larder would listen there.
    env: { ...process.env, PORT: undefined },
  });
  larder.on("exit", (code) => process.exit(code ?? 1));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => larder.kill(signal));
  let isStarted = false;
  let output = "";
  larder.stdout.setEncoding("utf8");
  larder.stdout.on("data", async (chunk: string) => {
    process.stdout.write(chunk);
    output += chunk;
    if (isStarted || !output.includes("\n# admin:")) return;
    isStarted = true;
    await startApplication(readBlock(output));
  });
}

/** The variables of the printed block. */
function readBlock(text: string): Environment {
  const pairs = text.matchAll(/^([A-Z_]+)="(.*)"$/gm);
  return Object.fromEntries(Array.from(pairs, ([, name, value]) => [name, value])) as unknown as Environment;
}
