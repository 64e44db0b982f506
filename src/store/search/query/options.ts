/**
 * The options of SEARCH.QUERY after its filter, in any order:
 *
 *     LIMIT n   OFFSET n   ORDERBY field [ASC|DESC]   NOCONTENT
 *     SELECT n path …   HIGHLIGHT FIELDS n field … [TAGS open close]
 *     SCOREFUNC (FIELDVALUE field [MODIFIER m] [FACTOR x] [MISSING x])…
 *               [SCOREMODE SUM|MULTIPLY|REPLACE] [COMBINEMODE SUM|MULTIPLY]
 *
 * One table has a row for each option. Each may be given once.
 */
import { type Bytes, upperCase } from "../../../kernel/bytes.ts";
import { syntaxError } from "../../errors.ts";
import { parseFloat64, parseInteger } from "../../structures/numbers/number-text.ts";
import { type IndexDefinition, isSortable, type SearchField } from "../definition.ts";
import {
  limitOutOfRange,
  noContentWithContent,
  notHighlightField,
  notScoreField,
  notSortableField,
  optionCountInvalid,
  orderWithScoreFunction,
  scoreFieldsTooMany,
  scoreFunctionEmpty,
  scoreNumberWrong,
  scoreWordUnknown,
  searchOffsetOutOfRange,
  unknownField,
} from "../search-errors.ts";
import type { Modifier, Ranking, ScoreFunction } from "./contract.ts";
import { fieldNumbersOf } from "./filter-parser.ts";
import { modifiers } from "./score-function.ts";

export const LIMIT_MAX = 1_000;
export const OFFSET_MAX = 10_000;
const LIMIT_DEFAULT = 10;
/** Values that make up the score of a document. */
export const SCORE_FIELDS_MAX = 100;
/** The service documents MULTIPLY in one place and SUM in another; its clients say MULTIPLY. */
const MODE_DEFAULT = "MULTIPLY";

export interface Highlight {
  /** Numbers of TEXT fields, each once. */
  readonly fields: readonly number[];
  /** Put before and after each term. */
  readonly open: Bytes;
  readonly close: Bytes;
}

export interface QueryOptions {
  readonly limit: number;
  readonly offset: number;
  readonly ranking: Ranking;
  /** NOCONTENT: hits have no documents. */
  readonly isWithoutContent: boolean;
  /** The paths of SELECT, as given; undefined for whole documents. */
  readonly select: readonly Bytes[] | undefined;
  readonly highlight: Highlight | undefined;
}

/** `words` are those after the filter. Throws a `CommandError` that names the option. */
export function readQueryOptions(words: readonly Bytes[], definition: IndexDefinition): QueryOptions {
  const reader = new OptionReader(words, definition);
  const found: FoundOptions = {};
  const seen = new Set<Bytes>();
  while (!reader.isAtEnd) {
    const name = reader.keyword();
    const row = optionRows.get(name);
    if (row === undefined || seen.has(name)) throw syntaxError;
    seen.add(name);
    row(reader, found);
  }
  const { orderBy, scoreFunction, select, highlight, isWithoutContent = false } = found;
  if (orderBy !== undefined && scoreFunction !== undefined) throw orderWithScoreFunction;
  if (isWithoutContent && (select !== undefined || highlight !== undefined)) throw noContentWithContent;
  const { limit = LIMIT_DEFAULT, offset = 0 } = found;
  return { limit, offset, ranking: { orderBy, scoreFunction }, isWithoutContent, select, highlight };
}

interface FoundOptions {
  limit?: number;
  offset?: number;
  orderBy?: NonNullable<Ranking["orderBy"]>;
  scoreFunction?: ScoreFunction;
  isWithoutContent?: boolean;
  select?: readonly Bytes[];
  highlight?: Highlight;
}

type ReadOption = (reader: OptionReader, found: FoundOptions) => void;

const optionRows: ReadonlyMap<Bytes, ReadOption> = new Map<Bytes, ReadOption>([
  [
    "LIMIT",
    (reader, found) => {
      found.limit = numberWithin(reader.word(), { least: 1, most: LIMIT_MAX, error: limitOutOfRange });
    },
  ],
  [
    "OFFSET",
    (reader, found) => {
      found.offset = numberWithin(reader.word(), { least: 0, most: OFFSET_MAX, error: searchOffsetOutOfRange });
    },
  ],
  [
    "NOCONTENT",
    (_reader, found) => {
      found.isWithoutContent = true;
    },
  ],
  [
    "ORDERBY",
    (reader, found) => {
      const { field, number } = reader.field();
      if (!isSortable(field)) throw notSortableField("ORDERBY", field.name);
      const isAscending = reader.takes("ASC");
      if (!isAscending) reader.takes("DESC");
      found.orderBy = { field: number, isAscending };
    },
  ],
  [
    "SELECT",
    (reader, found) => {
      found.select = reader.list("SELECT", 1);
    },
  ],
  ["HIGHLIGHT", readHighlight],
  ["SCOREFUNC", readScoreFunction],
]);

function readHighlight(reader: OptionReader, found: FoundOptions): void {
  if (!reader.takes("FIELDS")) throw syntaxError;
  const fields = new Set<number>();
  for (const name of reader.list("HIGHLIGHT FIELDS", 0)) {
    const { field, number } = reader.fieldNamed(name);
    if (field.type !== "TEXT") throw notHighlightField(name);
    fields.add(number);
  }
  const [open, close] = reader.takes("TAGS") ? [reader.word(), reader.word()] : ["<em>", "</em>"];
  found.highlight = { fields: [...fields], open, close };
}

type ScoreField = ScoreFunction["fields"][number];
type Mutable<Facts> = { -readonly [Name in keyof Facts]: Facts[Name] };

const scoreModes = ["SUM", "MULTIPLY", "REPLACE"] as const;
const combineModes = ["SUM", "MULTIPLY"] as const;
const modifierNames = Object.keys(modifiers) as Modifier[];

/** Ends at the first word that is not its own. */
function readScoreFunction(reader: OptionReader, found: FoundOptions): void {
  const fields: Mutable<ScoreField>[] = [];
  let scoreMode: ScoreFunction["scoreMode"] = MODE_DEFAULT;
  let combineMode: ScoreFunction["combineMode"] = MODE_DEFAULT;
  /** The field that MODIFIER, FACTOR and MISSING are about. */
  const last = (): Mutable<ScoreField> => {
    const field = fields.at(-1);
    if (field === undefined) throw syntaxError;
    return field;
  };
  const words: Readonly<Record<Bytes, () => void>> = {
    SCOREMODE: () => {
      scoreMode = reader.oneOf("SCOREMODE", scoreModes);
    },
    COMBINEMODE: () => {
      combineMode = reader.oneOf("COMBINEMODE", combineModes);
    },
    FIELDVALUE: () => {
      const { field, number } = reader.field();
      const isNumber = field.type === "U64" || field.type === "I64" || field.type === "F64";
      if (!isNumber || !field.isFast) throw notScoreField(field.name);
      if (fields.length === SCORE_FIELDS_MAX) throw scoreFieldsTooMany(SCORE_FIELDS_MAX);
      fields.push({ field: number, modifier: "NONE", factor: 1, missing: 0 });
    },
    MODIFIER: () => {
      last().modifier = reader.oneOf("MODIFIER", modifierNames);
    },
    FACTOR: () => {
      last().factor = reader.double("FACTOR");
    },
    MISSING: () => {
      last().missing = reader.double("MISSING");
    },
  };
  for (const read of reader.eachOf(words)) read();
  if (fields.length === 0) throw scoreFunctionEmpty;
  found.scoreFunction = { fields, scoreMode, combineMode };
}

function numberWithin(
  word: Bytes,
  { least, most, error }: { least: number; most: number; error: typeof limitOutOfRange },
): number {
  const value = parseInteger(word);
  if (typeof value !== "number" || value < least || value > most) throw error;
  return value;
}

class OptionReader {
  readonly #words: readonly Bytes[];
  readonly #definition: IndexDefinition;
  #at = 0;

  constructor(words: readonly Bytes[], definition: IndexDefinition) {
    this.#words = words;
    this.#definition = definition;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#words.length;
  }

  word(): Bytes {
    const word = this.#words[this.#at];
    if (word === undefined) throw syntaxError;
    this.#at += 1;
    return word;
  }

  keyword(): Bytes {
    return upperCase(this.word());
  }

  /** Passes the word if it is next. */
  takes(keyword: Bytes): boolean {
    if (this.isAtEnd || upperCase(this.#words[this.#at] as Bytes) !== keyword) return false;
    this.#at += 1;
    return true;
  }

  /** Passes words while they are names in the table, and returns what the table has for each. */
  *eachOf<Row>(table: Readonly<Record<Bytes, Row>>): Generator<Row> {
    while (!this.isAtEnd) {
      const name = upperCase(this.#words[this.#at] as Bytes);
      const row = Object.hasOwn(table, name) ? table[name] : undefined;
      if (row === undefined) return;
      this.#at += 1;
      yield row;
    }
  }

  field(): { readonly field: SearchField; readonly number: number } {
    return this.fieldNamed(this.word());
  }

  fieldNamed(name: Bytes): { readonly field: SearchField; readonly number: number } {
    const number = fieldNumbersOf(this.#definition).get(name) ?? -1;
    const field = this.#definition.fields[number];
    if (field === undefined) throw unknownField(name);
    return { field, number };
  }

  /** A number, and as many words. */
  list(option: string, least: number): readonly Bytes[] {
    const count = parseInteger(this.word());
    if (typeof count !== "number" || count < least) throw optionCountInvalid(option);
    const start = this.#at;
    if (count > this.#words.length - start) throw syntaxError;
    this.#at = start + count;
    return this.#words.slice(start, this.#at);
  }

  oneOf<Choice extends string>(word: string, choices: readonly Choice[]): Choice {
    const given = this.keyword();
    const choice = choices.find((candidate) => candidate === given);
    if (choice === undefined) throw scoreWordUnknown(word, choices);
    return choice;
  }

  double(word: string): number {
    const value = parseFloat64(this.word());
    if (value === undefined || !Number.isFinite(value)) throw scoreNumberWrong(word);
    return value;
  }
}
