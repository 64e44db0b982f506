/**
 * One step of a random program. `call` steps go to the engine and to the plain
 * index; the others concern the engine's life: its journal, its snapshots, its
 * clock.
 */
import type { DeleteSelection, Selection, TextQuery, VectorQuery } from "../../../../src/vector/api.ts";
import type { Include, NewRecord, NewText, RecordChange } from "../../../../src/vector/index/record.ts";

/** A request to one index. */
export type Call =
  | { readonly kind: "upsert"; readonly namespace: string; readonly records: readonly NewRecord[] }
  | { readonly kind: "upsert data"; readonly namespace: string; readonly records: readonly NewText[] }
  | { readonly kind: "update"; readonly namespace: string; readonly change: RecordChange }
  | { readonly kind: "fetch"; readonly namespace: string; readonly selection: Selection; readonly include: Include }
  | { readonly kind: "delete"; readonly namespace: string; readonly selection: DeleteSelection }
  | {
      /** From the start to the end, page by page. */
      readonly kind: "walk";
      readonly namespace: string;
      readonly limit: number;
      readonly prefix: string;
      readonly include: Include;
    }
  | { readonly kind: "random"; readonly namespace: string }
  | { readonly kind: "query"; readonly namespace: string; readonly queries: readonly VectorQuery[] }
  | { readonly kind: "query data"; readonly namespace: string; readonly queries: readonly TextQuery[] }
  | { readonly kind: "hold"; readonly namespace: string; readonly query: VectorQuery; readonly maxIdleSeconds: number }
  | {
      readonly kind: "hold data";
      readonly namespace: string;
      readonly query: TextQuery;
      readonly maxIdleSeconds: number;
    }
  /** `held`: the number of a held query, counted back from the last one, which is 0. */
  | { readonly kind: "next"; readonly held: number; readonly additionalK: number }
  | { readonly kind: "end"; readonly held: number }
  | { readonly kind: "reset"; readonly namespace: string }
  | { readonly kind: "reset all" }
  | { readonly kind: "delete namespace"; readonly namespace: string }
  | {
      readonly kind: "rename namespace";
      readonly namespace: string;
      readonly newName: string;
      readonly deletesExisting: boolean;
    };

export type CallKind = Call["kind"];

export type Command =
  | { readonly kind: "call"; readonly index: number; readonly call: Call }
  /** Questions are sent first and answered at any time; the writes follow, each after some turns of the event loop. */
  | {
      readonly kind: "meanwhile";
      readonly index: number;
      readonly questions: readonly Call[];
      readonly writes: readonly { readonly turns: number; readonly call: Call }[];
    }
  | { readonly kind: "advance"; readonly ms: number }
  /** A fresh engine from all frames. */
  | { readonly kind: "restart" }
  /** A fresh engine from a snapshot of this one. */
  | { readonly kind: "snapshot" }
  /** A fresh engine from the frames without those of the last `lostWrites` writing commands. */
  | { readonly kind: "crash"; readonly lostWrites: number };

/** Numbers shown of a list; the rest is drawn again from the seed. */
const SHOWN_COUNT = 40;

/** In readable form: typed arrays as lists, and long lists cut. */
export function showCommand(command: Command): string {
  return JSON.stringify(command, (_, value: unknown) => {
    if (!ArrayBuffer.isView(value)) return Array.isArray(value) ? shortened(value) : value;
    if (!(value instanceof Float32Array) && !(value instanceof Int32Array)) return [];
    return shortened(Array.from(value, (number) => (Object.is(number, -0) ? "-0" : number)));
  });
}

function shortened(list: readonly unknown[]): readonly unknown[] {
  return list.length <= SHOWN_COUNT ? list : [...list.slice(0, SHOWN_COUNT), `and ${list.length - SHOWN_COUNT} more`];
}
