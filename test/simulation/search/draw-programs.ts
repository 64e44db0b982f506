/**
 * Draws indexes, documents and writes for programs on a store with search
 * indexes. All indexes and keys share a few places of values, so that a write
 * changes several indexes, and values are often of a type that a field does not
 * take.
 */
import { type Bytes, bytesFromText } from "../../../src/kernel/bytes.ts";
import type {
  DataType,
  FieldType,
  IndexDefinition,
  Language,
  SearchField,
} from "../../../src/store/search/definition.ts";
import type { Ranking } from "../../../src/store/search/query/contract.ts";
import { Draw } from "../../../src/store/search/query/random-filters.virtual.ts";

export type Words = readonly Bytes[];

export interface DrawnIndex {
  readonly name: Bytes;
  readonly definition: IndexDefinition;
  readonly skipsScan: boolean;
}

/** Words of filters that stand for others, in filters and documents: with accents, and with stems. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ["bb", "Füße"],
  ["abcd", "running"],
  ["cabs", "ÇABS"],
  ["bca", "дома"],
]);

const DATA_TYPES: readonly DataType[] = ["HASH", "JSON", "STRING"];
const prefixLists: readonly (readonly Bytes[])[] = [["a:"], ["a:", "b:"], ["b:"], ["a:1", "b:"], [""]];
const languages: readonly Language[] = ["english", "english", "german", "spanish", "russian", "turkish"];

/** Aggregations are over the first field of each type, so these have FAST. */
function isAggregated(name: Bytes): boolean {
  return name.endsWith("0");
}

const types: readonly FieldType[] = ["TEXT", "KEYWORD", "U64", "I64", "F64", "BOOL", "DATE", "FACET"];

/** Where documents have values: as names of hash fields, and as paths in JSON. */
const places: readonly Bytes[] = [
  ...types.flatMap((type) => [`${type.toLowerCase()}0`, `${type.toLowerCase()}1`]),
  ...["o.text0", "o.u640", "o.keyword0"],
];

const texts: readonly string[] = [
  "",
  "ab",
  "abs abc",
  "acb bca b",
  "ca cab cabs a bb",
  "abcd running",
  "b b b, a",
  "ab abc ab abc abs",
  "a b c, AB",
];
const keywords: readonly string[] = ["", "A", "a", "aa", "b", "Z", "é", "~", "true", "7"];
const paths: readonly string[] = ["/a", "/a/b", "/a/b/c", "/ab", "/c", "/c/"];
const numbers: readonly string[] = ["0", "1", "2", "7", "-1", "-2", "2.5", "-1.5", "3", "-0.0", "1e2", "1.0"];
const largeNumbers: readonly string[] = [
  "9007199254740993",
  "18446744073709551615",
  "-9007199254740993",
  "18446744073709551616",
];
const dates: readonly string[] = [
  "1969-07-20",
  "2024-02-29",
  "2025-03-01",
  "2025-03-01T09:30:00.5+01:00",
  "2024-13-01",
  "soon",
];

const scalarsOf: Readonly<Record<FieldType, readonly string[]>> = {
  TEXT: texts,
  KEYWORD: keywords,
  U64: [...numbers, ...largeNumbers],
  I64: [...numbers, ...largeNumbers],
  F64: numbers,
  BOOL: ["true", "false"],
  DATE: dates,
  FACET: paths,
};

const isQuoted: Readonly<Record<FieldType, boolean>> = {
  TEXT: true,
  KEYWORD: true,
  U64: false,
  I64: false,
  F64: false,
  BOOL: false,
  DATE: true,
  FACET: true,
};

export class ProgramDraw extends Draw {
  /** Keys of a program are numbered below it. */
  keyCount = 1;
  /** Most documents are of one of these types. */
  dataTypes: readonly DataType[] = [];

  index(name: Bytes): DrawnIndex {
    const { fields } = this.definition();
    return {
      name,
      skipsScan: this.chance(0.1),
      definition: {
        dataType: this.of(DATA_TYPES),
        prefixes: this.of(prefixLists),
        language: this.of(languages),
        fields: fields.map((field) => this.#placed(field)),
      },
    };
  }

  #placed(field: SearchField): SearchField {
    const isFast = field.isFast || isAggregated(field.name);
    const takesFast = !["TEXT", "KEYWORD", "FACET"].includes(field.type);
    return { ...field, isFast: takesFast && isFast, path: this.chance(0.2) ? this.of(places) : undefined };
  }

  key(): Bytes {
    return `${this.of(["a:", "a:", "b:", "c:"])}${this.below(this.keyCount)}`;
  }

  place(): Bytes {
    return this.of(places);
  }

  /** A filter as bytes, with the other words. */
  filterBytes(definition: IndexDefinition): Bytes {
    return withOtherWords(this.filter(definition, 4));
  }

  /** Options of SEARCH.QUERY for this ranking. */
  rankingWords(definition: IndexDefinition, { orderBy, scoreFunction }: Ranking): Words {
    const nameOf = (field: number): Bytes => definition.fields[field]?.name as Bytes;
    if (orderBy !== undefined) return ["ORDERBY", nameOf(orderBy.field), orderBy.isAscending ? "ASC" : "DESC"];
    if (scoreFunction === undefined) return [];
    const { fields, scoreMode, combineMode } = scoreFunction;
    return [
      ...["SCOREFUNC", "SCOREMODE", scoreMode, "COMBINEMODE", combineMode],
      ...fields.flatMap(({ field, modifier, factor, missing }) => [
        ...["FIELDVALUE", nameOf(field), "MODIFIER", modifier, "FACTOR", `${factor}`, "MISSING", `${missing}`],
      ]),
    ];
  }

  /** Commands that make one key a document, mostly. */
  document(key = this.key()): Words {
    switch (this.of(this.chance(0.8) ? this.dataTypes : DATA_TYPES)) {
      case "HASH": {
        const pairs = places.flatMap((place) => (this.chance(0.6) ? [place, this.#hashValue(place)] : []));
        return ["HSET", key, "other", "x", ...pairs];
      }
      case "JSON":
        return ["JSON.SET", key, "$", this.#json()];
      case "STRING":
        return ["SET", key, this.chance(0.9) ? this.#json() : `${this.#json()}}`];
    }
  }

  #json(): Bytes {
    if (this.chance(0.05)) return this.of(["[]", "5", '"a"', "{}", "[{}]"]);
    const inner = this.#members("o.");
    const outer = this.#members("");
    return `{${[...outer, `"o":${this.chance(0.1) ? "[{}]" : `{${inner.join(",")}}`}`].join(",")}}`;
  }

  #members(prefix: string): string[] {
    return places.flatMap((place) => {
      if (!place.startsWith(prefix) || place.slice(prefix.length).includes(".") || this.chance(0.4)) return [];
      return [`"${place.slice(prefix.length)}":${this.jsonValue(place)}`];
    });
  }

  /** A JSON value for a place, in bytes: mostly one that its type takes. */
  jsonValue(place: Bytes): Bytes {
    const scalar = (): string => {
      const type = this.#typeAt(place);
      const value = withOtherWords(this.of(scalarsOf[type]));
      return isQuoted[type] ? `"${value}"` : value;
    };
    if (this.chance(0.03)) return this.of(["null", "{}", '{"a":1}']);
    if (this.chance(0.8)) return scalar();
    return `[${Array.from({ length: this.below(4) }, () => (this.chance(0.9) ? scalar() : "[1]")).join(",")}]`;
  }

  #hashValue(place: Bytes): Bytes {
    return withOtherWords(this.of(scalarsOf[this.#typeAt(place)]));
  }

  #typeAt(place: Bytes): FieldType {
    if (this.chance(0.1)) return this.of(types);
    const name = place.replace(/^o\./, "").slice(0, -1).toUpperCase();
    return types.find((type) => type === name) ?? "TEXT";
  }

  /** One command that may change a document. */
  write(): Words {
    const key = this.key();
    if (this.chance(0.4)) return this.document(key);
    const place = this.place();
    const life = `${1 + this.below(3_000)}`;
    return this.of<() => Words>([
      () => ["HSET", key, place, this.#hashValue(place)],
      () => ["HSET", key, "other", `${this.below(9)}`],
      () => ["HDEL", key, place, this.place()],
      () => ["HINCRBY", key, "u640", "1"],
      () => ["HPEXPIRE", key, life, "FIELDS", "2", place, "text0"],
      () => ["HPERSIST", key, "FIELDS", "1", place],
      () => ["HSETEX", key, "PX", life, "FIELDS", "1", place, this.#hashValue(place)],
      () => ["JSON.SET", key, `$.${place}`, this.jsonValue(place)],
      () => ["JSON.DEL", key, `$.${place}`],
      () => ["JSON.MERGE", key, "$", `{"text0":null,"o":{"u640":3}}`],
      () => ["JSON.NUMINCRBY", key, "$.u640", "1"],
      () => ["JSON.ARRAPPEND", key, `$.${place}`, this.jsonValue(place)],
      () => ["JSON.CLEAR", key],
      () => ["APPEND", key, this.of([" ", "}", "x"])],
      () => ["SETRANGE", key, "0", this.of(["{", " ", "x"])],
      () => ["DEL", key],
      () => ["UNLINK", key, this.key()],
      () => ["GETDEL", key],
      () => ["RENAME", key, this.key()],
      () => ["RENAME", key, this.key()],
      () => ["COPY", key, this.key(), "REPLACE"],
      () => ["PEXPIRE", key, life],
      () => ["PEXPIRE", key, life],
      () => ["PEXPIRE", key, "-1"],
      () => ["PERSIST", key],
      () => ["GETEX", key, "PX", life],
      () => ["SET", key, this.#json(), "PX", life],
      () => ["SET", key, this.#json(), "KEEPTTL"],
      () => ["RPUSH", key, "x"],
      () => ["SUNIONSTORE", key, "set"],
      () => ["SADD", "set", place],
      () => ["MSET", key, this.#json(), this.key(), "text"],
      () => ["EVAL", SCRIPT, "2", key, this.key(), place, this.#hashValue(place)],
      () => ["GET", key],
      () => ["HGETALL", key],
    ])();
  }
}

const SCRIPT =
  "redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2]) redis.pcall('RENAME', KEYS[1], KEYS[2]) return redis.pcall('HDEL', KEYS[2], 'text0')";

function withOtherWords(text: string): Bytes {
  return bytesFromText(
    text.replace(/\b(?:bb|abcd|cabs|bca)\b/g, (word) => OTHER_WORDS.get(word) ?? word).replace(/\u00c3\u00a9/g, "é"),
  );
}

/** The words of SEARCH.CREATE. */
export function creationOf({ name, definition, skipsScan }: DrawnIndex): Words {
  const { dataType, prefixes, language, fields } = definition;
  return [
    ...["SEARCH.CREATE", name, "ON", dataType, "PREFIX", `${prefixes.length}`, ...prefixes, "LANGUAGE", language],
    ...(skipsScan ? ["SKIPINITIALSCAN"] : []),
    "SCHEMA",
    ...fields.flatMap(({ name: field, type, isTokenized, isStemmed, isFast, path }) => [
      ...[field, type],
      ...(isTokenized ? [] : ["NOTOKENIZE"]),
      ...(isStemmed ? [] : ["NOSTEM"]),
      ...(isFast ? ["FAST"] : []),
      ...(path === undefined ? [] : ["FROM", path]),
    ]),
  ];
}
