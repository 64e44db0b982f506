/**
 * Draws values from schemas: valid ones and nearly valid ones. Constraints that a schema
 * cannot express (two lists of equal length, the grammar of a filter)
 * are in the hints, by the name of the field.
 *
 * Names connect answers to requests: a `dlqId` of an answer is drawn
 * again for each `dlqId` of a request.
 */
import type { Schema } from "../../../src/edge/openapi/schema.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { Resolve } from "./validate.ts";

/** The number of values remembered for a name. */
const POOL_COUNT_MAX = 40;

/** Names of answers to names of requests that mean the same. */
const aliases = new Map([
  ["nextCursor", "cursor"],
  ["workflowRunIds", "workflowRunId"],
  ["messageIds", "messageId"],
  ["dlqIds", "dlqId"],
  ["ids", "id"],
  ["Service-Workflow-RunId", "workflowRunId"],
  ["Service-Queue-Name", "queueName"],
  ["queue", "queueName"],
  ["topicName", "urlGroupName"],
  ["Service-Flow-Control-Key", "flowControlKey"],
  ["Service-Schedule-Id", "scheduleId"],
  ["newNamespace", "namespace"],
]);

/** Names chosen by callers; other ids come from answers. */
const chosenNames: readonly string[] = [
  ...["queueName", "urlGroupName", "flowControlKey", "scheduleId", "eventId", "id", "namespace"],
  ...["Service-Queue-Name", "Service-Flow-Control-Key", "Service-Schedule-Id", "newNamespace"],
];

const urls: readonly string[] = [
  "https://a.test/",
  "https://b.test/steps?x=1",
  "http://c.test:81/é",
  "https://d.test/a%20b",
];
const filters: readonly string[] = ["a = 1", "HAS FIELD a", "b IN ('x', 'y') OR a >= 0", "HAS NOT FIELD a.b", ""];
const commandLines: readonly string[] = [
  "SET k v",
  "GET k",
  "DEL k",
  "INCR n",
  "LPUSH l a b",
  "LRANGE l 0 -1",
  "HSET h f v",
  "HGETALL h",
  "ZADD z 1.5 a",
  "ZRANGE z 0 -1 WITHSCORES",
  "XADD x * f v",
  "XRANGE x - +",
  "EXPIRE k 10",
  "JSON.SET j $ {}",
  "JSON.GET j",
  "MGET k n none",
  "PING",
  "TYPE k",
  "SCAN 0",
  "EVAL return{1,'a',false} 0",
  "FLUSHDB",
  "BLPOP l 1",
  "WATCH k",
  "NO.SUCH x",
  "PUBLISH c m",
];

const steps: readonly Readonly<Record<string, unknown>>[] = [
  { stepId: 1, stepName: "one", stepType: "Run", out: "x", concurrent: 1 },
  { stepId: 2, stepName: "hold", stepType: "Wait", concurrent: 1 },
];

export class Drawer {
  readonly random: Random;
  readonly #resolve: Resolve;
  readonly #pools = new Map<string, string[]>();
  readonly #hints: ReadonlyMap<string, () => unknown>;

  constructor(random: Random, resolve: Resolve, { dimension }: { readonly dimension: number }) {
    this.random = random;
    this.#resolve = resolve;
    const url = (): string => this.oneOf(urls);
    this.#hints = new Map<string, () => unknown>([
      ["vector", () => Array.from({ length: dimension }, () => this.random.below(7) - 2.5)],
      ["sparseVector", () => this.#sparse()],
      ["filter", () => this.oneOf(filters)],
      ["destination", () => (this.chance(0.2) ? this.fromPool("urlGroupName") : undefined) ?? url()],
      ["url", url],
      ["workflowUrl", url],
      ["timeoutUrl", url],
      ["timeout", () => this.oneOf(["10s", "1d", 90])],
      ["step", () => this.oneOf(steps)],
      ["userId", () => "main"],
      ["arguments", () => this.oneOf(["k", "n", "l", "h", "z", "x"])],
      ["command", () => this.oneOf(commandLines).split(" ")[0]],
      ["cursor", () => this.fromPool("cursor") ?? "0"],
      ["period", () => 1 + this.random.below(600)],
      ["metadata", () => ({ a: this.random.below(3), b: this.oneOf(["x", "y"]), [this.word()]: null })],
    ]);
  }

  /** Below 1. */
  chance(probability: number): boolean {
    return this.random.unit() < probability;
  }

  oneOf<Value>(values: readonly Value[]): Value {
    return values[this.random.below(values.length)] as Value;
  }

  /** A name as callers choose it. */
  word(): string {
    return this.oneOf(["a", "b-1", "main", "Orders_2", "x.y", "n"]);
  }

  /** Text that no caller chooses on purpose. */
  junk(): string {
    return this.oneOf(JUNK)();
  }

  /** The words of a command. */
  commandWords(): readonly string[] {
    return this.oneOf(commandLines).split(" ");
  }

  /** A value that an answer had under this name. */
  fromPool(name: string): string | undefined {
    const pool = this.#pools.get(aliases.get(name) ?? name);
    return pool === undefined ? undefined : this.oneOf(pool);
  }

  /** Remembers the values of an answer under the names of its fields. */
  learn(value: unknown, name = ""): void {
    if (Array.isArray(value)) for (const item of value.slice(0, 5)) this.learn(item, name);
    else if (typeof value === "object" && value !== null) {
      for (const [key, member] of Object.entries(value)) this.learn(member, key);
    } else if ((typeof value === "string" && value !== "" && value.length < 200) || typeof value === "number")
      this.remember(name, String(value));
  }

  remember(name: string, value: string): void {
    const key = aliases.get(name) ?? name;
    const pool = this.#pools.get(key);
    if (pool === undefined) this.#pools.set(key, [value]);
    else if (!pool.includes(value)) {
      if (pool.length < POOL_COUNT_MAX) pool.push(value);
      else pool[this.random.below(POOL_COUNT_MAX)] = value;
    }
  }

  /** A value of this schema, for a field of this name. */
  value(given: Schema, name = ""): unknown {
    const schema = this.#resolve(given);
    const hint = this.#hints.get(name);
    if (hint !== undefined && schema.type !== "array" && this.chance(0.9)) return hint();
    if (schema.anyOf !== undefined) {
      const shapes = schema.anyOf.filter((shape) => shape.type !== "null" || this.chance(0.1));
      return this.value(this.oneOf(shapes.length > 0 ? shapes : schema.anyOf), name);
    }
    if (schema.enum !== undefined) return this.oneOf(schema.enum);
    const type = typeof schema.type === "object" ? this.oneOf(schema.type) : schema.type;
    switch (type) {
      case "object":
        return this.#object(schema);
      case "array":
        return this.#list(schema, name);
      case "string":
        return this.#text(schema, name);
      case "integer":
        return this.#integer(schema, name);
      case "number":
        return this.random.below(100) / 8 - 3;
      case "boolean":
        return this.chance(0.5);
      case "null":
        return null;
      default:
        return this.oneOf([1, "x", null, true, ["y"], { z: 1 }]);
    }
  }

  #object({ properties = {}, required = [], additionalProperties }: Schema): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    const share = this.oneOf([0.1, 0.3, 0.6]);
    for (const [name, shape] of Object.entries(properties)) {
      if (required.includes(name) || this.chance(share)) value[name] = this.value(shape, name);
    }
    if (additionalProperties !== undefined) {
      for (let left = this.random.below(3); left > 0; left -= 1) {
        value[this.oneOf(["X-A", "service-retries", "upstash-delay", "b"])] = this.value(additionalProperties, "");
      }
    }
    return value;
  }

  #list({ items = {}, minItems = 0 }: Schema, name: string): unknown[] {
    const length = Math.max(minItems, this.oneOf([0, 1, 1, 2, 3]));
    return Array.from({ length }, () => this.value(items, name));
  }

  #text({ examples = [] }: Schema, name: string): unknown {
    const known = this.fromPool(name);
    if (known !== undefined && this.chance(0.75)) return known;
    if (examples.length > 0) return this.oneOf(examples);
    const fresh = this.word();
    if (chosenNames.includes(name)) this.remember(name, fresh);
    return fresh;
  }

  #integer({ minimum = 0, maximum = 1_000 }: Schema, name: string): number {
    const known = Number(this.fromPool(name));
    if (Number.isSafeInteger(known) && known >= minimum && known <= maximum && this.chance(0.5)) return known;
    return minimum + this.random.below(Math.min(20, maximum - minimum + 1));
  }

  #sparse(): { indices: number[]; values: number[] } {
    const length = 1 + this.random.below(3);
    return {
      indices: Array.from({ length }, () => this.random.below(20)),
      values: Array.from({ length }, () => 1 + this.random.below(5)),
    };
  }

  /** The value with one change, so that it may no longer be valid. */
  spoiled(value: unknown): unknown {
    if (Array.isArray(value) && value.length > 0 && this.chance(0.8)) {
      const changed: unknown[] = [...value];
      const index = this.random.below(changed.length);
      if (this.chance(0.2)) changed.splice(index, 1);
      else changed[index] = this.spoiled(changed[index]);
      return changed;
    }
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const entries = Object.entries(value);
      if (entries.length === 0 || this.chance(0.1)) return { ...value, [this.junk() || "x"]: this.spoiled(null) };
      const [name, member] = this.oneOf(entries);
      const others = entries.filter(([other]) => other !== name);
      return Object.fromEntries(this.chance(0.3) ? others : [...others, [name, this.spoiled(member)]]);
    }
    const odd: readonly unknown[] = [
      ...["", null, -1, 0.5, 1e300, 2 ** 53, true, [], {}, "\u0000", "\ud800", "é".repeat(400), "__proto__", "1e9"],
      ...[[null], { a: { b: [] } }, this.junk()],
    ];
    return this.oneOf(odd);
  }
}

const JUNK: readonly (() => string)[] = [
  () => "",
  () => " ",
  () => "..",
  () => "%zz",
  () => "a/b",
  () => "\u0000",
  () => "é",
  () => "x".repeat(600),
  () => "-1",
  () => "99999999999999999999",
  // Above the maximum of retries.
  () => "1000001",
  () => "__proto__",
  () => "constructor",
  () => "ftp://a.test",
  () => "https://",
  () => "{}",
  () => "'; DROP",
];
