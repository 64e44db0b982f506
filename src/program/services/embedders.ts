/** Makes the embedders of an index from its plan. */
import { lookup } from "node:dns/promises";
import { LocalEmbedder } from "../../edge/embedding/local.ts";
import { Resolver } from "../../edge/outbound/resolver.ts";
import { assert } from "../../kernel/assert.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { systemRandom } from "../../kernel/random.ts";
import {
  type DenseEmbedder,
  type Embedders,
  findSparseModel,
  HashingEmbedder,
  STAND_IN_DIMENSION,
  VectorFailure,
} from "../../vector/mod.ts";
import { StartRefusal } from "../refusal.ts";
import type { EmbeddingPlan, EmbeddingProvider } from "../settings/embedding-settings.ts";
import type { IndexPlan } from "../settings/index-settings.ts";
import { startModelThread } from "../workers/model-thread.ts";

export interface IndexEmbedders extends Embedders {
  /** Ends pending calls with a failure. */
  close(): Promise<void>;
}

/** One for all endpoints of this thread, because they share its limits. Sockets use the real clock. */
const resolver = new Resolver({ lookup: (name) => lookup(name, { all: true }), clock: systemClock });

export interface EmbedderOptions {
  readonly log: Log;
  /** The dimension of the index at the moment. */
  readonly dimensionNow: () => number | undefined;
}

/**
 * The embedders of an index. A local model is loaded before this resolves; rejects with a `StartRefusal` if that fails.
 * An endpoint is not called before there is a text.
 */
export async function openEmbedders(
  { definition, embedding, embedsTexts }: IndexPlan,
  { log, dimensionNow }: EmbedderOptions,
): Promise<IndexEmbedders> {
  if (embedsTexts) {
    const dense = new HashingEmbedder(() => dimensionNow() ?? STAND_IN_DIMENSION);
    return { dense, sparse: undefined, isStandIn: true, close: () => dense.close() };
  }
  const dense = embedding && (await openDense(embedding, { dimension: definition.dimension, log }));
  const { sparseModel } = definition;
  return {
    dense,
    sparse: sparseModel === undefined ? undefined : findSparseModel(sparseModel)?.embedder,
    close: async () => dense?.close(),
  };
}

interface DenseOptions {
  readonly dimension: number | undefined;
  readonly log: Log;
}

type Opener<Name> = (
  by: Extract<EmbeddingProvider, { provider: Name }>,
  options: DenseOptions & { readonly model: string },
) => DenseEmbedder | Promise<DenseEmbedder>;

const openers: { readonly [Name in EmbeddingProvider["provider"]]: Opener<Name> } = {
  http: async (provider, { model, dimension }) => {
    // With an HTTP client, which takes long to load.
    const { HttpEmbedder } = await import("../../edge/embedding/http.ts");
    return new HttpEmbedder({ model, provider, dimension, resolver, clock: systemClock, random: systemRandom });
  },
  local: async (provider, { model, dimension, log }) => {
    const onFailure = (reason: string): void => log.error("an embedding model failed", { model, reason });
    const embedder = new LocalEmbedder({
      model,
      provider,
      dimension,
      startThread: (events) => startModelThread(provider, events),
      onFailure,
    });
    try {
      await embedder.open();
    } catch (failure) {
      if (!(failure instanceof VectorFailure)) throw failure;
      throw new StartRefusal(`${failure.text}: check what is in ${provider.directory}`);
    }
    return embedder;
  },
  hashing: (_provider, { dimension }) => {
    assert(dimension !== undefined, "an index that hashes has a dimension");
    return new HashingEmbedder(dimension);
  },
};

async function openDense({ model, by }: EmbeddingPlan, options: DenseOptions): Promise<DenseEmbedder> {
  const opener = openers[by.provider] as Opener<EmbeddingProvider["provider"]>;
  return opener(by, { ...options, model });
}
