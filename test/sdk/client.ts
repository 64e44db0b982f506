/**
 * The official client of the store, connected to a durable server with only
 * its address and token, as a user would configure it. The server is in this
 * process, except where a test needs the real program and its threads.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Redis, type RedisConfigNodejs } from "@upstash/redis";
import type { Larder, StartedArea } from "../../src/mod.ts";
import { startSuite } from "../harness/cluster/suite-server.ts";
import { type SuiteSetting, suiteSetting } from "../harness/cluster/suite-setting.ts";
import { NodeClient, secrets, TestCluster } from "../program/cluster/cluster-program.ts";
import { startProgram } from "../program/program-process.ts";
import { type FamilyName, type Method, methodsOfFamilies } from "./methods.ts";

type ClientOptions = Omit<RedisConfigNodejs, "url" | "token">;
type Pipeline = ReturnType<Redis["pipeline"]>;

/** Answers without base64, which the client requests by default. */
const plainAnswers = { responseEncoding: false } as const satisfies ClientOptions;

/** Methods of a batch that are not commands there, or that return their own chain. */
const UNBATCHED: ReadonlySet<PropertyKey> = new Set(["exec", "length", "chain", "bitfield"]);

/** A server that clients of the store know. */
export interface Server {
  readonly store: StartedArea;
  stop(): Promise<unknown>;
}

/** A server in this process. */
export function startHere(directory: string): Promise<Larder> {
  return startSuite({ command: "serve", dataDir: directory });
}

/** The real program, known by what it prints. */
export async function startProcess(directory: string): Promise<Server> {
  const setting = suiteSetting();
  if (setting !== undefined) return startNodes(setting);
  const program = await startProgram("serve", { args: ["--data-dir", directory] });
  const { storeUrl: url, storeToken: token, storeReadOnlyToken: readOnlyToken } = program;
  return { store: { url, token, readOnlyToken }, stop: () => program.stop() };
}

/** The owner of a cluster of real programs, or a node that owns nothing. */
async function startNodes({ nodeCount, reads, asks }: SuiteSetting): Promise<Server> {
  const cluster = await TestCluster.start();
  assert.equal((await cluster.larder(["cluster", "init"])).code, 0);
  const args = ["--reads", reads, ...(asks === "front" ? ["--cluster-address", "127.0.0.1:0"] : [])];
  const owner = await cluster.startNode("owner", args);
  await new NodeClient(owner).untilServing();
  let asked = owner;
  for (let count = 1; count < nodeCount; count += 1) {
    const idle = await cluster.startNode(`idle-${count}`, args);
    if (asks === "front") asked = idle;
  }
  const { LARDER_STORE_TOKEN: token = "", LARDER_STORE_READ_ONLY_TOKEN: readOnlyToken = "" } = secrets;
  return { store: { url: asked.storeUrl, token, readOnlyToken }, stop: () => cluster.stop() };
}

/** A durable server for the tests of one file, and its clients. */
export class Served<Kind extends Server = Larder> {
  #server: Kind | undefined;

  constructor(startServer: (directory: string) => Promise<Kind>) {
    const directory = mkdtempSync(join(tmpdir(), "larder-sdk-"));
    before(async () => {
      this.#server = await startServer(directory);
    });
    after(async () => {
      await this.#server?.stop();
      rmSync(directory, { recursive: true });
    });
  }

  get server(): Kind {
    if (this.#server === undefined) throw new Error("the server exists only while tests run");
    return this.#server;
  }

  client(options: ClientOptions = {}): Redis {
    const { url, token } = this.server.store;
    return new Redis({ url, token, ...options });
  }

  readOnlyClient(options: ClientOptions = {}): Redis {
    const { url, readOnlyToken: token } = this.server.store;
    return new Redis({ url, token, ...options });
  }
}

/**
 * Methods of the client, a fact about them, and a test of it on an empty database. `plain` is a client that sends each
 * command separately, as the chain of BITFIELD requires.
 */
export type MethodRow = readonly [
  methods: readonly Method[],
  fact: string,
  show: (redis: Redis, plain: Redis) => Promise<void>,
];

/** The ways a call is sent. The client composes requests differently in each, and so does the server. */
const ways: readonly (readonly [name: string, client: (served: Served) => Redis])[] = [
  ["automatic pipelines", (served) => served.client()],
  ["single requests, plain answers", (served) => served.client({ ...plainAnswers, enableAutoPipelining: false })],
  ["pipelines", (served) => inBatches(served.client({ enableAutoPipelining: false }), "pipeline")],
  [
    "transactions, plain answers",
    (served) => inBatches(served.client({ ...plainAnswers, enableAutoPipelining: false }), "multi"),
  ],
];

/** One test for each row and way, on a separate server. Together the rows call every method of the family. */
export function testMethods(family: FamilyName, rows: readonly MethodRow[]): void {
  const served = new Served(startHere);
  for (const [way, clientOf] of ways) {
    for (const [methods, fact, show] of rows) {
      test(`${family}, in ${way}: ${methods.join(", ")}: ${fact}`, async () => {
        const called = new Set<string>();
        const plain = served.client({ enableAutoPipelining: false });
        await plain.flushdb();

        await show(recordCalls(clientOf(served), called), recordCalls(plain, called));

        assert.deepEqual(
          methods.filter((method) => !called.has(method)),
          [],
          "the row calls the methods that it names",
        );
      });
    }
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

/** The same client, which records the names of called methods; those of a namespace with its name as prefix. */
function recordCalls<Client extends object>(client: Client, called: Set<string>, prefix = ""): Client {
  return new Proxy(client, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name);
      if (isNamespace(name) && typeof value === "object" && value !== null)
        return recordCalls(value, called, `${String(name)}.`);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        called.add(prefix + String(name));
        return Reflect.apply(value, target, args);
      };
    },
  });
}

/** The same client, which sends each call as a batch of one, except calls that a batch cannot contain. */
function inBatches(client: Redis, kind: "pipeline" | "multi"): Redis {
  return new Proxy(client, {
    get(target, name): unknown {
      if (isNamespace(name)) {
        const names = Object.keys(target[name]);
        return Object.fromEntries(names.map((inner) => [inner, callInBatch(() => target[kind](), [name, inner])]));
      }
      const isBatched = !UNBATCHED.has(name) && Object.hasOwn(target[kind](), name);
      return isBatched ? callInBatch(() => target[kind](), [name]) : Reflect.get(target, name);
    },
  });
}

function callInBatch(batchOf: () => Pipeline, path: readonly PropertyKey[]): (...args: unknown[]) => Promise<unknown> {
  return async (...args) => {
    const batch = batchOf();
    const method = path.reduce<unknown>((holder, name) => Reflect.get(Object(holder), name), batch);
    assert.ok(typeof method === "function");
    Reflect.apply(method, undefined, args);
    return (await batch.exec())[0];
  };
}

function isNamespace(name: PropertyKey): name is "json" | "functions" {
  return name === "json" || name === "functions";
}
