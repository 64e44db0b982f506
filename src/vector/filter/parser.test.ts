/** Valid and invalid filters, with the error texts; and the bounds of parsing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FilterFailure } from "./failure.ts";
import { operators } from "./operators.ts";
import { DEPTH_MAX, type Expression, GLOB_LENGTH_SUM_MAX, LENGTH_MAX, parseFilter } from "./parser.ts";

/** The expression in one line, with all parentheses. */
function spelled(expression: Expression | undefined): string {
  if (expression === undefined) return "";
  if (expression.kind !== "condition")
    return `(${expression.parts.map(spelled).join(expression.kind === "and" ? " & " : " | ")})`;
  const { path, operator, operands } = expression;
  return [path.text, operator.words, ...operands.map((operand) => JSON.stringify(operand))].join(" ");
}

function failureOf(filter: string): string {
  try {
    parseFilter(filter);
  } catch (error) {
    assert.ok(error instanceof FilterFailure, String(error));
    return error.text;
  }
  return "accepted";
}

const accepted: readonly (readonly [filter: string, expression: string])[] = [
  ["", ""],
  [" \t\r\n", ""],
  ["population >= 1000000 AND geography.continent = 'Asia'", '(population >= 1000000 & geography.continent = "Asia")'],
  ["tags[0] = 'mammal' AND diet = 'carnivore'", '(tags[0] = "mammal" & diet = "carnivore")'],
  ["genre = 'fantasy' and title = 'Lord of the Rings'", '(genre = "fantasy" & title = "Lord of the Rings")'],
  [`age >= 23 and (type = 'turtle' OR type = "cat")`, '(age >= 23 & (type = "turtle" | type = "cat"))'],
  ["city GLOB '?[sz]*[^m-z]'", 'city GLOB "?[sz]*[^m-z]"'],
  ["city NOT GLOB 'A*'", 'city NOT GLOB "A*"'],
  ["country IN ('DE','TR')", 'country IN "DE" "TR"'],
  ["n NOT IN (1,2.5)", "n NOT IN 1 2.5"],
  ["mixed in ( 'a' , 1 , TRUE )", 'mixed IN "a" 1 true'],
  ["economy.major_industries CONTAINS 'Tourism'", 'economy.major_industries CONTAINS "Tourism"'],
  ["a not contains 5", "a NOT CONTAINS 5"],
  ["HAS FIELD geography.coordinates", "geography.coordinates HAS FIELD"],
  ["HAS NOT FIELD a.b", "a.b HAS NOT FIELD"],
  ["has Field a", "a HAS FIELD"],
  ["a[#-1] = 'Finance'", 'a[#-1] = "Finance"'],
  ["a.b[0].c = true", "a.b[0].c = true"],
  ["a[0][1] = False", "a[0][1] = false"],
  ["a[007] = 1", "a[7] = 1"],
  ["flag = 1", "flag = 1"],
  ["x != -1.5e3", "x != -1500"],
  ["x > +5", "x > 5"],
  ["x<.5", "x < 0.5"],
  ["x = 1E-2", "x = 0.01"],
  ["  a='b'", 'a = "b"'],
  ["a>=-1", "a >= -1"],
  ["a-1 = 2", "a-1 = 2"],
  ["my-key = 2", "my-key = 2"],
  ["a.0 = 1", "a.0 = 1"],
  ["a#b = 1", "a#b = 1"],
  [`a = "it''s"`, `a = "it''s"`],
  [`a = "it's"`, `a = "it's"`],
  [`a = 'say "x"'`, 'a = "say \\"x\\""'],
  ["a = 'it\\'s'", `a = "it's"`],
  ['a = "\\"\\\\"', 'a = "\\"\\\\"'],
  ["a = 'C:\\temp'", 'a = "C:\\\\temp"'],
  ["a = 'é😀\n'", 'a = "é😀\\n"'],
  ["a = ''", 'a = ""'],
  ["a = 'x'AND(b = 2)OR c = 3", '((a = "x" & b = 2) | c = 3)'],
  ["a = 1 OR b = 2 AND c = 3 OR d = 4", "(a = 1 | (b = 2 & c = 3) | d = 4)"],
  ["(a = 1 OR b = 2) AND c = 3", "((a = 1 | b = 2) & c = 3)"],
  ["((a = 1))", "a = 1"],
  ["a < 'x'", 'a < "x"'],
  ["in IN (1) AND has = 2 OR not NOT IN (3) AND AND = 4", "((in IN 1 & has = 2) | (not NOT IN 3 & AND = 4))"],
  ["true = true", "true = true"],
  ["__proto__ = 1", "__proto__ = 1"],
  ["`a b`.`c.d` = 1", "`a b`.`c.d` = 1"],
  ["`a`.`b` = 1", "a.b = 1"],
  ["`1abc` = 1 AND a.`0` = 1", "(`1abc` = 1 & a.0 = 1)"],
  ["`größe` >= 2 or a.`😀`[0]=3", "(`größe` >= 2 | a.`😀`[0] = 3)"],
  ["`x\\`y` = 1", "`x\\`y` = 1"],
  ["`C:\\\\` = 1", "`C:\\\\` = 1"],
  ["HAS FIELD``", "`` HAS FIELD"],
  ["`a[0]`[0].`]` = 1", "`a[0]`[0].`]` = 1"],
  ["`and` = 1 AND `has` = 2 OR `or` = 3", "((and = 1 & has = 2) | or = 3)"],
  ["`say 'x' \n`IN(1)", "`say 'x' \n` IN 1"],
  ["items[*].price > 10", "items[*].price > 10"],
  ["a[*] = 1 AND a[*][*][0].b[*] = 2", "(a[*] = 1 & a[*][*][0].b[*] = 2)"],
  ["HAS NOT FIELD `a`[*]", "a[*] HAS NOT FIELD"],
];

const literal = "a string in quotes, a number, true or false";
const all = "= != < <= > >= GLOB NOT GLOB IN NOT IN CONTAINS NOT CONTAINS";

const refused: readonly (readonly [filter: string, failure: string])[] = [
  ["population >= ", `Invalid filter at character 15: expected ${literal} after >=, found the end`],
  ["= 5", "Invalid filter at character 1: expected a field name, found ="],
  ["1abc = 2", "Invalid filter at character 1: 1abc is not a number, and a field name starts with a letter or _"],
  ["a = 'x' AND", "Invalid filter at character 12: expected a field name, found the end"],
  ["a = 'x' OR OR", `Invalid filter at character 14: expected one of ${all} after OR, found the end`],
  ["a GLOB 5", "Invalid filter at character 8: expected a string in quotes after GLOB, found 5"],
  ["country IN ()", `Invalid filter at character 13: expected ${literal} after (, found )`],
  ["a IN ('x',)", `Invalid filter at character 11: expected ${literal} after ,, found )`],
  ["a IN 'x'", "Invalid filter at character 6: expected ( after IN, found 'x'"],
  ["a IN ('x' 'y')", "Invalid filter at character 11: expected , or ), found 'y'"],
  ["a IN ('x'", "Invalid filter at character 10: expected , or ), found the end"],
  ["NOT a = 1", "Invalid filter at character 1: NOT must follow a field, before GLOB, IN or CONTAINS"],
  ["a NOT 5", "Invalid filter at character 7: expected GLOB, IN or CONTAINS after NOT, found 5"],
  ["a NOT = 5", "Invalid filter at character 7: expected GLOB, IN or CONTAINS after NOT, found ="],
  ["HAS geography", "Invalid filter at character 5: expected FIELD or NOT FIELD after HAS, found geography"],
  ["HAS NOT geography", "Invalid filter at character 9: expected FIELD after HAS NOT, found geography"],
  ["HAS FIELD", "Invalid filter at character 10: expected a field name, found the end"],
  ["HAS FIELD a = 1", "Invalid filter at character 13: expected AND, OR or the end, found ="],
  ["a = b", `Invalid filter at character 5: expected ${literal} after =, found b`],
  ["a = null", `Invalid filter at character 5: expected ${literal} after =, found null`],
  ["a == 1", `Invalid filter at character 3: expected one of ${all} after a, found ==`],
  ["a <> 1", `Invalid filter at character 3: expected one of ${all} after a, found <>`],
  ["a LIKE 'x'", `Invalid filter at character 3: expected one of ${all} after a, found LIKE`],
  ["a", `Invalid filter at character 2: expected one of ${all} after a, found the end`],
  ["a = 'unterminated", "Invalid filter at character 5: the string has no closing '"],
  ['a = "x\\"', 'Invalid filter at character 5: the string has no closing "'],
  ["a = 'it''s'", "Invalid filter at character 9: expected AND, OR or the end, found 's'"],
  ["a = 1 b = 2", "Invalid filter at character 7: expected AND, OR or the end, found b"],
  ["a = 1)", "Invalid filter at character 6: expected AND, OR or the end, found )"],
  ["(a = 1", "Invalid filter at character 7: expected AND, OR or ), found the end"],
  ["()", "Invalid filter at character 2: expected a field name, found )"],
  ["'a' = 1", "Invalid filter at character 1: expected a field name, found 'a'"],
  ["a = 1; b", "Invalid filter at character 6: unexpected character ;"],
  ["größe = 1", "Invalid filter at character 3: unexpected character ö"],
  ["a = '😀' 😀", "Invalid filter at character 9: unexpected character 😀"],
  ["a = 1and b = 2", "Invalid filter at character 5: 1and is not a number, and a field name starts with a letter or _"],
  ["a = 5.", "Invalid filter at character 5: 5. is not a number, and a field name starts with a letter or _"],
  ["a = -", "Invalid filter at character 5: - is not a number, and a field name starts with a letter or _"],
  ["a = 1e", "Invalid filter at character 5: 1e is not a number, and a field name starts with a letter or _"],
  ["a = 1.2.3", "Invalid filter at character 5: 1.2.3 is not a number, and a field name starts with a letter or _"],
  ["a = 1e400", "Invalid filter at character 5: the number 1e400 is too large"],
  ["a[0 = 1", "Invalid filter at character 2: the [ has no closing ]"],
  ["a[0 = 1 AND b] = 2", "Invalid filter at character 2: the [ has no closing ]"],
  ["a] = 1", "Invalid filter at character 2: the ] has no opening ["],
  ["a.b] = 1", "Invalid filter at character 4: the ] has no opening ["],
  [
    "a[] = 1",
    "Invalid filter at character 3: an array index is a number as in [0], or counted from the end as in [#-1], or any as in [*]",
  ],
  [
    "a[#] = 1",
    "Invalid filter at character 3: an array index is a number as in [0], or counted from the end as in [#-1], or any as in [*]",
  ],
  [
    "a[#-0] = 1",
    "Invalid filter at character 3: an array index is a number as in [0], or counted from the end as in [#-1], or any as in [*]",
  ],
  [
    "a[-1] = 1",
    "Invalid filter at character 3: an array index is a number as in [0], or counted from the end as in [#-1], or any as in [*]",
  ],
  ["a[1234567890] = 1", "Invalid filter at character 3: an array index has at most 9 digits"],
  ["a[0]b = 1", "Invalid filter at character 5: expected . or [ after ]"],
  ["a[0]] = 1", "Invalid filter at character 5: expected . or [ after ]"],
  ["a..b = 1", "Invalid filter at character 3: expected a field name after the dot"],
  ["a. = 1", "Invalid filter at character 3: expected a field name after the dot"],
  ["a.[0] = 1", "Invalid filter at character 3: expected a field name after the dot"],
  [`a = 1 ${"x".repeat(50)}`, `Invalid filter at character 7: expected AND, OR or the end, found ${"x".repeat(40)}…`],
  ["`a b = 1", "Invalid filter at character 1: the name has no closing `"],
  ["x = 1 AND a.`b = 1", "Invalid filter at character 13: the name has no closing `"],
  ["`a\\` = 1", "Invalid filter at character 1: the name has no closing `"],
  ["`😀\\n` = 1", "Invalid filter at character 3: in a name, write \\\\ for a backslash and \\` for a backtick"],
  ["`a`b = 1", `Invalid filter at character 4: expected one of ${all} after \`a\`, found b`],
  ["a`b` = 1", `Invalid filter at character 2: expected one of ${all} after a, found \`b\``],
  ["`a`] = 1", "Invalid filter at character 4: unexpected character ]"],
  ["`a`. = 1", "Invalid filter at character 5: expected a field name after the dot"],
  ["`a``b` = 1", `Invalid filter at character 4: expected one of ${all} after \`a\`, found \`b\``],
  ["a. `b` = 1", "Invalid filter at character 3: expected a field name after the dot"],
  ["a = `b`", `Invalid filter at character 5: expected ${literal} after =, found \`b\``],
  ["a = `true`", `Invalid filter at character 5: expected ${literal} after =, found \`true\``],
  ["a = 1 `and` b = 1", "Invalid filter at character 7: expected AND, OR or the end, found `and`"],
  ["a = 1 `", "Invalid filter at character 7: the name has no closing `"],
  ["a[*]b = 1", "Invalid filter at character 5: expected . or [ after ]"],
  ["a[*", "Invalid filter at character 2: the [ has no closing ]"],
  ["a[*x] = 1", "Invalid filter at character 2: the [ has no closing ]"],
  ["a[ *] = 1", "Invalid filter at character 2: the [ has no closing ]"],
  ["a* = 1", "Invalid filter at character 2: unexpected character *"],
  ["a.* = 1", "Invalid filter at character 3: expected a field name after the dot"],
  ["a.[*] = 1", "Invalid filter at character 3: expected a field name after the dot"],
  ["[*] = 1", "Invalid filter at character 1: unexpected character ["],
  ["a = [*]", "Invalid filter at character 5: unexpected character ["],
  ["= 'unterminated", "Invalid filter at character 1: expected a field name, found ="],
];

test("B2.filter.grammar, B2.filter.fields: parses filters as the grammar defines them", () => {
  for (const [filter, expression] of accepted) assert.equal(spelled(parseFilter(filter)), expression, filter);
});

test("B2.filter.grammar: rejects everything else, with its place and the expected words", () => {
  for (const [filter, failure] of refused) assert.equal(failureOf(filter), failure, filter);
});

test("every operator's example is a filter with that operator", () => {
  for (const { words, example } of operators) {
    const expression = parseFilter(example);
    assert.equal(expression?.kind, "condition", example);
    assert.equal(expression?.kind === "condition" && expression.operator.words, words, example);
  }
});

// B2.filter.limits
test("B-04: a filter may have 4,096 characters", () => {
  const condition = "a = 1";
  assert.equal(failureOf(condition.padEnd(LENGTH_MAX)), "accepted");
  assert.equal(failureOf(condition.padEnd(LENGTH_MAX + 1)), "Invalid filter: it has 4097 characters. Limit: 4096");
});

// B2.filter.limits
test("B-04: parentheses may be 32 deep", () => {
  const nested = (depth: number): string => `${"(".repeat(depth)}a = 1${")".repeat(depth)}`;
  assert.equal(failureOf(nested(DEPTH_MAX)), "accepted");
  assert.equal(
    failureOf(nested(DEPTH_MAX + 1)),
    "Invalid filter at character 33: parentheses are nested more than 32 deep",
  );
  assert.equal(failureOf(Array.from({ length: 100 }, () => "(a = 1)").join(" AND ")), "accepted");
});

// B2.filter.limits
test("B-04: the patterns of a filter may have 256 characters together", () => {
  const half = "a".repeat(GLOB_LENGTH_SUM_MAX / 2);
  assert.equal(failureOf(`a GLOB '${half}' OR a NOT GLOB '${half}'`), "accepted");
  assert.equal(
    failureOf(`a GLOB '${half}' OR a NOT GLOB '${half}x'`),
    "Invalid filter: its patterns have more than 256 characters together",
  );
});
