/**
 * A model in a directory, run by `@huggingface/transformers` in the current
 * thread. Running it blocks the thread, so it needs one of its own.
 *
 * (1) Nothing is downloaded: the package only searches the directory.
 * (2) The model gets a few texts at a time, which limits its memory: each text is
 *     padded to the longest. The tokenizer truncates texts that are too long for
 *     the model (B.models).
 */
import { basename, dirname, resolve } from "node:path";

export const poolings = ["cls", "mean"] as const;
export const precisions = ["fp32", "fp16", "q8", "int8", "uint8", "q4"] as const;

/** Plain data, sent between threads. */
export interface LocalModelSettings {
  /** Directory of the model: `config.json`, `tokenizer.json`, `onnx/model.onnx`. */
  readonly directory: string;
  /** How the vectors of tokens become the vector of a text. */
  readonly pooling: (typeof poolings)[number];
  /** Selects the file: `model.onnx`, `model_fp16.onnx`, `model_quantized.onnx`, … */
  readonly precision: (typeof precisions)[number];
}

export interface LocalModel {
  /** Vectors of length 1, in the order of the texts. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}

/** The part of the package that we use. */
interface Transformers {
  readonly env: { allowRemoteModels: boolean; allowLocalModels: boolean; localModelPath: string };
  pipeline(task: "feature-extraction", model: string, options: { dtype: string }): Promise<Extractor>;
}

type Extractor = (
  texts: readonly string[],
  options: { pooling: string; normalize: boolean },
) => Promise<{ readonly dims: readonly number[]; readonly data: ArrayLike<number> }>;

/** See (2). */
const TEXTS_PER_RUN = 16;

/** Loads a model; `importPackage` returns the package. Rejects with the error of the package. */
export async function loadLocalModel(
  { directory, pooling, precision }: LocalModelSettings,
  importPackage: () => Promise<unknown>,
): Promise<LocalModel> {
  const { env, pipeline } = transformersOf(await importPackage());
  const path = resolve(directory);
  env.allowRemoteModels = false; // keeps (1)
  env.allowLocalModels = true;
  env.localModelPath = dirname(path);
  const extract = await pipeline("feature-extraction", basename(path), { dtype: precision });
  return {
    async embed(texts) {
      const vectors: Float32Array[] = [];
      for (let start = 0; start < texts.length; start += TEXTS_PER_RUN) {
        const run = texts.slice(start, start + TEXTS_PER_RUN); // keeps (2)
        const { dims, data } = await extract(run, { pooling, normalize: true });
        vectors.push(...rowsOf(dims, data, run.length));
      }
      return vectors;
    },
  };
}

function transformersOf(module: unknown): Transformers {
  const isOurs =
    typeof module === "object" &&
    module !== null &&
    "env" in module &&
    "pipeline" in module &&
    typeof module.pipeline === "function";
  if (!isOurs) throw new Error("The package does not export env and pipeline: install another version");
  return module as Transformers;
}

function rowsOf(dims: readonly number[], data: ArrayLike<number>, count: number): readonly Float32Array[] {
  const [rows, dimension = 0] = dims;
  if (dims.length !== 2 || rows !== count || data.length !== count * dimension || dimension === 0) {
    throw new Error(`The model returned a tensor of ${dims.join(" x ")} for ${count} texts: it is not a text model`);
  }
  const all = Float32Array.from(data);
  if (!all.every((value) => Number.isFinite(value))) throw new Error("The model returned numbers that are not finite");
  return Array.from({ length: count }, (_, row) => all.slice(row * dimension, (row + 1) * dimension));
}
