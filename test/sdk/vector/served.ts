/**
 * The official client of the vector index, connected to a development server in
 * this process with its address and token, as a user would configure it. The
 * server has an index of every kind; the token names it.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Index } from "@upstash/vector";
import type { Larder } from "../../../src/mod.ts";
import { startSuite } from "../../harness/cluster/suite-server.ts";
import { type FamilyName, methodsOfFamilies } from "./methods.ts";

/** A model without network access: similar texts have similar vectors. */
const letters = { model: "LETTERS", provider: "hashing", dimension: 384 } as const;

const kinds = {
  plain: { type: "DENSE", dimension: 2 },
  /** The dimension of a usual model. */
  wide: { type: "DENSE", dimension: 384 },
  euclidean: { type: "DENSE", dimension: 2, similarity: "EUCLIDEAN" },
  dotProduct: { type: "DENSE", dimension: 2, similarity: "DOT_PRODUCT" },
  /** The first vector fixes its dimension. */
  open: { type: "DENSE" },
  sparse: { type: "SPARSE" },
  hybrid: { type: "HYBRID", dimension: 2 },
  texts: { type: "DENSE", embedding: letters },
  sparseTexts: { type: "SPARSE", sparseEmbedding: "BM25" },
  hybridTexts: { type: "HYBRID", embedding: letters, sparseEmbedding: "BM25" },
} as const;

export type IndexName = keyof typeof kinds;

/** A server for the tests of one file, empty before each. */
export class Served {
  #larder: Larder | undefined;

  constructor() {
    before(async () => {
      const indexes = Object.entries(kinds).map(([name, definition]) => ({
        name,
        ...definition,
        token: `token-of-${name}`,
        readOnlyToken: `read-only-token-of-${name}`,
      }));
      this.#larder = await startSuite({ vector: { indexes } });
    });
    beforeEach(() => this.larder.reset());
    after(() => this.#larder?.stop());
  }

  get larder(): Larder {
    if (this.#larder === undefined) throw new Error("the server exists only while tests run");
    return this.#larder;
  }

  get url(): string {
    return this.larder.vector.url;
  }

  index(name: IndexName = "plain"): Index {
    return this.indexWith(`token-of-${name}`);
  }

  readOnlyIndex(name: IndexName = "plain"): Index {
    return this.indexWith(`read-only-token-of-${name}`);
  }

  indexWith(token: string): Index {
    return new Index({ url: this.url, token, retry: false });
  }

  /** A plain request. `line` is method and path. */
  async send(line: string, body?: unknown, name: IndexName = "plain") {
    const [method = "", path = ""] = line.split(" ");
    const headers = { authorization: `Bearer token-of-${name}` };
    const payload = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const reply = await fetch(`${this.url}${path}`, { method, headers, ...payload });
    const text = await reply.text();
    return { status: reply.status, text, json: JSON.parse(text) as unknown };
  }
}

/** Methods of the client, a fact about them, and a test of it on an empty server. */
export type MethodRow = readonly [
  methods: readonly string[],
  fact: string,
  show: (open: (name?: IndexName) => Index, served: Served) => Promise<void>,
];

/** One test for each row, on a separate server. Together the rows call every method of the family. */
export function testMethods(family: FamilyName, rows: readonly MethodRow[]): Served {
  const served = new Served();
  for (const [methods, fact, show] of rows) {
    test(`${family}: ${methods.join(", ")}: ${fact}`, async () => {
      const called = new Set<string>();

      await show((name) => recordCalls(served.index(name), "", called), served);

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

/** The same object, which records the names of called methods, including those of their results. */
function recordCalls<Target extends object>(target: Target, prefix: string, called: Set<string>): Target {
  return new Proxy(target, {
    get(real, name): unknown {
      const value: unknown = Reflect.get(real, name);
      const path = `${prefix}${String(name)}`;
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        called.add(path);
        const result: unknown = Reflect.apply(value, real, args);
        if (path === "namespace") return recordCalls(result as object, "namespace.", called);
        if (path !== "resumableQuery") return result;
        return (result as Promise<object>).then((query) => recordCalls(query, "resumableQuery.", called));
      };
    },
  });
}

/** The error text of a refused call. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  const fault = await call.then(
    () => assert.fail("it is not refused"),
    (thrown: Error) => thrown,
  );
  assert.equal(fault.name, "UpstashError");
  return fault.message;
}
