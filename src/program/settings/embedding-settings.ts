/**
 * Which model turns the texts of an index into vectors, and who runs it: read
 * from JSON, by path.
 *
 *     "vector": { "models": { "BGE_M3": { "provider": "http", "url": "https://…/v1/embeddings", "apiKeyFile": "…" } },
 *                 "indexes": [{ "name": "docs", "embedding": { "model": "BGE_M3" } }] }
 *
 * (1) An index names a model of `models`, or describes a provider of its own.
 * (2) A key never stands in the file: it is read from another file or from the
 *     environment, and no problem shows it.
 * (3) At run time nobody may name a file, a variable or an address: whoever has
 *     the admin token could otherwise read what this machine's owner can read,
 *     and send it anywhere.
 */
import { join } from "node:path";
import type { HttpProvider } from "../../edge/embedding/http.ts";
import type { LocalProvider } from "../../edge/embedding/local.ts";
import { poolings, precisions } from "../../edge/embedding/local-model.ts";
import { DIMENSION_MAX, findDenseModel } from "../../vector/mod.ts";
import { at, type FieldReader, type Fields, isPlainObject } from "./field-reader.ts";
import { BadValue, parseDurationMs } from "./values.ts";

/** Plain data, so that it can be posted between threads. */
export type EmbeddingProvider =
  | ({ readonly provider: "http" } & HttpProvider)
  | ({ readonly provider: "local" } & LocalProvider)
  | { readonly provider: "hashing"; readonly dimension?: number };

export interface EmbeddingPlan {
  /** As `/info` shows it. */
  readonly model: string;
  readonly by: EmbeddingProvider;
  /** The index describes the provider itself, instead of naming a model of the configuration. */
  readonly isInline: boolean;
}

export type Models = ReadonlyMap<string, EmbeddingProvider>;

/** Where a provider may take a key from, and what is installed. */
export interface ProviderEnvironment {
  /** Throws `BadValue`. */
  readonly readFile: (path: string) => string;
  readonly findVariable: (name: string) => string | undefined;
  readonly hasPackage: (name: string) => boolean;
}

/** What an index may refer to. */
export interface EmbeddingRules {
  readonly models: Models;
  /** Undefined: what is read was said at run time (3). */
  readonly environment: ProviderEnvironment | undefined;
}

export const LOCAL_PACKAGE = "@huggingface/transformers";

/** What the documented models are called where models are published. */
const publishedNames: ReadonlyMap<string, string> = new Map([
  ["BGE_SMALL_EN_V1_5", "BAAI/bge-small-en-v1.5"],
  ["BGE_BASE_EN_V1_5", "BAAI/bge-base-en-v1.5"],
  ["BGE_LARGE_EN_V1_5", "BAAI/bge-large-en-v1.5"],
  ["BGE_M3", "BAAI/bge-m3"],
]);

const MODELS_MAX = 100;
const TIMEOUT_MS = 30_000;
const TIMEOUT_MS_MAX = 600_000;
const TEXTS_PER_REQUEST = 64;
const TEXTS_PER_REQUEST_MAX = 2_048;
const PREFIX_LENGTH_MAX = 1_000;
const KEY = /^[\x21-\x7e]{1,4096}$/;
const MODEL = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

type ProviderName = EmbeddingProvider["provider"];

/** One thing that reads a provider: where its fields stand and for which model. */
interface ProviderReading {
  readonly reader: FieldReader;
  readonly fields: Fields;
  readonly path: string;
  readonly model: string;
  readonly environment: ProviderEnvironment;
}

interface ProviderRow {
  readonly keys: readonly string[];
  /** Whether it needs nothing of this machine, so that it may be described at run time. */
  readonly isHarmless: boolean;
  read(reading: ProviderReading): EmbeddingProvider | undefined;
}

const providerRows: Readonly<Record<ProviderName, ProviderRow>> = {
  http: {
    keys: [
      ...["url", "modelName", "apiKeyFile", "apiKeyVariable", "timeout", "batchSize", "dimensions"],
      ...["queryPrefix", "documentPrefix"],
    ],
    isHarmless: false,
    read: readHttp,
  },
  local: {
    keys: ["directory", "pooling", "precision", "queryPrefix", "documentPrefix"],
    isHarmless: false,
    read: readLocal,
  },
  hashing: { keys: ["dimension"], isHarmless: true, read: readHashing },
};

const providerNames = Object.keys(providerRows) as readonly ProviderName[];

/** What stands below `vector.models`. */
export function readModels(
  reader: FieldReader,
  value: unknown,
  { path, environment }: { path: string; environment: ProviderEnvironment },
): Models {
  const models = new Map<string, EmbeddingProvider>();
  if (value === undefined) return models;
  if (!isPlainObject(value)) {
    reader.problem(path, "is not an object");
    return models;
  }
  const entries = Object.entries(value);
  if (entries.length > MODELS_MAX) reader.problem(path, `has more than ${MODELS_MAX} entries`);
  for (const [model, settings] of entries.slice(0, MODELS_MAX)) {
    const place = at(path, model);
    if (!MODEL.test(model)) reader.problem(place, "is not a model's name of 1 to 128 visible ASCII characters");
    if (settings === undefined || !isPlainObject(settings)) {
      reader.problem(place, "is not an object");
      continue;
    }
    const by = readProvider(reader, settings, { path: place, model, environment, otherKeys: [] });
    if (by !== undefined) models.set(model, by);
  }
  return models;
}

/** The `embedding` of an index: keeps (1). */
export function readEmbedding(
  reader: FieldReader,
  value: unknown,
  { path, rules }: { path: string; rules: EmbeddingRules },
): EmbeddingPlan | undefined {
  if (value === undefined) return undefined;
  if (!isPlainObject(value)) {
    reader.problem(path, "is not an object");
    return undefined;
  }
  const { model } = value;
  if (typeof model !== "string" || !MODEL.test(model)) {
    const fault = model === undefined ? "is missing" : "is not a name of 1 to 128 visible ASCII characters";
    reader.problem(at(path, "model"), fault);
    return undefined;
  }
  if (Object.keys(value).length > 1) {
    const { environment } = rules;
    const by = readProvider(reader, value, { path, model, environment, otherKeys: ["model"] });
    return by && { model, by, isInline: true };
  }
  const by = rules.models.get(model);
  if (by !== undefined) return { model, by, isInline: false };
  const besides = rules.environment === undefined ? "" : `, or give ${at(path, "provider")}`;
  const remedy = `list ${model} below vector.models in the configuration file${besides}`;
  reader.problem(at(path, "model"), `has no provider: ${remedy}`);
  return undefined;
}

interface ProviderPlace {
  readonly path: string;
  readonly model: string;
  readonly environment: ProviderEnvironment | undefined;
  readonly otherKeys: readonly string[];
}

function readProvider(
  reader: FieldReader,
  value: Readonly<Record<string, unknown>>,
  { path, model, environment, otherKeys }: ProviderPlace,
): EmbeddingProvider | undefined {
  const { provider } = value;
  if (provider === undefined) {
    reader.problem(at(path, "provider"), `is missing: it is one of ${providerNames.join(", ")}`);
    return undefined;
  }
  const name = reader.choice(provider, at(path, "provider"), providerNames);
  if (name === undefined) return undefined;
  const row = providerRows[name];
  if (environment === undefined && !row.isHarmless) {
    reader.problem(
      at(path, "provider"),
      `may be ${name} in the configuration file only: list the model below vector.models there, and name it here`,
    );
    return undefined;
  }
  const fields = reader.object(value, path, ["provider", ...otherKeys, ...row.keys]);
  return row.read({ reader, fields, path, model, environment: environment ?? noEnvironment });
}

/** keeps (3) */
const noEnvironment: ProviderEnvironment = {
  readFile: () => {
    throw new BadValue("no file may be named here");
  },
  findVariable: () => undefined,
  hasPackage: () => false,
};

function readHttp(reading: ProviderReading): EmbeddingProvider | undefined {
  const { reader, fields, path, model } = reading;
  if (!fields.has("url")) reader.problem(at(path, "url"), "is missing: it is the whole address of an endpoint");
  const url = reader.text(fields, path, { key: "url", parse: parseEndpoint });
  const modelName = reader.text(fields, path, { key: "modelName", parse: parseModelName });
  const timeoutMs = reader.setting(fields.get("timeout"), at(path, "timeout"), parseDurationMs(100, TIMEOUT_MS_MAX));
  const textsPerRequestMax = reader.count(fields.get("batchSize"), at(path, "batchSize"), {
    min: 1,
    max: TEXTS_PER_REQUEST_MAX,
  });
  const dimensions = reader.count(fields.get("dimensions"), at(path, "dimensions"), { min: 1, max: DIMENSION_MAX });
  const key = readKey(reading);
  const prefixes = readPrefixes(reading);
  if (url === undefined) return undefined;
  return {
    provider: "http",
    url,
    modelName: modelName ?? publishedNames.get(model) ?? model,
    timeoutMs: timeoutMs ?? TIMEOUT_MS,
    textsPerRequestMax: textsPerRequestMax ?? TEXTS_PER_REQUEST,
    ...(key !== undefined && { key }),
    ...(dimensions !== undefined && { dimensions }),
    ...prefixes,
  };
}

/** keeps (2) */
function readKey({ reader, fields, path, environment }: ProviderReading): string | undefined {
  const file = reader.text(fields, path, {
    key: "apiKeyFile",
    parse: (name) => parseKey(environment.readFile(name).trim()),
  });
  const variable = reader.text(fields, path, {
    key: "apiKeyVariable",
    parse: (name) => {
      const value = environment.findVariable(name);
      if (value === undefined) throw new BadValue(`the environment variable ${name} is not set`);
      return parseKey(value);
    },
  });
  if (fields.has("apiKeyFile") && fields.has("apiKeyVariable")) {
    reader.problem(at(path, "apiKeyVariable"), "and apiKeyFile are both given: keep one of them");
  }
  return file ?? variable;
}

function readLocal(reading: ProviderReading): EmbeddingProvider | undefined {
  const { reader, fields, path, model, environment } = reading;
  if (!environment.hasPackage(LOCAL_PACKAGE)) {
    reader.problem(
      at(path, "provider"),
      `local needs the package ${LOCAL_PACKAGE}, which is not installed: npm install ${LOCAL_PACKAGE} beside larder`,
    );
    return undefined;
  }
  if (!fields.has("directory")) reader.problem(at(path, "directory"), "is missing: it is the directory of a model");
  const directory = reader.text(fields, path, {
    key: "directory",
    parse: (name) => {
      environment.readFile(join(name, "config.json"));
      return name;
    },
  });
  const pooling = reader.choice(fields.get("pooling"), at(path, "pooling"), poolings);
  const precision = reader.choice(fields.get("precision"), at(path, "precision"), precisions);
  const prefixes = readPrefixes(reading);
  if (directory === undefined) return undefined;
  return {
    provider: "local",
    directory,
    // The documented models take the vector of the first token.
    pooling: pooling ?? (findDenseModel(model) === undefined ? "mean" : "cls"),
    precision: precision ?? "fp32",
    ...prefixes,
  };
}

function readHashing({ reader, fields, path }: ProviderReading): EmbeddingProvider {
  const dimension = reader.count(fields.get("dimension"), at(path, "dimension"), { min: 1, max: DIMENSION_MAX });
  return { provider: "hashing", ...(dimension !== undefined && { dimension }) };
}

function readPrefixes({ reader, fields, path }: ProviderReading): { queryPrefix: string; documentPrefix: string } {
  const read = (key: string): string => reader.text(fields, path, { key, parse: parsePrefix }) ?? "";
  return { queryPrefix: read("queryPrefix"), documentPrefix: read("documentPrefix") };
}

/** What says how many dimensions vectors of this plan have; nothing: only the first vector tells. */
export function dimensionsOf({ model, by }: EmbeddingPlan): readonly (readonly [dimension: number, place: string])[] {
  const places: (readonly [number, string])[] = [];
  const documented = findDenseModel(model);
  if (documented !== undefined) places.push([documented.dimension, model]);
  if (by.provider === "http" && by.dimensions !== undefined) places.push([by.dimensions, "its dimensions"]);
  if (by.provider === "hashing" && by.dimension !== undefined) places.push([by.dimension, "its hashing"]);
  return places;
}

/** Not shown: an address may have a secret in its query. */
function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (url === undefined || !isHttp || url.username !== "" || url.password !== "" || url.hash !== "") {
    throw new BadValue("it is not an http or https address without a user, a password and a fragment");
  }
  return url.href;
}

function parseModelName(text: string): string {
  if (!MODEL.test(text)) throw new BadValue("it is not a name of 1 to 128 visible ASCII characters");
  return text;
}

function parsePrefix(text: string): string {
  if (text.length > PREFIX_LENGTH_MAX) throw new BadValue(`it is longer than ${PREFIX_LENGTH_MAX} characters`);
  return text;
}

function parseKey(text: string): string {
  if (!KEY.test(text)) throw new BadValue("the key is not 1 to 4096 visible ASCII characters without a space");
  return text;
}
