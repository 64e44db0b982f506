/** Sends a call to any index, and converts its answer into a form that can be compared. */
import type { Eventually, IndexApi, RangePage } from "../../../../src/vector/api.ts";
import { VectorFailure } from "../../../../src/vector/failure.ts";
import { parseRangeCursor } from "../../../../src/vector/index/range-cursor.ts";
import type { RecordView, ScoredView } from "../../../../src/vector/index/record.ts";
import type { Call } from "./command.ts";
import { showView } from "./compare.ts";
import { Refusal } from "./plain-index.ts";

export type Answer =
  | { readonly kind: "refused"; readonly failure: string; readonly text: string }
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  | { readonly kind: "scored"; readonly lists: readonly (readonly ScoredView[])[]; readonly uuid?: string }
  | { readonly kind: "one"; readonly view: RecordView | undefined };

/** More pages than any namespace of a program has. */
const PAGES_MAX = 5_000;

/** `uuidOf` finds the handle of a held query, which may not exist. Any other exception is a fault of the index. */
export function perform(api: IndexApi, call: Call, uuidOf: (held: number) => string): Eventually<Answer> {
  try {
    const answer = ask(api, call, uuidOf);
    return answer instanceof Promise ? answer.catch(refusalOf) : answer;
  } catch (failure) {
    return refusalOf(failure);
  }
}

function refusalOf(failure: unknown): Answer {
  if (failure instanceof VectorFailure || failure instanceof Refusal)
    return { kind: "refused", failure: failure.kind, text: failure.text };
  throw failure;
}

function ask(api: IndexApi, call: Call, uuidOf: (held: number) => string): Eventually<Answer> {
  switch (call.kind) {
    case "upsert":
      return map(api.upsert(call.namespace, call.records), done);
    case "upsert data":
      return map(api.upsertData(call.namespace, call.records), done);
    case "update":
      return map(api.update(call.namespace, call.change), count);
    case "fetch":
      return map(api.fetch(call.namespace, call.selection, call.include), (views) => linesOf(shownAndSpoiled(views)));
    case "delete":
      return map(api.delete(call.namespace, call.selection), count);
    case "walk":
      return map(walk(api, call), linesOf);
    case "random":
      return map(api.random(call.namespace), (view) => ({ kind: "one", view }));
    case "query":
      return map(api.query(call.namespace, call.queries), (lists) => ({ kind: "scored", lists }));
    case "query data":
      return map(api.queryData(call.namespace, call.queries), (lists) => ({ kind: "scored", lists }));
    case "hold":
      return map(api.resumableQuery(call.namespace, call.query, call.maxIdleSeconds), started);
    case "hold data":
      return map(api.resumableQueryData(call.namespace, call.query, call.maxIdleSeconds), started);
    case "next":
      return map(api.resumableQueryNext(uuidOf(call.held), call.additionalK), (list) => {
        return { kind: "scored", lists: [list] };
      });
    case "end":
      return map(api.resumableQueryEnd(uuidOf(call.held)), done);
    case "reset":
      return map(api.reset(call.namespace), done);
    case "reset all":
      return map(api.resetAll(), done);
    case "delete namespace":
      return map(api.deleteNamespace(call.namespace), done);
    case "rename namespace": {
      const { namespace, newName, deletesExisting } = call;
      return { kind: "lines", lines: [String(api.renameNamespace(namespace, { newName, deletesExisting }))] };
    }
    default: {
      const never: never = call;
      return never;
    }
  }
}

function map<Value>(value: Eventually<Value>, answer: (value: Value) => Answer): Eventually<Answer> {
  return value instanceof Promise ? value.then(answer) : answer(value);
}

function linesOf(lines: readonly string[]): Answer {
  return { kind: "lines", lines };
}

function done(): Answer {
  return linesOf([]);
}

function count(value: number): Answer {
  return { kind: "lines", lines: [String(value)] };
}

function started({ uuid, scores }: { readonly uuid: string; readonly scores: readonly ScoredView[] }): Answer {
  return { kind: "scored", lists: [scores], uuid };
}

function walk(
  api: IndexApi,
  { namespace, limit, prefix, include }: Extract<Call, { kind: "walk" }>,
): Eventually<readonly string[]> {
  const lines: string[] = [];
  const pageAt = (cursor: string): Eventually<RangePage> =>
    api.range(namespace, { cursor: parseRangeCursor(cursor) ?? 0, limit, prefix, include });
  const goOn = (first: Eventually<RangePage>): Eventually<readonly string[]> => {
    let page = first;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      if (page instanceof Promise) return page.then(goOn);
      // The form of a cursor concerns only the index.
      lines.push(...shownAndSpoiled(page.vectors), page.nextCursor === "" ? "end" : "next");
      if (page.nextCursor === "") break;
      page = pageAt(page.nextCursor);
    }
    return lines;
  };
  return goOn(pageAt("0"));
}

/** A view shares nothing with the index, so overwriting it must change nothing there. */
function shownAndSpoiled(views: readonly (RecordView | undefined)[]): readonly string[] {
  const lines = views.map(showView);
  for (const view of views) spoil(view);
  return lines;
}

export function spoil(view: RecordView | undefined): void {
  view?.vector?.fill(Number.NaN);
  view?.sparseVector?.indices.fill(99);
  view?.sparseVector?.values.fill(Number.NaN);
}
