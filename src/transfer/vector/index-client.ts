/**
 * One index behind its HTTP interface, ours or a hosted one: what it is, its
 * records page by page, and the way in for them.
 *
 * (1) Pages are cut to a size in bytes, not in records, so memory does not grow
 *     with vectors or texts. A page that is refused is asked for again with half
 *     as many records, and a list that is refused is sent in halves, because
 *     servers differ in what they take at once.
 */
import { StartRefusal } from "../../program/refusal.ts";
import type { AreaAnswer, AreaClient } from "../area-client.ts";
import { elementTexts, memberTexts } from "./slices.ts";

export interface IndexFacts {
  readonly type: string;
  /** 0: none yet, or none at all (SPARSE). */
  readonly dimension: number;
  /** Empty for a SPARSE index. */
  readonly similarity: string;
  /** Empty: none. */
  readonly denseModel: string;
  readonly sparseModel: string;
}

export interface IndexInfo {
  readonly facts: IndexFacts;
  /** Records by namespace, those that are being indexed as well. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface RecordPage {
  /** Each the text of an object. */
  readonly records: readonly string[];
  /** Where the next page begins; undefined behind the last. */
  readonly next: string | undefined;
}

/** What a page is meant to have. */
const PAGE_BYTES = 8 * 1024 * 1024;
const PAGE_RECORDS_MAX = 1_000;
/** Of a component as text, with sign and comma. */
const FLOAT_BYTES = 13;
/** Of the rest of a record, before there is a page that tells. */
const REST_BYTES = 512;

export interface IndexOptions {
  /** How people know it, for failures. */
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
    const result = fieldsOf(JSON.parse(await this.#done("/info", "{}")));
    const dense = fieldsOf(result.get("denseIndex"));
    const sparse = fieldsOf(result.get("sparseIndex"));
    const facts = {
      type: textOf(result.get("indexType")),
      dimension: countOf(result.get("dimension")),
      similarity: textOf(result.get("similarityFunction")),
      denseModel: textOf(dense.get("embeddingModel")),
      sparseModel: textOf(sparse.get("embeddingModel")),
    };
    if (facts.type === "") throw this.#odd("/info", "it names no indexType");
    const counts = new Map<string, number>();
    for (const [name, value] of fieldsOf(result.get("namespaces"))) {
      const counted = fieldsOf(value);
      counts.set(name, countOf(counted.get("vectorCount")) + countOf(counted.get("pendingVectorCount")));
    }
    this.#limit ??= Math.floor(PAGE_BYTES / (facts.dimension * FLOAT_BYTES + REST_BYTES));
    return { facts, counts };
  }

  /** In the order of their code units, which is the same each time. */
  async namespaces(): Promise<readonly string[]> {
    const names: unknown = JSON.parse(await this.#done("/list-namespaces", "{}"));
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

  /** Stores records in the place of those with the same ids. keeps (1) */
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

  /** Empties a namespace; one that is not there stays so. */
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
      const next: unknown = JSON.parse(members.get("nextCursor") ?? '""');
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
    const error = JSON.parse(members.get("error") ?? "null");
    const reason = typeof error === "string" ? error : "no reason";
    throw new StartRefusal(`${this.#name} refuses ${path}${what}: ${reason} (${status})`);
  }

  #odd(path: string, what: string): StartRefusal {
    return new StartRefusal(`What ${this.#name} answers to ${path} is not what a vector index answers: ${what}`);
  }
}

/** Refused for what was asked, not for who asks or when. */
function isTooMuch({ status }: AreaAnswer): boolean {
  return status === 400 || status === 413 || status === 422;
}

function clampedLimit(limit: number): number {
  return Math.max(1, Math.min(PAGE_RECORDS_MAX, Math.floor(limit)));
}

function idOf(record: string | undefined): string {
  return memberTexts(record ?? "{}").get("id") ?? "";
}

/** A slash within a name stays one: the rest of the path is the name (B.namespace). */
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

/** What is different about an index, in words, so that records of `source` cannot be in `target`; undefined: nothing. */
export function mismatchOf(source: IndexFacts, target: IndexFacts): string | undefined {
  const isAlike =
    source.type === target.type &&
    source.similarity === target.similarity &&
    // A dimension that is open is fixed by the first vector.
    (source.dimension === target.dimension || source.dimension === 0 || target.dimension === 0);
  return isAlike ? undefined : `is ${describe(source)}, and the index is ${describe(target)}`;
}

export function describe({ type, dimension, similarity }: IndexFacts): string {
  if (type === "SPARSE") return type;
  return `${type} with ${dimension === 0 ? "an open number of" : dimension} dimensions and ${similarity}`;
}
