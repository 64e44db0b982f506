/**
 * The content of a hit: pairs of a name and a value.
 *
 *     HASH, whole            each field and its text
 *     JSON, STRING, whole    "$" and the text of the document
 *     with SELECT            each named path that the document has: a string raw, anything else as JSON text
 *
 * HIGHLIGHT marks words where the source value stands, in all of these forms.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { copyOfNode, type JsonNode } from "../json/node.ts";
import { JsonObject } from "../json/object.ts";
import { textOfNode } from "../json/print.ts";
import type { ReplyBudget } from "../reply/budget.ts";
import { emptyArray, type Reply } from "../reply/reply.ts";
import type { IndexDefinition } from "../search/definition.ts";
import { liveHash, nodeAt, rootOf } from "../search/document.ts";
import type { Filter } from "../search/query/contract.ts";
import type { QueryOptions } from "../search/query/options.ts";
import { analyzerFor } from "../search/text/analyzer.ts";
import { highlight } from "../search/text/highlight.ts";
import { bytesOf, isString } from "../values/string.ts";
import type { Value } from "../values/table.ts";

type Mark = (text: Bytes) => Bytes;

/** The functions that mark texts, by the path of their source. */
type Marks = ReadonlyMap<Bytes, Mark>;

export interface ContentOptions {
  readonly definition: IndexDefinition;
  readonly options: Pick<QueryOptions, "select" | "highlight">;
  readonly filter: Filter;
  readonly nowMs: number;
}

/** A function that prints the content of a value, which must be a document of the index. */
export function contentPrinter(content: ContentOptions): (value: Value, budget: ReplyBudget) => Reply {
  const { definition, options, nowMs } = content;
  const { dataType } = definition;
  const marks = marksOf(content);
  const { select } = options;
  if (dataType === "HASH") return (value, budget) => printHash(value, { select, marks, budget, nowMs });
  const paths = select?.map((path) => ({ path, steps: path.split(".") }));
  return (value, budget) => {
    if (dataType === "STRING" && paths === undefined && marks.size === 0 && isString(value)) {
      const text = bytesOf(value);
      budget.take(text.length);
      return [["$", text]];
    }
    let root = rootOf(dataType, value);
    if (root === undefined) return emptyArray;
    if (marks.size > 0) root = markedCopy(root, marks);
    if (paths === undefined) {
      const text = textOfNode(root);
      budget.take(text.length);
      return [["$", text]];
    }
    const pairs: Reply[] = [];
    for (const { path, steps } of paths) {
      const node = nodeAt(root, steps);
      if (node === undefined) continue;
      const text = typeof node === "string" ? node : textOfNode(node);
      budget.take(path.length + text.length);
      pairs.push([path, text]);
    }
    return pairs;
  };
}

interface HashOptions {
  readonly select: readonly Bytes[] | undefined;
  readonly marks: Marks;
  readonly budget: ReplyBudget;
  readonly nowMs: number;
}

function printHash(value: Value, { select, marks, budget, nowMs }: HashOptions): Reply {
  const hash = liveHash(value, nowMs);
  if (hash === undefined) return emptyArray;
  const pairs: Reply[] = [];
  const print = (field: Bytes, stored: Bytes): void => {
    const text = marks.get(field)?.(stored) ?? stored;
    budget.take(field.length + text.length);
    pairs.push([field, text]);
  };
  if (select === undefined)
    for (let place = 0; place < hash.size; place += 1) print(hash.fieldAt(place), hash.valueAt(place));
  else
    for (const field of select) {
      const stored = hash.get(field);
      if (stored !== undefined) print(field, stored);
    }
  return pairs;
}

function marksOf({ definition, options, filter }: ContentOptions): Marks {
  const marks = new Map<Bytes, Mark>();
  const { highlight: wanted } = options;
  if (wanted === undefined) return marks;
  for (const number of wanted.fields) {
    const field = definition.fields[number];
    const terms = filter.highlighted.get(number);
    if (field === undefined || terms === undefined || terms.size === 0) continue;
    const path = field.path ?? field.name;
    // Of several fields with one source the first one counts, or tags would be marked within tags.
    if (marks.has(path)) continue;
    const analyzer = analyzerFor(definition.language, field);
    marks.set(path, (text) => highlight(text, { analyzer, terms, open: wanted.open, close: wanted.close }));
  }
  return marks;
}

function markedCopy(root: JsonObject, marks: Marks): JsonObject {
  const copy = copyOfNode(root) as JsonObject;
  for (const [path, mark] of marks) {
    const steps = path.split(".");
    const parent = steps.length === 1 ? copy : nodeAt(copy, steps.slice(0, -1));
    const name = steps.at(-1) as Bytes;
    const node = parent instanceof JsonObject ? parent.get(name) : undefined;
    if (parent instanceof JsonObject && node !== undefined) parent.set(name, markedNode(node, mark));
  }
  return copy;
}

function markedNode(node: JsonNode, mark: Mark): JsonNode {
  if (typeof node === "string") return mark(node);
  return Array.isArray(node) ? node.map((element) => (typeof element === "string" ? mark(element) : element)) : node;
}
