/**
 * The official client of the store, pointed at the real program: it gets the
 * printed address and token and nothing else, as a user would give them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Redis, type RedisConfigNodejs } from "@upstash/redis";
import { type RunningProgram, startProgram } from "../program/program-process.ts";

type ClientOptions = Omit<RedisConfigNodejs, "url" | "token">;

/** A durable server for the tests of one file, and clients of it. */
export class Served {
  #program: RunningProgram | undefined;

  constructor() {
    const directory = mkdtempSync(join(tmpdir(), "larder-sdk-"));
    before(async () => {
      this.#program = await startProgram("serve", { args: ["--data-dir", directory] });
    });
    after(async () => {
      await this.#program?.stop();
      rmSync(directory, { recursive: true });
    });
  }

  get program(): RunningProgram {
    if (this.#program === undefined) throw new Error("the server is there only while tests run");
    return this.#program;
  }

  client(options: ClientOptions = {}): Redis {
    const { storeUrl: url, storeToken: token } = this.program;
    return new Redis({ url, token, ...options });
  }

  readOnlyClient(options: ClientOptions = {}): Redis {
    const { storeUrl: url, storeReadOnlyToken: token } = this.program;
    return new Redis({ url, token, ...options });
  }
}

/** A method of the client, what is true of it, and how that shows on an empty database. */
export type MethodRow = readonly [method: string, fact: string, show: (redis: Redis) => Promise<void>];

/** One test for each row, on a server of their own. */
export function testMethods(family: string, rows: readonly MethodRow[]): void {
  const served = new Served();
  for (const [method, fact, show] of rows) {
    test(`${family}: ${method} ${fact}`, async () => {
      const redis = served.client();
      await redis.flushdb();

      await show(redis);
    });
  }
}
