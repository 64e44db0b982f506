/** Bugs of metadata filters: in their parser and their tests, and in what the columns of a namespace see. */
import fc from "fast-check";
import { seededRandom } from "../../../src/kernel/random.ts";
import { ANY_ELEMENT, type FieldPath, type Step } from "../../../src/vector/filter/field-path.ts";
import { compileFilter, type Filter, filterOf } from "../../../src/vector/filter/filter.ts";
import { type Json, parseMetadata } from "../../../src/vector/filter/json.ts";
import type { FieldTest, Operator } from "../../../src/vector/filter/operators.ts";
import type { Condition, Expression } from "../../../src/vector/filter/parser.ts";
import { MetadataStore } from "../../../src/vector/metadata/metadata-store.ts";
import { type HistoryParts, metadataHistory, play } from "../vector/metadata-history.ts";
import { drawNode, drawObject, holds, jsonOf, spell } from "../vector/plain-filter.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

const FILTERS_PER_RUN = 250;
const RECORDS_PER_FILTER = 4;
const HISTORIES_PER_RUN = 4;

type Compile = (text: string) => Filter;

/** Filters on single records, against the plain evaluation. */
export const filterBugs: PlantedBugs<Compile> = {
  simulation: "metadata filters",
  run: async (seed, compile) => {
    const random = seededRandom(seed);
    for (let i = 0; i < FILTERS_PER_RUN; i += 1) {
      const node = drawNode(random, 3);
      const filter = compile(spell(random, node));
      for (let j = 0; j < RECORDS_PER_FILTER; j += 1) {
        const value = drawObject(random, 3);
        const passes = filter.matches(parseMetadata(jsonOf(value)));
        if (passes !== holds(node, value)) return `${filter.text} on ${jsonOf(value)} is ${passes}`;
      }
    }
    return undefined;
  },
  runsMax: 40,
  control: { bug: compileFilter, runs: 3 },
  bugs: [
    {
      name: "texts are compared by UTF-16 units",
      breaks: "src/vector/filter/text-order.ts",
      bug: changed(inUnits),
      seed: 2,
      found: /[<>].* is (true|false)$/s,
    },
    {
      name: "[*] is only the first element",
      breaks: "src/vector/filter/any-element.ts",
      bug: changed(withFirstElements),
      seed: 2,
      found: /\[\*\].* is (true|false)$/s,
    },
    {
      name: "a dot in backticks goes one object deeper",
      breaks: "src/vector/filter/field-path.ts",
      bug: changed(withDividedNames),
      seed: 31,
      found: /`a\.b`.* is (true|false)$/s,
    },
  ],
};

/** Filters on all records of a namespace through its columns, against the filter on each record. */
export const metadataBugs: PlantedBugs<HistoryParts> = {
  simulation: "histories of metadata",
  run: async (seed, parts) => {
    const property = fc.property(metadataHistory, (history) => void play(history, parts));
    const { errorInstance } = fc.check(property, { seed, numRuns: HISTORIES_PER_RUN, endOnFailure: true });
    return errorInstance instanceof Error ? errorInstance.message : undefined;
  },
  runsMax: 40,
  control: { bug: {}, runs: 3 },
  bugs: [
    {
      name: "an update of a nested element is not noticed",
      breaks: "src/vector/metadata/metadata-store.ts",
      bug: { store: (memory) => new ShallowStore(memory) },
      seed: 1,
      found: /on record \d+/,
    },
    {
      name: "columns compare texts by UTF-16 units",
      breaks: "src/vector/metadata/passing-values.ts",
      bug: { compile: changed(inUnits) },
      seed: 15,
      found: /[<>].* on record \d+/,
    },
    {
      name: "columns have only the first element of [*]",
      breaks: "src/vector/metadata/column.ts",
      bug: { compile: changed(withFirstElements) },
      seed: 1,
      found: /\[\*\].* on record \d+/,
    },
  ],
};

// Places of bugs.

/** Compiles filters whose conditions are changed. */
function changed(change: (condition: Condition) => Condition): Compile {
  return (text) => {
    const { expression } = compileFilter(text);
    return filterOf(text, expression === undefined ? undefined : changedExpression(expression, change));
  };
}

function changedExpression(expression: Expression, change: (condition: Condition) => Condition): Expression {
  if (expression.kind === "condition") return change(expression);
  return { ...expression, parts: expression.parts.map((part) => changedExpression(part, change)) };
}

/** Parses a record again only if its top level has changed. */
class ShallowStore extends MetadataStore {
  readonly #seen = new Map<number, readonly [top: string, parsed: Json]>();

  override parsed(record: number): Json | undefined {
    const parsed = super.parsed(record);
    if (parsed === undefined) return undefined;
    const top = Object.entries(parsed ?? {})
      .map(([name, value]) => `${name}:${typeof value === "object" ? "" : value}`)
      .join();
    const [before, seen] = this.#seen.get(record) ?? [];
    if (before === top && seen !== undefined) return seen;
    this.#seen.set(record, [top, parsed]);
    return parsed;
  }
}

// The bugs.

function inUnits(condition: Condition): Condition {
  const [bound] = condition.operands;
  const { side } = condition.operator;
  if (side === undefined || typeof bound !== "string") return condition;
  const compare: Readonly<Record<NonNullable<Operator["side"]>, (text: string) => boolean>> = {
    below: (text) => text < bound,
    "at most": (text) => text <= bound,
    above: (text) => text > bound,
    "at least": (text) => text >= bound,
  };
  const test: FieldTest = (field) => typeof field === "string" && compare[side](field);
  return { ...condition, operator: { ...condition.operator, test: () => test } };
}

function withFirstElements(condition: Condition): Condition {
  const steps = condition.path.steps.map((step) => (step === ANY_ELEMENT ? 0 : step));
  return { ...condition, path: pathOf(condition.path, steps) };
}

function withDividedNames(condition: Condition): Condition {
  const steps = condition.path.steps.flatMap((step): readonly Step[] =>
    typeof step === "string" ? step.split(".") : [step],
  );
  return { ...condition, path: pathOf(condition.path, steps) };
}

function pathOf({ text }: FieldPath, steps: readonly Step[]): FieldPath {
  return { text, steps, isMany: steps.includes(ANY_ELEMENT) };
}
