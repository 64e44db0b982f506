/**
 * The official client of messaging, connected to a development server in this
 * process with its address and token, as a user would configure it. Time
 * is `clock.advance`; every host below `.test` is a destination of the test,
 * so that records show the same URLs each time.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, mock, test } from "node:test";
import { Client } from "@upstash/qstash";
import type { Larder, StartOptions } from "../../../src/mod.ts";
import { startSuite } from "../../harness/cluster/suite-server.ts";
import { type Delivery, RecordingDestination } from "../../harness/recording-destination.ts";
import { type FamilyName, methodsOfFamilies } from "./methods.ts";

type ClientOptions = Omit<NonNullable<ConstructorParameters<typeof Client>[0]>, "baseUrl" | "token">;

/** The number of looks for a log entry: each look is a request, so this is seconds. */
const LOOKS_MAX = 5_000;

/** A server for the tests of one file, empty before each. */
export class Served {
  readonly destination = new RecordingDestination();
  #larder: Larder | undefined;

  constructor(options: StartOptions = {}) {
    before(async () => {
      // The client logs each refusal, which some tests are about.
      mock.method(console, "error", () => {});
      await this.destination.open();
      const { port } = this.destination;
      const hosts = ["*.test", "api.openai.com", "api.anthropic.com", "api.resend.com", "gateway.helicone.ai"];
      const outboundMap = hosts.map((host) => `${host}=127.0.0.1:${port}`).join(",");
      this.#larder = await startSuite({ outboundMap, ...options });
    });
    beforeEach(() => this.#empty());
    after(async () => {
      await this.#larder?.stop();
      await this.destination[Symbol.asyncDispose]();
      mock.restoreAll();
    });
  }

  get larder(): Larder {
    if (this.#larder === undefined) throw new Error("the server exists only while tests run");
    return this.#larder;
  }

  client(options: ClientOptions = {}, token = this.larder.messaging.token): Client {
    return new Client({ baseUrl: this.larder.messaging.url, token, retry: false, devMode: false, ...options });
  }

  /** A plain request. `line` is method and path. */
  async send(line: string, options: { readonly headers?: Record<string, string>; readonly body?: string } = {}) {
    const [method = "", path = ""] = line.split(" ");
    const { url, token } = this.larder.messaging;
    const headers = { authorization: `Bearer ${token}`, ...options.headers };
    const reply = await fetch(`${url}${path}`, { ...options, method, headers });
    return { status: reply.status, headers: reply.headers, json: (await reply.json()) as unknown };
  }

  /** Advances the time of the server. */
  advance(ms: number): Promise<void> {
    return this.larder.clock.advance(ms);
  }

  /** Deliveries of the previous test must not arrive in this one. */
  async #empty(): Promise<void> {
    await this.send("DELETE /v2/messages");
    this.destination.clear();
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const { json } = await this.send("GET /v2/globalParallelism");
      if ((json as { parallelismCount: number }).parallelismCount === 0) break;
    }
    await this.larder.reset();
    this.destination.clear();
  }

  /** Resolves when the log of a message has this state that many times. */
  async logged(messageId: string, state: string, count = 1): Promise<void> {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const { json } = await this.send(`GET /v2/logs?messageId=${messageId}&state=${state}`);
      if ((json as { logs: unknown[] }).logs.length >= count) return;
    }
    assert.fail(`${messageId} did not become ${state}`);
  }
}

/** Methods of the client, a fact about them, and a test of it on an empty server. */
export type MethodRow = readonly [
  methods: readonly string[],
  fact: string,
  show: (client: Client, served: Served) => Promise<void>,
];

/** One test for each row, on a separate server. Together the rows call every method of the family. */
export function testMethods(family: FamilyName, rows: readonly MethodRow[]): Served {
  const served = new Served();
  for (const [methods, fact, show] of rows) {
    test(`${family}: ${methods.join(", ")}: ${fact}`, async () => {
      const called = new Set<string>();

      await show(recordCalls(served.client(), "", called), served);

      assert.deepEqual(
        methods.filter((method) => !called.has(method)),
        [],
        "the row calls the methods that it names",
      );
    });
  }

  test(`${family}: every method has a row`, () => {
    const named = new Set(rows.flatMap(([methods]) => methods));
    const expected: readonly string[] = methodsOfFamilies[family];
    assert.deepEqual(
      expected.filter((method) => !named.has(method)),
      [],
    );
  });
  return served;
}

/** Parts of the client, and results of its methods that have methods. */
const PARTS: ReadonlySet<string> = new Set([
  ...["urlGroups", "topics", "dlq", "messages", "schedules", "flowControl", "workflow"],
]);

/** The same object, which records the names of called methods. */
function recordCalls<Target extends object>(target: Target, prefix: string, called: Set<string>): Target {
  return new Proxy(target, {
    get(real, name): unknown {
      const value: unknown = Reflect.get(real, name);
      const path = `${prefix}${String(name)}`;
      if (PARTS.has(path)) return recordCalls(value as object, `${path}.`, called);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        called.add(path);
        const result: unknown = Reflect.apply(value, real, args);
        return path === "queue" ? recordCalls(result as object, "queue.", called) : result;
      };
    },
  });
}

const ids: readonly (readonly [form: RegExp, shown: string])[] = [
  [/^msg_[0-9A-Za-z]{18}$/, "msg_…"],
  [/^scd_[0-9A-Za-z]{18}$/, "scd_…"],
  [/^\d{13}-\d+$/, "dead letter …"],
];

/** A timestamp within a text. */
const MOMENT = /\d{4}-\d\d-\d\dT[\d:.]+Z/;

/** Fields with a time in Unix ms. */
const MOMENTS: ReadonlySet<string> = new Set([
  ...["time", "createdAt", "updatedAt", "notBefore", "nextDeliveryTime", "lastScheduleTime", "nextScheduleTime"],
]);

/** A request to a destination, without the headers that each delivery has. */
export function received({ method, address, headers, body }: Delivery): object {
  const given = Object.entries(headers).filter(([name]) => !OF_EACH_DELIVERY.test(name));
  return { method, address, headers: Object.fromEntries(given), body };
}

const OF_EACH_DELIVERY = /^(?:upstash-|service-|host$|connection$|user-agent$|accept-encoding$|content-length$)/;

/** A result for comparison: ids by their form, times as such, and no fields without a value. */
export function shown(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, field: unknown) => {
      if (typeof field === "string") return ids.find(([form]) => form.test(field))?.[1] ?? field.replace(MOMENT, "…");
      return MOMENTS.has(name) && Number.isSafeInteger(field) && Number(field) > 1e12 ? "ms" : field;
    }) ?? "null",
  );
}
