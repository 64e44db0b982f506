/**
 * The vector index behind a real socket on a free port of loopback, inside this
 * process. Time is virtual; only the sockets live in real time.
 *
 *     await using server = await startVectorServer({ type: "DENSE", dimension: 2 });
 *     await server.post("/upsert", { id: "a", vector: [1, 0] });
 */
import assert from "node:assert/strict";
import { TokenTable } from "../../src/edge/auth.ts";
import { IN_FLIGHT_BYTES_MAX, type Listener } from "../../src/edge/http/listener.ts";
import { ByteBudget } from "../../src/edge/limits/byte-budget.ts";
import { VectorArea } from "../../src/edge/vector/area.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { createLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { Turns } from "../../src/kernel/turns.ts";
import type { IndexDefinition } from "../../src/vector/index/definition.ts";
import { VectorEngine } from "../../src/vector/index/vector-engine.ts";
import { defaultVectorLimits, type VectorLimits } from "../../src/vector/limits.ts";
import { embeddersOf } from "../simulation/vector/programs/drawn-models.ts";
import { watchedSink } from "./canaries.ts";
import { listenForSuite } from "./cluster/suite-front.ts";
import { openSuiteShard, type SuiteShard, watched } from "./cluster/suite-shard.ts";
import { RecordingJournal } from "./recording-journal.ts";
import { type LineOptions, type LineReply, sendLine } from "./send-line.ts";

export const VECTOR_TOKEN = "vector-token";
export const VECTOR_READ_ONLY_TOKEN = "vector-read-only-token";
/** Of the index `other`. */
export const OTHER_TOKEN = "other-vector-token";

const dense: IndexDefinition = {
  type: "DENSE",
  dimension: 2,
  similarity: "COSINE",
  denseModel: undefined,
  sparseModel: undefined,
};

export class VectorServer implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly #shard: SuiteShard | undefined = openSuiteShard();
  readonly journal = new RecordingJournal(this.#shard);
  readonly engine: VectorEngine;
  readonly #definition: Partial<IndexDefinition>;
  readonly #limits: VectorLimits;
  #listener: Listener | undefined;
  #handleCount = 0;

  constructor(definition: Partial<IndexDefinition>, limits: Partial<VectorLimits>, past: readonly Buffer[]) {
    this.#definition = definition;
    this.#limits = { ...defaultVectorLimits, ...limits };
    this.engine = new VectorEngine({
      journal: this.journal,
      clock: this.clock,
      random: seededRandom(1),
      limits: this.#limits,
      graphs: undefined,
      newHandle: () => {
        this.#handleCount += 1;
        return `handle-${this.#handleCount}`;
      },
    });
    for (const frame of past) this.engine.replay(frame);
  }

  async start(): Promise<void> {
    await this.#shard?.open();
    for (const [name, wanted] of [["main", { ...dense, ...this.#definition }] as const, ["other", dense] as const]) {
      this.engine.define(
        name,
        wanted,
        embeddersOf(wanted, async () => undefined),
      );
    }
    const tokens = new TokenTable(Buffer.alloc(32, 5));
    tokens.replaceTenant("main", [
      { token: VECTOR_TOKEN, access: "standard" },
      { token: VECTOR_READ_ONLY_TOKEN, access: "read-only" },
    ]);
    tokens.replaceTenant("other", [{ token: OTHER_TOKEN, access: "standard" }]);
    const { engine: vector, clock } = this;
    const turns = new Turns({ clock: systemClock });
    this.#listener = await listenForSuite({
      ...{ name: "vector", frontBytesMax: IN_FLIGHT_BYTES_MAX },
      area: watched(new VectorArea({ vector, tokens, cors: true, limits: this.#limits, clock, turns }), this.#shard),
      host: "127.0.0.1",
      port: 0,
      clock: systemClock,
      log: createLog({
        level: "debug",
        format: "json",
        clock: systemClock,
        sink: watchedSink([VECTOR_TOKEN, VECTOR_READ_ONLY_TOKEN, OTHER_TOKEN]),
      }),
      budget: new ByteBudget(IN_FLIGHT_BYTES_MAX),
      idPrefix: "test",
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener?.port}`;
  }

  /** `line` is method and target. */
  send(line: string, sent: Partial<LineOptions> = {}): Promise<LineReply> {
    return sendLine(this.url, line, { token: VECTOR_TOKEN, ...sent });
  }

  /** The result of a request that must succeed. */
  async post(target: string, body?: unknown): Promise<unknown> {
    const { status, json, text } = await this.send(`POST ${target}`, { body });
    assert.equal(status, 200, `${target}: ${text}`);
    return (json as { result: unknown }).result;
  }

  /** Status and text of a request that must be refused. */
  async refusal(target: string, body?: unknown): Promise<readonly [status: number, error: string]> {
    const { status, json } = await this.send(`POST ${target}`, { body });
    const answer = json as { error: string; status: number };
    assert.deepEqual(answer, { error: answer.error, status }, target);
    return [status, answer.error];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener?.close(0);
    this.engine.close();
    await this.#shard?.close();
  }
}

/**
 * A server of the index `main`, as in `definition`, or DENSE with COSINE and two dimensions. `past`: frames
 * of a journal or a snapshot that it starts from.
 */
export async function startVectorServer(
  definition: Partial<IndexDefinition> = {},
  limits: Partial<VectorLimits> = {},
  past: readonly Buffer[] = [],
): Promise<VectorServer> {
  const server = new VectorServer(definition, limits, past);
  await server.start();
  return server;
}
