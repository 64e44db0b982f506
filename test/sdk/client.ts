/**
 * The official client of the store, pointed at the real program: it gets the
 * printed address and token and nothing else, as a user would give them.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Redis, type RedisConfigNodejs } from "@upstash/redis";
import { type RunningProgram, startProgram } from "../program/program-process.ts";
import { type FamilyName, type Method, methodsOfFamilies } from "./methods.ts";

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

/**
 * Methods of the client, what is true of them, and how that shows on an empty database. `plain` is a client that sends each
 * command by itself, as the chain of BITFIELD needs it.
 */
export type MethodRow = readonly [
  methods: readonly Method[],
  fact: string,
  show: (redis: Redis, plain: Redis) => Promise<void>,
];

/** One test for each row, on a server of their own. Together the rows call every method of the family. */
export function testMethods(family: FamilyName, rows: readonly MethodRow[]): void {
  const served = new Served();
  for (const [methods, fact, show] of rows) {
    test(`${family}: ${methods.join(", ")}: ${fact}`, async () => {
      const called = new Set<string>();
      const redis = recordCalls(served.client(), called);
      await redis.flushdb();

      await show(redis, recordCalls(served.client({ enableAutoPipelining: false }), called));

      assert.deepEqual(
        methods.filter((method) => !called.has(method)),
        [],
        "the row calls what it names",
      );
    });
  }

  test(`${family}: every method has a row`, () => {
    const named = new Set(rows.flatMap(([methods]) => methods));
    const expected: readonly Method[] = methodsOfFamilies[family];
    assert.deepEqual(
      expected.filter((method) => !named.has(method)),
      [],
    );
  });
}

/** The same client, which notes the names of the methods that are called; those of a namespace with its name in front. */
function recordCalls<Client extends object>(client: Client, called: Set<string>, prefix = ""): Client {
  return new Proxy(client, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name);
      if (name === "json" && typeof value === "object" && value !== null) return recordCalls(value, called, "json.");
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        called.add(prefix + String(name));
        return Reflect.apply(value, target, args);
      };
    },
  });
}
