/**
 * A model in a directory, run by `@huggingface/transformers` in the thread that
 * loads it. Running it blocks that thread, so it belongs into one of its own.
 *
 * (1) Nothing is downloaded: the package is told to look into the directory
 *     alone.
 * (2) Texts go through the model a few at a time, which bounds its memory: each
 *     is padded to the longest of them. What is longer than the model takes is
 *     cut off by its tokenizer (B.models).
 */
import { basename, dirname, resolve } from "node:path";

export const poolings = ["cls", "mean"] as const;
export const precisions = ["fp32", "fp16", "q8", "int8", "uint8", "q4"] as const;

/** Plain data: it is posted between threads. */
export interface LocalModelSettings {
  /** Of the files of a model as the package wants them: `config.json`, `tokenizer.json`, `onnx/model.onnx`. */
  readonly directory: string;
  /** How the vectors of its words become that of a text. */
  readonly pooling: (typeof poolings)[number];
  /** Which of the model's files is run: `model.onnx`, `model_fp16.onnx`, `model_quantized.onnx`, … */
  readonly precision: (typeof precisions)[number];
}

export interface LocalModel {
  /** Vectors of length 1, in the order of the texts. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}

/** What we use of the package. */
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

/** Loads a model; `importPackage` gives the package. Rejects with what the package says. */
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
  if (!isOurs) throw new Error("The package exports no env and pipeline: another version is needed");
  return module as Transformers;
}

function rowsOf(dims: readonly number[], data: ArrayLike<number>, count: number): readonly Float32Array[] {
  const [rows, dimension = 0] = dims;
  if (dims.length !== 2 || rows !== count || data.length !== count * dimension || dimension === 0) {
    throw new Error(`The model gave a tensor of ${dims.join(" x ")} for ${count} texts: it is not a text model`);
  }
  const all = Float32Array.from(data);
  if (!all.every((value) => Number.isFinite(value))) throw new Error("The model gave numbers that are not finite");
  return Array.from({ length: count }, (_, row) => all.slice(row * dimension, (row + 1) * dimension));
}
