/**
 * Runs a program of a page in this process, on a database, an index and a user of messaging of its own.
 *
 * (1) It finds them by the variables of the environment, as a reader's program does.
 * (2) What it prints is what the page says: each comment `// prints …` is a line of its output, in this order.
 * (3) Its port 3000 is a free one, and its servers are closed at the end.
 * (4) Time goes on until everything is printed: messages are delivered, schedules fire.
 */
import assert from "node:assert/strict";
import { stripTypeScriptTypes } from "node:module";
import { Server } from "node:net";
import type { TestContext } from "node:test";
import { format } from "node:util";
import type { FreshTenantsOptions, Larder } from "../../src/mod.ts";
import { freePort } from "./free-port.ts";
import { type Snippet, snippetsOf } from "./page-snippets.ts";

const PORT = "3000";
/** That of `larder dev --resp-port 6379`. */
const REDIS_URL = "redis://default:dev@127.0.0.1:6379";
const OWN_PACKAGE: Readonly<Record<string, string>> = { larderd: new URL("../../src/mod.ts", import.meta.url).href };
/** An hour each, after some that only wait for deliveries. */
const JUMPS_MAX = 100;
const HOUR_MS = 3_600_000;

/** Whether a block is a program that tests run. */
export function isProgram({ language, notRun }: Snippet): boolean {
  return (language === "js" || language === "ts") && notRun === undefined;
}

export async function runPageProgram(snippet: Snippet, larder: Larder, context: TestContext): Promise<void> {
  await using tenants = await larder.freshTenants(indexOf(snippet));
  const before = { ...process.env };
  const servers: Server[] = [];
  const printed: string[] = [];
  const complaints: string[] = [];
  const listen = Server.prototype.listen;
  context.mock.method(Server.prototype, "listen", function (this: Server, ...words: unknown[]): unknown {
    servers.push(this);
    return Reflect.apply(listen, this, words);
  });
  context.mock.method(console, "log", (...words: unknown[]) => printed.push(format(...words)));
  for (const method of ["error", "warn"] as const)
    context.mock.method(console, method, (...words: unknown[]) => complaints.push(format(...words)));
  Object.assign(process.env, tenants.env); // keeps (1)
  try {
    const text = snippet.text
      .replaceAll(PORT, String(await freePort()))
      .replaceAll(REDIS_URL, tenants.env["REDIS_URL"] ?? REDIS_URL);
    await import(moduleOf(text, snippet.language));
    const expected = Array.from(snippet.text.matchAll(/\/\/ prints (.*)$/gm), ([, line = ""]) => line);
    for (let jump = 0; jump < JUMPS_MAX && printed.length < expected.length; jump += 1)
      await larder.clock.advance(jump < JUMPS_MAX / 2 ? 0 : HOUR_MS); // keeps (4)
    const shown = expected.length === 0 ? [] : printed;
    assert.deepEqual(shown, expected, complaints.join("\n")); // keeps (2)
  } finally {
    for (const name of Object.keys(tenants.env)) delete process.env[name];
    Object.assign(process.env, before);
    for (const server of servers) {
      if ("closeAllConnections" in server) (server.closeAllConnections as () => void)();
      server.close();
    }
    context.mock.restoreAll();
  }
}

/** The address of a module with the program, whose imports are found from here. */
function moduleOf(text: string, language: string): string {
  const code = language === "ts" ? stripTypeScriptTypes(text) : text;
  const resolved = code.replace(
    /(\bfrom\s+|\bimport\s+)"([^"]+)"/g,
    (_, words: string, name: string) => `${words}"${OWN_PACKAGE[name] ?? import.meta.resolve(name)}"`,
  );
  return `data:text/javascript,${encodeURIComponent(resolved)}`;
}

/** The index that a configuration file in the same section of the page describes. */
function indexOf({ page, heading }: Snippet): FreshTenantsOptions {
  const file = snippetsOf(page).find((other) => other.heading === heading && other.language === "json");
  if (file === undefined) return {};
  const { vector } = JSON.parse(file.text) as { vector?: { indexes?: readonly { name: string }[] } };
  const [described] = vector?.indexes ?? [];
  if (described === undefined) return {};
  const { name: _, ...index } = described;
  return { index };
}
