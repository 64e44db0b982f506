/**
 * What a test asks of the server of its run: a larder of its own. This module is
 * loaded into each test file, so it needs no other module at run time, and neither
 * `fetch` nor timers, which tests replace.
 */
import { parsePlainText } from "../kernel/json/parse.ts";
import type { FreshTenantsOptions, Tenancy } from "../mod.ts";
import { TEST_RUN_VARIABLE } from "../program/facts.ts";

export interface FreshLarderOptions extends FreshTenantsOptions {
  /** `frozen`: a server whose time only this test moves. `running` by default. */
  readonly clock?: "running" | "frozen";
}

/** An empty database, index and user of messaging, for one test. */
export interface FreshLarder extends Tenancy {
  /** The address of the database for clients of Redis, with its password. */
  readonly redisUrl: string;
  /** Deletes them with their data. Resolves before that is done. */
  end(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The same on a server whose time stands still. */
export interface FrozenLarder extends FreshLarder {
  readonly clock: {
    /** Moves its time forward and runs what falls due on the way, as `clock.advance` of `start()` does. */
    advance(ms: number): Promise<void>;
    /** The time of the engines, in ms since the epoch. */
    now(): number;
  };
}

/** The answer to `fresh`. */
export interface FreshAnswer extends Tenancy {
  readonly id: number;
  readonly redisUrl: string;
  readonly nowMs: number;
}

/** Makes a larder on the server of the run. Rejects without one. */
export function freshLarder(options: FreshLarderOptions & { readonly clock: "frozen" }): Promise<FrozenLarder>;
export function freshLarder(options?: FreshLarderOptions): Promise<FreshLarder>;
export async function freshLarder({
  clock = "running",
  index = {},
}: FreshLarderOptions = {}): Promise<FreshLarder | FrozenLarder> {
  const run = process.env[TEST_RUN_VARIABLE];
  if (run === undefined) {
    throw new Error(
      `No larder runs for these tests (${TEST_RUN_VARIABLE} is not set): set globalSetup to larderd/vitest/setup or larderd/jest/setup`,
    );
  }
  const { id, nowMs, ...tenancy } = (await ask(run, "fresh", { clock, index })) as FreshAnswer;
  const end = async (): Promise<void> => void (await ask(run, "end", { id }));
  const fresh = { ...tenancy, end, [Symbol.asyncDispose]: end };
  return clock === "frozen" ? { ...fresh, clock: frozenClock(run, { id, nowMs }) } : fresh;
}

/** Only `advance` moves the time, so nobody has to be asked what it is. */
function frozenClock(run: string, { id, nowMs }: { id: number; nowMs: number }): FrozenLarder["clock"] {
  let timeMs = nowMs;
  return {
    async advance(ms) {
      timeMs = ((await ask(run, "advance", { id, ms })) as { nowMs: number }).nowMs;
    },
    now: () => timeMs,
  };
}

let agent: import("node:http").Agent | undefined;

/** Sends one call over a connection that stays open, and does not keep the process alive. */
function ask(run: string, call: string, body: object): Promise<unknown> {
  const http = process.getBuiltinModule("node:http");
  agent ??= new http.Agent({ keepAlive: true });
  const sent = http.request(`${run}/${call}`, { method: "POST", agent });
  return new Promise((resolve, reject) => {
    sent.on("error", (cause) => reject(new Error("The larder of these tests does not answer", { cause })));
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => {
        const answer = parsePlainText(text) as { readonly error?: string };
        if (answer.error === undefined) resolve(answer);
        else reject(new Error(answer.error));
      });
    });
    sent.end(JSON.stringify(body));
  });
}
