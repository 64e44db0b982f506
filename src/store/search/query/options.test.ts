import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandError } from "../../errors.ts";
import type { FieldType, IndexDefinition } from "../definition.ts";
import { type QueryOptions, readQueryOptions } from "./options.ts";

const field = (name: string, type: FieldType, isFast: boolean) => ({
  name,
  type,
  isTokenized: true,
  isStemmed: true,
  isFast,
  path: undefined,
});

const definition: IndexDefinition = {
  dataType: "HASH",
  prefixes: [""],
  language: "english",
  fields: [
    field("title", "TEXT", false),
    field("price", "F64", true),
    field("stock", "U64", false),
    field("kind", "KEYWORD", false),
    field("made", "DATE", true),
    field("path", "FACET", false),
    field("body", "TEXT", false),
  ],
};

const defaults: QueryOptions = {
  limit: 10,
  offset: 0,
  ranking: { orderBy: undefined, scoreFunction: undefined },
  isWithoutContent: false,
  select: undefined,
  highlight: undefined,
};

const read = (text: string): QueryOptions => readQueryOptions(text.split(" ").filter(Boolean), definition);

const value = { field: 1, modifier: "NONE", factor: 1, missing: 0 } as const;
const scored = (scoreFunction: QueryOptions["ranking"]["scoreFunction"]): Partial<QueryOptions> => ({
  ranking: { orderBy: undefined, scoreFunction },
});
const ordered = (number: number, isAscending: boolean): Partial<QueryOptions> => ({
  ranking: { orderBy: { field: number, isAscending }, scoreFunction: undefined },
});

const accepted: [text: string, expected: Partial<QueryOptions>][] = [
  ["", {}],
  ["LIMIT 1000 OFFSET 10000", { limit: 1000, offset: 10_000 }],
  ["offset 0 limit 1", { limit: 1, offset: 0 }],
  ["NOCONTENT", { isWithoutContent: true }],
  ["ORDERBY price", ordered(1, false)],
  ["orderby price desc", ordered(1, false)],
  ["ORDERBY kind ASC LIMIT 3", { ...ordered(3, true), limit: 3 }],
  ["ORDERBY made LIMIT 3", { ...ordered(4, false), limit: 3 }],
  ["SELECT 2 a.b LIMIT LIMIT 7", { select: ["a.b", "LIMIT"], limit: 7 }],
  ["HIGHLIGHT FIELDS 0", { highlight: { fields: [], open: "<em>", close: "</em>" } }],
  [
    "HIGHLIGHT fields 3 title body title SELECT 1 x",
    { select: ["x"], highlight: { fields: [0, 6], open: "<em>", close: "</em>" } },
  ],
  ["HIGHLIGHT FIELDS 1 body tags [ ]", { highlight: { fields: [6], open: "[", close: "]" } }],
  ["SCOREFUNC FIELDVALUE price", scored({ fields: [value], scoreMode: "MULTIPLY", combineMode: "MULTIPLY" })],
  [
    "SCOREFUNC SCOREMODE SUM COMBINEMODE sum FIELDVALUE price MISSING 1.5 MODIFIER ln2p FACTOR -2 NOCONTENT",
    {
      ...scored({
        fields: [{ ...value, modifier: "LN2P", factor: -2, missing: 1.5 }],
        scoreMode: "SUM",
        combineMode: "SUM",
      }),
      isWithoutContent: true,
    },
  ],
  [
    "scorefunc scoremode REPLACE FIELDVALUE price scoremode sum FIELDVALUE price FACTOR 1e3 LIMIT 2",
    { ...scored({ fields: [value, { ...value, factor: 1000 }], scoreMode: "SUM", combineMode: "MULTIPLY" }), limit: 2 },
  ],
];

test("options are read in any order and any case", () => {
  for (const [text, expected] of accepted) assert.deepEqual(read(text), { ...defaults, ...expected }, text);
});

const LIMIT_ERROR = "ERR limit should be a positive number less than 1000";
const OFFSET_ERROR = "ERR offset should be a non-negative number up to 10000";
const SYNTAX = "ERR syntax error";

const refused: [text: string, error: string][] = [
  ["LIMIT 0", LIMIT_ERROR],
  ["LIMIT 1001", LIMIT_ERROR],
  ["LIMIT -1", LIMIT_ERROR],
  ["LIMIT 1.5", LIMIT_ERROR],
  ["LIMIT 99999999999999999999", LIMIT_ERROR],
  ["OFFSET -1", OFFSET_ERROR],
  ["OFFSET 10001", OFFSET_ERROR],
  ["OFFSET x", OFFSET_ERROR],
  ["LIMIT", SYNTAX],
  ["LIMIT 1 LIMIT 2", SYNTAX],
  ["PAGE 1", SYNTAX],
  ["ORDERBY", SYNTAX],
  ["ORDERBY price ASC kind DESC", SYNTAX],
  ["ORDERBY price kind", SYNTAX],
  ["ORDERBY nothing", "ERR Unknown field: nothing"],
  ["ORDERBY title", "ERR ORDERBY needs a field with FAST: title"],
  ["ORDERBY stock", "ERR ORDERBY needs a field with FAST: stock"],
  ["ORDERBY path", "ERR ORDERBY needs a field with FAST: path"],
  ["ORDERBY price SCOREFUNC FIELDVALUE price", "ERR ORDERBY and SCOREFUNC cannot be used together"],
  ["NOCONTENT SELECT 1 a", "ERR NOCONTENT cannot be used with SELECT or HIGHLIGHT"],
  ["HIGHLIGHT FIELDS 0 NOCONTENT", "ERR NOCONTENT cannot be used with SELECT or HIGHLIGHT"],
  ["SELECT 0", "ERR SELECT needs the number of its fields"],
  ["SELECT a", "ERR SELECT needs the number of its fields"],
  ["SELECT 2 a", SYNTAX],
  ["SELECT 9007199254740993 a", "ERR SELECT needs the number of its fields"],
  ["HIGHLIGHT 1 title", SYNTAX],
  ["HIGHLIGHT FIELDS -1", "ERR HIGHLIGHT FIELDS needs the number of its fields"],
  ["HIGHLIGHT FIELDS 1 price", "ERR HIGHLIGHT needs a field of type TEXT: price"],
  ["HIGHLIGHT FIELDS 1 other", "ERR Unknown field: other"],
  ["HIGHLIGHT FIELDS 1 title TAGS <b>", SYNTAX],
  ["SCOREFUNC", "ERR SCOREFUNC needs FIELDVALUE and a field"],
  ["SCOREFUNC SCOREMODE SUM", "ERR SCOREFUNC needs FIELDVALUE and a field"],
  ["SCOREFUNC MODIFIER LOG FIELDVALUE price", SYNTAX],
  ["SCOREFUNC FIELDVALUE", SYNTAX],
  ["SCOREFUNC FIELDVALUE stock", "ERR SCOREFUNC needs a field of type U64, I64 or F64 with FAST: stock"],
  ["SCOREFUNC FIELDVALUE made", "ERR SCOREFUNC needs a field of type U64, I64 or F64 with FAST: made"],
  ["SCOREFUNC FIELDVALUE price FACTOR inf", "ERR FACTOR must be a number"],
  ["SCOREFUNC FIELDVALUE price MISSING x", "ERR MISSING must be a number"],
  [
    "SCOREFUNC FIELDVALUE price MODIFIER CUBE",
    "ERR MODIFIER must be one of NONE, LOG, LOG1P, LOG2P, LN, LN1P, LN2P, SQUARE, SQRT, RECIPROCAL",
  ],
  ["SCOREFUNC FIELDVALUE price SCOREMODE MAX", "ERR SCOREMODE must be one of SUM, MULTIPLY, REPLACE"],
  ["SCOREFUNC FIELDVALUE price COMBINEMODE REPLACE", "ERR COMBINEMODE must be one of SUM, MULTIPLY"],
  ["SCOREFUNC FIELDVALUE price FACTOR 2 ASC", SYNTAX],
  [`SCOREFUNC ${"FIELDVALUE price ".repeat(101)}`, "ERR SCOREFUNC has more than 100 fields"],
];

test("options that are wrong get an error that names them", () => {
  for (const [text, error] of refused)
    assert.throws(
      () => read(text),
      (thrown) => {
        assert.ok(thrown instanceof CommandError, text);
        assert.equal(thrown.text, error, text);
        return true;
      },
    );
});
