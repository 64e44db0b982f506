/**
 * Reads from JSON which model turns the texts of an index into vectors, and
 * which provider runs it.
 *
 *     "vector": { "models": { "BGE_M3": { "provider": "http", "url": "https://…/v1/embeddings", "apiKeyFile": "…" } },
 *                 "indexes": [{ "name": "docs", "embedding": { "model": "BGE_M3" } }] }
 *
 * (1) An index names a model of `models`, or describes a provider of its own.
 * (2) A key is never in the file: it is read from another file or from the
 *     environment, and no problem shows it.
 * (3) At run time, requests cannot name a file, a variable or an address: a
 *     holder of the admin token could otherwise read any file that the server's
 *     user can read, and send it anywhere.
 */
import { join } from "node:path";
import type { HttpProvider } from "../../edge/embedding/http.ts";
import type { LocalProvider } from "../../edge/embedding/local.ts";
import { poolings, precisions } from "../../edge/embedding/local-model.ts";
import { DIMENSION_MAX, findDenseModel } from "../../vector/mod.ts";
import { at, type FieldReader, type Fields, isPlainObject } from "./field-reader.ts";
import {
  choiceField,
  countField,
  type Field,
  type FieldRows,
  type Form,
  fieldsAt,
  type Nested,
  settingField,
  textField,
} from "./fields.ts";
import { BadValue, type Parser, parseDurationMs, parsePath, parser, parseText, printDuration } from "./values.ts";

/** Plain data, so that it can be posted between threads. */
export type EmbeddingProvider =
  | ({ readonly provider: "http" } & HttpProvider)
  | ({ readonly provider: "local" } & LocalProvider)
  | { readonly provider: "hashing"; readonly dimension?: number };

export interface EmbeddingPlan {
  /** The name that `/info` shows. */
  readonly model: string;
  readonly by: EmbeddingProvider;
  /** The index describes the provider itself instead of naming a model of the configuration. */
  readonly isInline: boolean;
}

export type Models = ReadonlyMap<string, EmbeddingProvider>;

/** The sources of a provider's key, and the installed packages. */
export interface ProviderEnvironment {
  /** Throws `BadValue`. */
  readonly readFile: (path: string) => string;
  readonly findVariable: (name: string) => string | undefined;
  readonly hasPackage: (name: string) => boolean;
}

/** The models and the environment that an index may refer to. */
export interface EmbeddingRules {
  readonly models: Models;
  /** Undefined: the description came at run time (3). */
  readonly environment: ProviderEnvironment | undefined;
}

export const LOCAL_PACKAGE = "@huggingface/transformers";

/** The published names of the documented models. */
const publishedNames: ReadonlyMap<string, string> = new Map([
  ["BGE_SMALL_EN_V1_5", "BAAI/bge-small-en-v1.5"],
  ["BGE_BASE_EN_V1_5", "BAAI/bge-base-en-v1.5"],
  ["BGE_LARGE_EN_V1_5", "BAAI/bge-large-en-v1.5"],
  ["BGE_M3", "BAAI/bge-m3"],
]);

const MODELS_MAX = 100;
const TIMEOUT_MS = 30_000;
const TIMEOUT_MS_MIN = 100;
const TIMEOUT_MS_MAX = 600_000;
const TEXTS_PER_REQUEST = 64;
const TEXTS_PER_REQUEST_MAX = 2_048;
const PREFIX_LENGTH_MAX = 1_000;
const KEY = /^[\x21-\x7e]{1,4096}$/;
const MODEL = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

type ProviderName = EmbeddingProvider["provider"];

/** The arguments for reading a provider. */
interface ProviderReading {
  readonly reader: FieldReader;
  readonly fields: Fields;
  readonly path: string;
  readonly model: string;
  readonly environment: ProviderEnvironment;
}

interface ProviderRow {
  /** Its fields beside `provider`. */
  readonly rows: FieldRows;
  /** Whether it needs nothing from this machine, so that it may be described at run time. */
  readonly isHarmless: boolean;
  read(reading: ProviderReading): EmbeddingProvider | undefined;
}

/** The text is not shown, because a URL may have a secret in its query. */
const parseEndpoint: Parser<string> = parser(
  { type: "string", pattern: "^https?:", examples: ["http://127.0.0.1:8000/v1/embeddings"] },
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
    if (url === undefined || !isHttp || url.username !== "" || url.password !== "" || url.hash !== "") {
      throw new BadValue("it is not an http or https URL without user, password and fragment");
    }
    return url.href;
  },
);

const parseModelName: Parser<string> = parser({ type: "string", pattern: MODEL.source }, (text) => {
  if (!MODEL.test(text)) throw new BadValue("it is not a name of 1 to 128 visible ASCII characters");
  return text;
});

const parsePrefix: Parser<string> = parser({ type: "string" }, (text) => {
  if (text.length > PREFIX_LENGTH_MAX) throw new BadValue(`it is longer than ${PREFIX_LENGTH_MAX} characters`);
  return text;
});

const prefixFields = {
  queryPrefix: textField(parsePrefix, { meaning: "Put before the text of a query", default: "nothing" }),
  documentPrefix: textField(parsePrefix, { meaning: "Put before the text of a record", default: "nothing" }),
};

const httpFields = {
  url: textField(parseEndpoint, {
    meaning:
      'The full URL of an OpenAI-style endpoint: larder sends {"model": …, "input": [texts]} to it, and retries temporary failures for up to a minute',
    missing: "is missing: set it to the full URL of an endpoint",
  }),
  modelName: textField(parseModelName, {
    meaning: "Name of the model at the endpoint",
    default: "the published name of a documented model, such as BAAI/bge-m3; else the name of the model",
  }),
  apiKeyFile: textField(parsePath, {
    meaning: "File with the key, which is sent as bearer token; apiKeyVariable is the alternative",
    default: "no key",
  }),
  apiKeyVariable: textField(parseText, { meaning: "Environment variable with the key", default: "no key" }),
  timeout: settingField(parseDurationMs(TIMEOUT_MS_MIN, TIMEOUT_MS_MAX), {
    meaning: "How long one request may take",
    default: printDuration(TIMEOUT_MS),
  }),
  batchSize: countField(
    { min: 1, max: TEXTS_PER_REQUEST_MAX },
    { meaning: "Most texts of one request", default: String(TEXTS_PER_REQUEST) },
  ),
  dimensions: countField(
    { min: 1, max: DIMENSION_MAX },
    { meaning: "Dimension requested from the endpoint", default: "that of the model" },
  ),
  ...prefixFields,
};

const localFields = {
  directory: textField(parsePath, {
    meaning: `Directory with the files of the model, in the form that the package ${LOCAL_PACKAGE} reads`,
    missing: "is missing: set it to the directory of a model",
  }),
  pooling: choiceField(poolings, {
    meaning: "How the vectors of the words become the vector of a text",
    default: "cls for a documented model, else mean",
  }),
  precision: choiceField(precisions, { meaning: "Which file of the model is run", default: "fp32" }),
  ...prefixFields,
};

const hashingFields = {
  dimension: countField(
    { min: 1, max: DIMENSION_MAX },
    { meaning: "Dimension of the vectors", default: "that of the model or of the index" },
  ),
};

const providerRows: Readonly<Record<ProviderName, ProviderRow>> = {
  http: { rows: httpFields, isHarmless: false, read: readHttp },
  local: { rows: localFields, isHarmless: false, read: readLocal },
  hashing: { rows: hashingFields, isHarmless: true, read: readHashing },
};

const providerNames = Object.keys(providerRows) as readonly ProviderName[];

const providerFields = {
  provider: choiceField(providerNames, {
    meaning:
      "What runs the model: an HTTP endpoint, a package on this machine, or nothing (hashing: vectors made from the letters of a text, for tests)",
    missing: `is missing: set it to one of ${providerNames.join(", ")}`,
  }),
};

/** The description of a provider: one form for each. */
const providerForms: readonly Form[] = providerNames.map((name) => ({
  title: ` with the provider ${name}`,
  rows: { provider: { ...providerFields.provider, values: { enum: [name] } }, ...providerRows[name].rows },
}));

const embeddingFields = {
  model: {
    ...textField(parseModelName, { meaning: "Name of the model", missing: "is missing" }),
    read: readModel,
  } satisfies Field<string>,
};

/** An index names a model, or also describes its provider: keeps (1). */
export const embeddingForms: readonly Form[] = [
  { rows: embeddingFields },
  ...providerForms.map(({ rows }) => ({ rows: { ...embeddingFields, ...rows }, isShownElsewhere: true })),
];

/** `vector.models`: providers by the names of their models. */
export const modelMap: Nested = { container: "map", entriesMax: MODELS_MAX, forms: providerForms };

/** Reads `vector.models`. */
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
  const model = fieldsAt(reader, embeddingFields, { fields: new Map(Object.entries(value)), path })("model");
  if (model === undefined) return undefined;
  if (Object.keys(value).length > 1) {
    const { environment } = rules;
    const by = readProvider(reader, value, { path, model, environment, otherKeys: ["model"] });
    return by && { model, by, isInline: true };
  }
  const by = rules.models.get(model);
  if (by !== undefined) return { model, by, isInline: false };
  const alternative = rules.environment === undefined ? "" : `, or give ${at(path, "provider")}`;
  const remedy = `list ${model} under vector.models in the configuration file${alternative}`;
  reader.problem(at(path, "model"), `has no provider: ${remedy}`);
  return undefined;
}

function readModel(reader: FieldReader, value: unknown, path: string): string | undefined {
  if (typeof value === "string" && MODEL.test(value)) return value;
  reader.problem(path, "is not a name of 1 to 128 visible ASCII characters");
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
  const name = fieldsAt(reader, providerFields, { fields: new Map(Object.entries(value)), path })("provider");
  if (name === undefined) return undefined;
  const row = providerRows[name];
  if (environment === undefined && !row.isHarmless) {
    reader.problem(
      at(path, "provider"),
      `can be ${name} only in the configuration file: list the model under vector.models there, and name it here`,
    );
    return undefined;
  }
  const fields = reader.object(value, path, ["provider", ...otherKeys, ...Object.keys(row.rows)]);
  return row.read({ reader, fields, path, model, environment: environment ?? noEnvironment });
}

/** keeps (3) */
const noEnvironment: ProviderEnvironment = {
  readFile: () => {
    throw new BadValue("a file cannot be named here");
  },
  findVariable: () => undefined,
  hasPackage: () => false,
};

function readHttp(reading: ProviderReading): EmbeddingProvider | undefined {
  const read = fieldsAt(reading.reader, httpFields, reading);
  const url = read("url");
  const modelName = read("modelName");
  const timeoutMs = read("timeout");
  const textsPerRequestMax = read("batchSize");
  const dimensions = read("dimensions");
  const key = readKey(reading);
  const prefixes = readPrefixes(reading);
  if (url === undefined) return undefined;
  return {
    provider: "http",
    url,
    modelName: modelName ?? publishedNames.get(reading.model) ?? reading.model,
    timeoutMs: timeoutMs ?? TIMEOUT_MS,
    textsPerRequestMax: textsPerRequestMax ?? TEXTS_PER_REQUEST,
    ...(key !== undefined && { key }),
    ...(dimensions !== undefined && { dimensions }),
    ...prefixes,
  };
}

/** keeps (2) */
function readKey({ reader, fields, path, environment }: ProviderReading): string | undefined {
  const read = fieldsAt(reader, httpFields, { fields, path });
  const file = reader.text(read("apiKeyFile"), at(path, "apiKeyFile"), (name) =>
    parseKey(environment.readFile(name).trim()),
  );
  const variable = reader.text(read("apiKeyVariable"), at(path, "apiKeyVariable"), (name) => {
    const value = environment.findVariable(name);
    if (value === undefined) throw new BadValue(`the environment variable ${name} is not set`);
    return parseKey(value);
  });
  if (fields.has("apiKeyFile") && fields.has("apiKeyVariable")) {
    reader.problem(at(path, "apiKeyVariable"), "and apiKeyFile are both given: keep one of them");
  }
  return file ?? variable;
}

function readLocal(reading: ProviderReading): EmbeddingProvider | undefined {
  const { reader, path, model, environment } = reading;
  if (!environment.hasPackage(LOCAL_PACKAGE)) {
    reader.problem(
      at(path, "provider"),
      `local needs the package ${LOCAL_PACKAGE}, which is not installed: npm install ${LOCAL_PACKAGE} beside larder`,
    );
    return undefined;
  }
  const read = fieldsAt(reader, localFields, reading);
  const directory = reader.text(read("directory"), at(path, "directory"), (name) => {
    environment.readFile(join(name, "config.json"));
    return name;
  });
  const pooling = read("pooling");
  const precision = read("precision");
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

function readHashing(reading: ProviderReading): EmbeddingProvider {
  const dimension = fieldsAt(reading.reader, hashingFields, reading)("dimension");
  return { provider: "hashing", ...(dimension !== undefined && { dimension }) };
}

function readPrefixes(reading: ProviderReading): { queryPrefix: string; documentPrefix: string } {
  const read = fieldsAt(reading.reader, prefixFields, reading);
  return { queryPrefix: read("queryPrefix") ?? "", documentPrefix: read("documentPrefix") ?? "" };
}

/** The places that fix the dimension of this plan's vectors; if empty, the first vector fixes it. */
export function dimensionsOf({ model, by }: EmbeddingPlan): readonly (readonly [dimension: number, place: string])[] {
  const places: (readonly [number, string])[] = [];
  const documented = findDenseModel(model);
  if (documented !== undefined) places.push([documented.dimension, model]);
  if (by.provider === "http" && by.dimensions !== undefined) places.push([by.dimensions, "its dimensions"]);
  if (by.provider === "hashing" && by.dimension !== undefined) places.push([by.dimension, "its hashing"]);
  return places;
}

function parseKey(text: string): string {
  if (!KEY.test(text)) throw new BadValue("the key is not 1 to 4096 visible ASCII characters without a space");
  return text;
}
