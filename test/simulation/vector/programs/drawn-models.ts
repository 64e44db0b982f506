/** Models for tests: texts that share words have similar vectors, and every sum over them is exact. */

import type { DenseEmbedder, SparseEmbedder } from "../../../../src/vector/embedding/embedder.ts";
import { hasDense, hasSparse, type IndexDefinition } from "../../../../src/vector/index/definition.ts";
import type { PlainModels } from "./plain-index.ts";

const VALUES_OF_WORDS = 4;

export function drawnModels({ dimension }: Pick<IndexDefinition, "dimension">): PlainModels {
  return {
    dense: (text) => {
      const vector = new Array<number>(dimension ?? 0).fill(0);
      // Never zero, which has no direction.
      vector[0] = 1;
      for (const [i, word] of wordsOf(text).entries()) {
        const place = (codeOf(word) + i) % vector.length;
        vector[place] = (vector[place] ?? 0) + (codeOf(word) % VALUES_OF_WORDS);
      }
      return vector;
    },
    sparse: (text) => [...new Set(wordsOf(text))].map((word) => ({ index: codeOf(word), value: 1.5 })),
  };
}

function wordsOf(text: string): readonly string[] {
  return text.split(" ").filter((word) => word !== "");
}

function codeOf(word: string): number {
  return word.charCodeAt(0) - 96;
}

/** The same models as the engine takes them. `gate` resolves when texts may become vectors. */
export function embeddersOf(
  definition: IndexDefinition,
  gate: () => Promise<void>,
): { readonly dense: DenseEmbedder | undefined; readonly sparse: SparseEmbedder | undefined } {
  const models = drawnModels(definition);
  return {
    dense:
      hasDense(definition) && definition.denseModel !== undefined
        ? {
            async embed(texts) {
              await gate();
              return texts.map((text) => Float32Array.from(models.dense(text)));
            },
            async close() {},
          }
        : undefined,
    sparse:
      hasSparse(definition) && definition.sparseModel !== undefined
        ? {
            embed(text) {
              const list = models.sparse(text);
              return {
                indices: Int32Array.from(list, ({ index }) => index),
                values: Float32Array.from(list, ({ value }) => value),
              };
            },
          }
        : undefined,
  };
}
