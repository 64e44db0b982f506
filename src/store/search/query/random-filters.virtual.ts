/** Draws schemas, documents and filters for comparing an index with the brute-force search. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Random } from "../../../kernel/random.ts";
import {
  type FieldType,
  type FieldValue,
  type IndexDefinition,
  isSortable,
  type SearchDocument,
  type SearchField,
} from "../definition.ts";
import type { Modifier, Ranking, ScoreFunction } from "./contract.ts";

const types: readonly FieldType[] = ["TEXT", "KEYWORD", "U64", "I64", "F64", "BOOL", "DATE", "FACET"];

/** Few and similar, so that phrases, fuzzy words and ties occur. */
const vocabulary = ["ab", "abs", "abc", "acb", "bca", "b", "ca", "cab", "cabs", "a", "bb", "abcd"] as const;
const keywords = ["", "A", "a", "aa", "b", "Z", "\u00c3\u00a9", "~"] as const;
const paths = ["/a", "/a/b", "/a/b/c", "/ab", "/c", "/c/"] as const;
const days = ["1969-07-20", "2024-02-29", "2025-03-01"] as const;
const unsigned = ["0", "1", "2", "7", "9007199254740993", "18446744073709551615"] as const;
const signed = ["-9007199254740993", "-2", "-1", "0", "1", "9007199254740993"] as const;
const doubles = ["-1.5", "-0.0", "0", "2.5", "3", "1e10"] as const;

export class Draw {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  below(bound: number): number {
    return this.#random.below(bound);
  }

  chance(probability: number): boolean {
    return this.#random.unit() < probability;
  }

  of<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }

  /** Between one of each type and two of each. */
  definition(): IndexDefinition {
    const fields = types.flatMap((type) =>
      Array.from({ length: 1 + this.below(2) }, (_, number): SearchField => {
        const isText = type === "TEXT";
        return {
          name: `${type.toLowerCase()}${number}`,
          type,
          isTokenized: !isText || this.chance(0.8),
          isStemmed: !isText || this.chance(0.5),
          isFast: this.chance(0.7),
          path: undefined,
        };
      }),
    );
    return { dataType: "JSON", prefixes: [""], language: "english", fields };
  }

  /** By number; some are missing. */
  documents({ fields }: IndexDefinition, count: number): (SearchDocument | undefined)[] {
    return Array.from({ length: count }, () =>
      this.chance(0.1)
        ? undefined
        : fields.map(({ type }) => {
            if (this.chance(0.25)) return undefined;
            return Array.from({ length: this.chance(0.8) ? 1 : 1 + this.below(3) }, () => this.#value(type));
          }),
    );
  }

  #value(type: FieldType): FieldValue {
    switch (type) {
      case "TEXT":
        return this.#text(8);
      case "KEYWORD":
        return this.of(keywords);
      case "FACET":
        return this.of(paths);
      case "BOOL":
        return this.below(2);
      case "DATE":
        return Date.parse(this.of(days));
      case "F64":
        return Number(this.of(doubles));
      default: {
        const exact = BigInt(this.of(type === "U64" ? unsigned : signed));
        return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
      }
    }
  }

  /** Frequent words are first in the vocabulary; a text may be empty. */
  #text(wordsMax: number): Bytes {
    const words = Array.from(
      { length: this.below(wordsMax + 1) },
      () => vocabulary[Math.floor(this.#random.unit() ** 2 * vocabulary.length)] as string,
    );
    return words.join(this.chance(0.1) ? ", " : " ");
  }

  /** JSON text. Nodes are nested to the depth at most. */
  filter(definition: IndexDefinition, depth: number): string {
    return this.#node(definition, depth);
  }

  #node(definition: IndexDefinition, depth: number): string {
    const members: string[] = [];
    const operatorCount = depth <= 1 ? 0 : this.below(3);
    for (let i = 0; i < operatorCount; i += 1)
      members.push(
        this.#member(this.of(["$must", "$and", "$should", "$should", "$or", "$mustNot"]), definition, depth),
      );
    const fieldCount = operatorCount === 0 && this.chance(0.95) ? 1 + this.below(2) : this.below(2);
    for (let i = 0; i < fieldCount; i += 1) members.push(this.#condition(definition));
    if (this.chance(0.1)) members.push(`"$boost":${this.of(["2", "0.5", "-1", "0", "3.0"])}`);
    return `{${distinct(members).join(",")}}`;
  }

  #member(operator: string, definition: IndexDefinition, depth: number): string {
    const nodes = Array.from({ length: this.below(4) }, () => this.#node(definition, depth - 1));
    if (this.chance(0.7)) return `"${operator}":[${nodes.join(",")}]`;
    const members = Array.from({ length: this.below(3) }, () => this.#condition(definition));
    if (depth > 2 && this.chance(0.3)) members.push(this.#member("$or", definition, depth - 1));
    if (this.chance(0.2)) members.push('"$boost":1.5');
    return `"${operator}":{${distinct(members).join(",")}}`;
  }

  #condition({ fields }: IndexDefinition): string {
    const { name, type } = this.of(fields);
    if (this.chance(0.4)) return `"${name}":${this.#operand(type)}`;
    const operators = Array.from({ length: this.chance(0.8) ? 1 : 2 }, () => this.#operator(type));
    if (this.chance(0.15)) operators.push(`"$boost":${this.of(["2", "-0.5"])}`);
    return `"${name}":{${distinct(operators).join(",")}}`;
  }

  #operator(type: FieldType): string {
    const names = ["$eq", "$in", "$smart"];
    if (type === "TEXT") names.push("$phrase", "$phrase", "$fuzzy", "$regex");
    if (type !== "TEXT" && type !== "BOOL" && type !== "FACET") names.push("$gt", "$gte", "$lt", "$lte");
    const name = this.of(names);
    switch (name) {
      case "$in":
        return `"$in":[${Array.from({ length: this.below(4) }, () => this.#operand(type)).join(",")}]`;
      case "$phrase":
        return `"$phrase":${this.#phrase()}`;
      case "$fuzzy":
        return `"$fuzzy":${this.#fuzzy()}`;
      case "$regex":
        return `"$regex":"${this.of(["a.*", "AB?C?", "[bc]+a?", "(ab|ca).", "x*"])}"`;
      default:
        return `"${name}":${this.#operand(type)}`;
    }
  }

  #phrase(): string {
    const text = `"${this.#text(3)}"`;
    if (this.chance(0.3)) return text;
    return `{"value":${text}${this.chance(0.5) ? `,"slop":${this.below(5)}` : `,"prefix":${this.chance(0.8)}`}}`;
  }

  #fuzzy(): string {
    const text = `"${this.#text(2)}"`;
    if (this.chance(0.4)) return text;
    return `{"value":${text},"distance":${this.below(3)},"transpositionCostOne":${this.chance(0.5)},"prefix":${this.chance(0.3)}}`;
  }

  #operand(type: FieldType): string {
    switch (type) {
      case "TEXT":
        return this.chance(0.1) ? `"\\"${this.#text(2)}\\""` : `"${this.#text(3)}"`;
      case "KEYWORD":
        return `"${this.of([...keywords, "none"])}"`;
      case "FACET":
        return `"${this.of([...paths, "/", "/d"])}"`;
      case "BOOL":
        return `${this.chance(0.5)}`;
      case "DATE":
        return `"${this.of([...days, "2025-03-01T00:00:00Z", "2024-03-01T01:00:00.001+01:00"])}"`;
      case "F64":
        return this.of([...doubles, "3.0", "9007199254740993"]);
      case "U64":
        return this.of([...unsigned, "2.0", "2.5", "-1", "1e19"]);
      default:
        return this.of([...signed, "-2.0", "2.5", "18446744073709551615"]);
    }
  }

  /** By score, by a field, or by a function of fields that the schema allows. */
  ranking({ fields }: IndexDefinition): Ranking {
    const sortable = fields.flatMap((field, number) => (isSortable(field) ? [number] : []));
    const numeric = sortable.filter((number) => ["U64", "I64", "F64"].includes(fields[number]?.type as string));
    if (sortable.length > 0 && this.chance(0.25))
      return { orderBy: { field: this.of(sortable), isAscending: this.chance(0.5) }, scoreFunction: undefined };
    if (numeric.length > 0 && this.chance(0.25))
      return { orderBy: undefined, scoreFunction: this.#scoreFunction(numeric) };
    return { orderBy: undefined, scoreFunction: undefined };
  }

  #scoreFunction(numeric: readonly number[]): ScoreFunction {
    const modifiers: readonly Modifier[] = [
      "NONE",
      "LOG",
      "LOG1P",
      "LOG2P",
      "LN",
      "LN1P",
      "LN2P",
      "SQRT",
      "RECIPROCAL",
    ];
    return {
      fields: Array.from({ length: 1 + this.below(2) }, () => ({
        field: this.of(numeric),
        modifier: this.of(modifiers),
        factor: this.of([1, 2, -0.5]),
        missing: this.of([0, 1, 10]),
      })),
      scoreMode: this.of(["SUM", "MULTIPLY", "REPLACE"]),
      combineMode: this.of(["SUM", "MULTIPLY"]),
    };
  }
}

/** Without members whose name came before: parsers would keep the last one in the place of the first. */
function distinct(members: readonly string[]): string[] {
  const byName = new Map(members.map((member) => [member.slice(0, member.indexOf(":")), member]));
  return [...byName.values()];
}
