import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { configSchema } from "../../../tools/reference/config-schema.ts";
import { type Configuration, parseConfiguration } from "./config.ts";
import { FieldReader } from "./field-reader.ts";
import { describeIndex, INDEX_KEYS, type IndexPlan, readIndexPlan } from "./index-settings.ts";
import { BadValue } from "./values.ts";

const KEY = "sk-canary";

interface Given {
  index?: object;
  models?: object;
  files?: Readonly<Record<string, string>>;
  packages?: readonly string[];
}

function fileOf({ index = {}, models }: Given): object {
  return { vector: { indexes: [{ name: "docs", ...index }], ...(models && { models }) } };
}

function parse({ files = {}, packages = [], ...given }: Given): {
  configuration: Configuration;
  problems: readonly string[];
} {
  const text = JSON.stringify(fileOf(given));
  const { configuration, problems } = parseConfiguration(text, new Set(), {
    readFile: (path) => {
      const file = files[path];
      if (file === undefined) throw new BadValue(`there is no file ${path}`);
      return file;
    },
    findVariable: (name) => (name === "EMBEDDING_KEY" ? KEY : undefined),
    hasPackage: (name) => packages.includes(name),
  });
  return { configuration, problems: problems.map((problem) => problem.text) };
}

function planOf(given: Given): IndexPlan {
  const { configuration, problems } = parse(given);
  assert.deepEqual(problems, []);
  const [listed] = configuration.indexes;
  assert.ok(listed);
  return listed.plan;
}

const hashing = { provider: "hashing", dimension: 8 };

const definitions: readonly (readonly [given: Given, definition: string])[] = [
  [{}, "DENSE ? COSINE - -"],
  [{ index: { dimension: "auto" } }, "DENSE ? COSINE - -"],
  [{ index: { dimension: 65_536, similarity: "EUCLIDEAN" } }, "DENSE 65536 EUCLIDEAN - -"],
  [{ index: { recallTarget: 0.95 } }, "DENSE ? COSINE - -"],
  [{ index: { rows: "disk" } }, "DENSE ? COSINE - -"],
  [{ index: { type: "SPARSE" } }, "SPARSE 0 COSINE - -"],
  [{ index: { type: "SPARSE", dimension: 0, sparseEmbedding: "BM25" } }, "SPARSE 0 COSINE - BM25"],
  [{ index: { type: "HYBRID", dimension: 3 } }, "HYBRID 3 COSINE - -"],
  [{ index: { embedding: { model: "m" } }, models: { m: hashing } }, "DENSE 8 COSINE m -"],
  [{ index: { dimension: 8, embedding: { model: "m" } }, models: { m: hashing } }, "DENSE 8 COSINE m -"],
  [{ index: { dimension: 5, embedding: { model: "a model", provider: "hashing" } } }, "DENSE 5 COSINE a model -"],
  [
    { index: { embedding: { model: "BGE_SMALL_EN_V1_5", provider: "hashing" } } },
    "DENSE 384 COSINE BGE_SMALL_EN_V1_5 -",
  ],
  [
    { index: { embedding: { model: "BGE_M3" } }, models: { BGE_M3: { provider: "hashing" } } },
    "DENSE 1024 COSINE BGE_M3 -",
  ],
  [
    { index: { embedding: { model: "x", provider: "http", url: "https://a.test/v1/embeddings" } } },
    "DENSE ? COSINE x -",
  ],
  [
    { index: { embedding: { model: "x", provider: "http", url: "https://a.test/", dimensions: 256 } } },
    "DENSE 256 COSINE x -",
  ],
  [
    { index: { type: "HYBRID", embedding: { model: "m" }, sparseEmbedding: "BM25" }, models: { m: hashing } },
    "HYBRID 8 COSINE m BM25",
  ],
  [
    { index: { embedding: { model: "constructor", provider: "hashing", dimension: 2 } } },
    "DENSE 2 COSINE constructor -",
  ],
];

for (const [given, wanted] of definitions) {
  test(`${JSON.stringify(given)} → ${wanted}`, () => {
    const plan = planOf(given);
    const { type, dimension = "?", similarity, denseModel = "-", sparseModel = "-" } = plan.definition;
    assert.equal(`${type} ${dimension} ${similarity} ${denseModel} ${sparseModel}`, wanted);

    if (plan.embedding?.by.provider === "http") return;
    const reader = new FieldReader();
    const description: object = JSON.parse(JSON.stringify(describeIndex(plan)));
    const again = readIndexPlan(reader, reader.object(description, "", INDEX_KEYS), {
      path: "",
      rules: { models: parse(given).configuration.models, environment: undefined, dimensionMax: 65_536 },
    });
    assert.deepEqual(reader.problems, [], "the stored form is read back");
    assert.deepEqual(again.definition, plan.definition);
    assert.equal(again.recallTarget, plan.recallTarget);
    assert.equal(again.rows, plan.rows);
  });
}

test("an index says where its rows are, or leaves it to the program", () => {
  assert.equal(planOf({ index: { rows: "disk" } }).rows, "disk");
  assert.equal(planOf({ index: { type: "HYBRID", rows: "memory" } }).rows, "memory");
  assert.equal(planOf({}).rows, undefined);
});

test("an index has its own recall target, or none", () => {
  assert.equal(planOf({ index: { recallTarget: 0.95 } }).recallTarget, 0.95);
  assert.equal(planOf({ index: { type: "HYBRID", recallTarget: 1 } }).recallTarget, 1);
  assert.equal(planOf({}).recallTarget, undefined);
});

test("an HTTP provider has the model's published name and defaults, and its key from a file or a variable", () => {
  const provider = { provider: "http", url: "https://a.test/v1/embeddings?api-version=2", apiKeyFile: "/run/key" };
  const plan = planOf({
    index: { embedding: { model: "BGE_M3" } },
    models: { BGE_M3: provider },
    files: { "/run/key": `${KEY}\n` },
  });
  assert.deepEqual(plan.embedding, {
    model: "BGE_M3",
    by: {
      provider: "http",
      url: "https://a.test/v1/embeddings?api-version=2",
      modelName: "BAAI/bge-m3",
      timeoutMs: 30_000,
      textsPerRequestMax: 64,
      key: KEY,
      queryPrefix: "",
      documentPrefix: "",
    },
    isInline: false,
  });

  const changed = planOf({
    index: {
      embedding: {
        ...{ model: "mine", provider: "http", url: "http://127.0.0.1:8000/embed", apiKeyVariable: "EMBEDDING_KEY" },
        ...{ modelName: "m-1", timeout: "5s", batchSize: 8, queryPrefix: "query: ", documentPrefix: "passage: " },
      },
    },
  });
  assert.deepEqual(changed.embedding?.by, {
    provider: "http",
    url: "http://127.0.0.1:8000/embed",
    modelName: "m-1",
    timeoutMs: 5_000,
    textsPerRequestMax: 8,
    key: KEY,
    queryPrefix: "query: ",
    documentPrefix: "passage: ",
  });
});

test("a local model needs its package and a directory with a model", () => {
  const machine = { packages: ["@huggingface/transformers"], files: { "/models/m/config.json": "{}" } };
  const local = { provider: "local", directory: "/models/m" };
  const plan = planOf({ index: { embedding: { model: "m", ...local } }, ...machine });
  assert.deepEqual(plan.embedding?.by, {
    provider: "local",
    directory: "/models/m",
    pooling: "mean",
    precision: "fp32",
    queryPrefix: "",
    documentPrefix: "",
  });

  const documented = planOf({ index: { embedding: { model: "BGE_M3", ...local, precision: "q8" } }, ...machine });
  assert.deepEqual(documented.embedding?.by, {
    provider: "local",
    directory: "/models/m",
    pooling: "cls",
    precision: "q8",
    queryPrefix: "",
    documentPrefix: "",
  });
});

const at = "vector.indexes[0]";
const url = "https://a.test/";

const refused: readonly (readonly [given: Given, problem: string])[] = [
  [{ index: { dimension: 0 } }, `${at}.dimension is neither a whole number from 1 to 65536 nor "auto"`],
  [{ index: { dimension: 65_537 } }, `${at}.dimension is neither a whole number from 1 to 65536 nor "auto"`],
  [{ index: { type: "SPARSE", dimension: 3 } }, `${at}.dimension is for dense vectors: leave it out of a SPARSE index`],
  [
    { index: { type: "SPARSE", similarity: "COSINE" } },
    `${at}.similarity is for dense vectors: leave it out of a SPARSE index`,
  ],
  [
    { index: { type: "SPARSE", embedding: { model: "m" } }, models: { m: hashing } },
    `${at}.embedding is for dense vectors: leave it out of a SPARSE index`,
  ],
  [
    { index: { sparseEmbedding: "BM25" } },
    `${at}.sparseEmbedding is for sparse vectors: leave it out of a DENSE index`,
  ],
  [
    { index: { type: "SPARSE", sparseEmbedding: "BGE_M3" } },
    `${at}.sparseEmbedding BGE_M3 needs a neural network, and embedding endpoints of the OpenAI form have no sparse vectors; use BM25`,
  ],
  [
    { index: { type: "HYBRID", sparseEmbedding: "BM25" } },
    `${at}.embedding is missing: a HYBRID index embeds texts for both of its parts or for neither`,
  ],
  [{ index: { embedding: {} } }, `${at}.embedding.model is missing`],
  [{ index: { embedding: { model: "" } } }, `${at}.embedding.model is not a name of 1 to 128 visible ASCII characters`],
  [
    { index: { embedding: { model: "BGE_M3" } } },
    `${at}.embedding.model has no provider: list BGE_M3 under vector.models in the configuration file, or give ${at}.embedding.provider`,
  ],
  [
    { index: { embedding: { model: "m", url } } },
    `${at}.embedding.provider is missing: set it to one of http, local, hashing`,
  ],
  [
    { index: { embedding: { model: "m", provider: "grpc" } } },
    `${at}.embedding.provider is not one of http, local, hashing`,
  ],
  [
    { index: { embedding: { model: "m", provider: "hashing" } } },
    `${at}.dimension is missing: hashing needs a dimension`,
  ],
  [
    { index: { dimension: 9, embedding: { model: "m" } }, models: { m: hashing } },
    `${at}.dimension is 9, but vectors of m have 8`,
  ],
  [
    { index: { embedding: { model: "BGE_M3", provider: "http", url, dimensions: 512 } } },
    `${at}.embedding has conflicting dimensions: its dimensions is 512, but BGE_M3 has 1024`,
  ],
  [
    { index: { embedding: { model: "m", provider: "hashing", dimension: 8, url } } },
    `${at}.embedding.url is not a known key`,
  ],
  [{ models: { m: {} } }, "vector.models.m.provider is missing: set it to one of http, local, hashing"],
  [{ models: { m: "http" } }, "vector.models.m is not an object"],
  [{ models: { m: { provider: "http" } } }, "vector.models.m.url is missing: set it to the full URL of an endpoint"],
  [
    { index: { recallTarget: 0.3 } },
    'vector.indexes[0].recallTarget is refused: "0.3" is not a share from 0.5 to 1, such as 0.95',
  ],
  [
    { index: { recallTarget: {} } },
    "vector.indexes[0].recallTarget is not a string, a number, true, false or an array of strings",
  ],
  [
    { index: { type: "SPARSE", recallTarget: 0.9 } },
    "vector.indexes[0].recallTarget is for dense vectors: leave it out of a SPARSE index",
  ],
  [{ index: { rows: "file" } }, "vector.indexes[0].rows is not one of memory, disk"],
  [
    { index: { type: "SPARSE", rows: "disk" } },
    "vector.indexes[0].rows is for dense vectors: leave it out of a SPARSE index",
  ],
  [
    { models: { m: { provider: "http", url: "ftp://a.test/" } } },
    "vector.models.m.url is refused: it is not an http or https URL without user, password and fragment",
  ],
  [
    { models: { m: { provider: "http", url: "https://user:secret@a.test/" } } },
    "vector.models.m.url is refused: it is not an http or https URL without user, password and fragment",
  ],
  [{ models: { m: { provider: "http", url, apiKey: "secret-canary" } } }, "vector.models.m.apiKey is not a known key"],
  [
    { models: { m: { provider: "http", url, apiKeyFile: "/no" } } },
    "vector.models.m.apiKeyFile is refused: there is no file /no",
  ],
  [
    { models: { m: { provider: "http", url, apiKeyFile: "/two" } }, files: { "/two": "secret canary" } },
    "vector.models.m.apiKeyFile is refused: the key is not 1 to 4096 visible ASCII characters without a space",
  ],
  [
    { models: { m: { provider: "http", url, apiKeyVariable: "NO_KEY" } } },
    "vector.models.m.apiKeyVariable is refused: the environment variable NO_KEY is not set",
  ],
  [
    {
      models: { m: { provider: "http", url, apiKeyVariable: "EMBEDDING_KEY", apiKeyFile: "/k" } },
      files: { "/k": "secret" },
    },
    "vector.models.m.apiKeyVariable and apiKeyFile are both given: keep one of them",
  ],
  [
    { models: { m: { provider: "http", url, timeout: "1ms" } } },
    'vector.models.m.timeout is refused: "1ms" is not a time from 100ms to 10m, such as 500ms, 10s or 2m',
  ],
  [
    { models: { m: { provider: "http", url, batchSize: 0 } } },
    "vector.models.m.batchSize is not a whole number from 1 to 2048",
  ],
  [
    { models: { m: { provider: "local", directory: "/m" } } },
    "vector.models.m.provider local needs the package @huggingface/transformers, which is not installed: npm install @huggingface/transformers beside larder",
  ],
  [
    { models: { m: { provider: "local", directory: "/m" } }, packages: ["@huggingface/transformers"] },
    "vector.models.m.directory is refused: there is no file /m/config.json",
  ],
];

/** Problems of one field, without rules about the machine or about other fields. */
const inSchema = /is not (?:a known key|an object|one of|a whole number|a name)|\.(?:model|provider|url) is missing/;

const isInSchema = new Ajv2020({ strict: false }).compile(configSchema());

for (const [given, problem] of refused) {
  test(`refused: ${problem}`, () => {
    const { problems } = parse(given);
    assert.deepEqual(problems, [problem]);
    assert.doesNotMatch(problems.join("\n"), /secret|canary/);
    if (inSchema.test(problem)) assert.equal(isInSchema(fileOf(given)), false, "the schema");
  });
}
