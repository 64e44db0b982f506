/**
 * A client of one index over HTTP, of larder or hosted: its facts, its records
 * page by page, and upserts.
 *
 * (1) Pages are limited in bytes, not in records, so memory does not grow with
 *     vectors or texts. A refused page is requested again with half as many
 *     records, and a refused upsert is sent in halves, because the limits of
 *     servers differ.
 */
import { parseJsonText } from "../../kernel/json/parse.ts";
import { StartRefusal } from "../../program/refusal.ts";
import type { AreaAnswer, AreaClient } from "../area-client.ts";
import { elementTexts, memberTexts } from "./slices.ts";

export interface IndexFacts {
  readonly type: string;
  /** 0: not fixed yet, or no dense vectors (SPARSE). */
  readonly dimension: number;
  /** Empty for a SPARSE index. */
  readonly similarity: string;
  /** Empty: none. */
  readonly denseModel: string;
  readonly sparseModel: string;
}

export interface IndexInfo {
  readonly facts: IndexFacts;
  /** Records by namespace, including pending ones. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface RecordPage {
  /** Each the text of an object. */
  readonly records: readonly string[];
  /** The cursor of the next page; undefined after the last. */
  readonly next: string | undefined;
}

/** The target size of a page. */
const PAGE_BYTES = 8 * 1024 * 1024;
const PAGE_RECORDS_MAX = 1_000;
/** Bytes of a component as text, with sign and comma. */
const FLOAT_BYTES = 13;
/** Bytes of the rest of a record, before the first page shows it. */
const REST_BYTES = 512;

export interface IndexOptions {
  /** Its name for people, in errors. */
  readonly name: string;
  readonly requestBytesMax?: number;
}

export const FIRST_PAGE = "0";

export class IndexClient {
  readonly #client: AreaClient;
  readonly #name: string;
  readonly #requestBytesMax: number;
  #limit: number | undefined;

  constructor(client: AreaClient, { name, requestBytesMax = Number.POSITIVE_INFINITY }: IndexOptions) {
    this.#client = client;
    this.#name = name;
    this.#requestBytesMax = requestBytesMax;
  }

  async info(): Promise<IndexInfo> {
    const result = fieldsOf(parseJsonText(await this.#done("/info", "{}")));
    const dense = fieldsOf(result.get("denseIndex"));
    const sparse = fieldsOf(result.get("sparseIndex"));
    const facts = {
      type: textOf(result.get("indexType")),
      dimension: countOf(result.get("dimension")),
      similarity: textOf(result.get("similarityFunction")),
      denseModel: textOf(dense.get("embeddingModel")),
      sparseModel: textOf(sparse.get("embeddingModel")),
    };
    if (facts.type === "") throw this.#odd("/info", "it has no indexType");
    const counts = new Map<string, number>();
    for (const [name, value] of fieldsOf(result.get("namespaces"))) {
      const counted = fieldsOf(value);
      counts.set(name, countOf(counted.get("vectorCount")) + countOf(counted.get("pendingVectorCount")));
    }
    this.#limit ??= Math.floor(PAGE_BYTES / (facts.dimension * FLOAT_BYTES + REST_BYTES));
    return { facts, counts };
  }

  /** Ordered by code units, always the same order. */
  async namespaces(): Promise<readonly string[]> {
    const names: unknown = parseJsonText(await this.#done("/list-namespaces", "{}"));
    if (!Array.isArray(names) || !names.every((name) => typeof name === "string"))
      throw this.#odd("/list-namespaces", "it is not an array of strings");
    return [...new Set(["", ...names])].sort();
  }

  /** keeps (1) */
  async range(namespace: string, cursor: string): Promise<RecordPage> {
    const path = pathOf("/range", namespace);
    for (;;) {
      const limit = clampedLimit(this.#limit ?? PAGE_RECORDS_MAX);
      const parts = { includeMetadata: true, includeVectors: true, includeData: true };
      const answer = await this.#send(path, JSON.stringify({ cursor, limit, ...parts }));
      if (isTooMuch(answer) && limit > 1) {
        this.#limit = Math.floor(limit / 2);
        continue;
      }
      const page = this.#pageOf(path, answer);
      if (page.records.length > 0) this.#limit = (PAGE_BYTES * page.records.length) / answer.body.length;
      return page;
    }
  }

  /** Stores records, and replaces those with the same ids. keeps (1) */
  async upsert(namespace: string, records: readonly string[]): Promise<void> {
    const path = pathOf("/upsert", namespace);
    const body = Buffer.from(`[${records.join(",")}]`);
    const isAlone = records.length === 1;
    if (isAlone || body.length <= this.#requestBytesMax) {
      const answer = await this.#send(path, body);
      if (isAlone || !isTooMuch(answer)) {
        this.#resultOf(path, answer, isAlone ? ` of the record ${idOf(records[0])}` : "");
        return;
      }
    }
    const middle = records.length >> 1;
    await this.upsert(namespace, records.slice(0, middle));
    await this.upsert(namespace, records.slice(middle));
  }

  /** Empties a namespace; a missing namespace is left missing. */
  async reset(namespace: string): Promise<void> {
    await this.#done(pathOf("/reset", namespace), "{}");
  }

  async deleteNamespace(namespace: string): Promise<void> {
    await this.#done(pathOf("/delete-namespace", namespace), "{}");
  }

  #pageOf(path: string, answer: AreaAnswer): RecordPage {
    const result = this.#resultOf(path, answer);
    try {
      const members = memberTexts(result);
      const next: unknown = parseJsonText(members.get("nextCursor") ?? '""');
      const records = elementTexts(members.get("vectors") ?? "");
      const isLast = next === "" || next === null;
      return { records, next: isLast ? undefined : String(next) };
    } catch (fault) {
      throw this.#odd(path, fault instanceof Error ? fault.message : String(fault));
    }
  }

  async #done(path: string, body: string): Promise<string> {
    return this.#resultOf(path, await this.#send(path, body));
  }

  #send(path: string, body: string | Buffer): Promise<AreaAnswer> {
    return this.#client.send({ method: "POST", path, headers: { "content-type": "application/json" }, body });
  }

  /** The text of the member `result`. */
  #resultOf(path: string, { status, body }: AreaAnswer, what = ""): string {
    const text = body.toString("utf8");
    let members: ReadonlyMap<string, string>;
    try {
      members = memberTexts(text);
    } catch {
      throw this.#odd(path, `status ${status}, and its body is not JSON`);
    }
    const result = members.get("result");
    if (status === 200 && result !== undefined) return result;
    const error = parseJsonText(members.get("error") ?? "null");
    const reason = typeof error === "string" ? error : "no reason";
    throw new StartRefusal(`${this.#name} refuses ${path}${what}: ${reason} (${status})`);
  }

  #odd(path: string, what: string): StartRefusal {
    return new StartRefusal(`The response of ${this.#name} to ${path} is not a response of a vector index: ${what}`);
  }
}

/** Refused because of the request, not because of the client or the time. */
function isTooMuch({ status }: AreaAnswer): boolean {
  return status === 400 || status === 413 || status === 422;
}

function clampedLimit(limit: number): number {
  return Math.max(1, Math.min(PAGE_RECORDS_MAX, Math.floor(limit)));
}

function idOf(record: string | undefined): string {
  return memberTexts(record ?? "{}").get("id") ?? "";
}

/** A slash in a name stays a slash: the rest of the path is the name (B.namespace). */
function pathOf(command: string, namespace: string): string {
  if (namespace === "") return command;
  return `${command}/${namespace.split("/").map(encodeURIComponent).join("/")}`;
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === "object" && value !== null ? Object.entries(value) : []);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** The difference because of which `target` cannot hold records of `source`, in words; undefined: none. */
export function mismatchOf(source: IndexFacts, target: IndexFacts): string | undefined {
  const isAlike =
    source.type === target.type &&
    source.similarity === target.similarity &&
    // The first vector fixes an open dimension.
    (source.dimension === target.dimension || source.dimension === 0 || target.dimension === 0);
  return isAlike ? undefined : `is ${describe(source)}, and the index is ${describe(target)}`;
}

export function describe({ type, dimension, similarity }: IndexFacts): string {
  if (type === "SPARSE") return type;
  return `${type} with ${dimension === 0 ? "an open number of" : dimension} dimensions and ${similarity}`;
}
