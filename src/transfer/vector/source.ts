/**
 * The source of records: another index, read by range, or a file. Both are read in
 * steps, and a reading can begin where an earlier one stopped.
 */
import { StartRefusal } from "../../program/refusal.ts";
import { readLines } from "../ndjson-file.ts";
import { parseLine, readEnds } from "./file.ts";
import { FIRST_PAGE, type IndexClient, type IndexFacts } from "./index-client.ts";
import type { TallyState } from "./tally.ts";

export type Step =
  | { readonly kind: "begin"; readonly namespace: string }
  /** `cursor`: the beginning of the following records; undefined: the namespace has no more. */
  | { readonly kind: "records"; readonly texts: readonly string[]; readonly cursor: string | undefined }
  /** `tally`: the tally that the source states, if any. */
  | { readonly kind: "end"; readonly tally?: TallyState };

/** The beginning of a continued reading. */
export interface Place {
  readonly namespace: string;
  readonly cursor: string | undefined;
}

export interface VectorSource {
  /** Its name for people. */
  readonly name: string;
  readonly facts: IndexFacts;
  /** About how many records each namespace has, for all namespaces of the source. */
  readonly counts: ReadonlyMap<string, number>;
  /** Identifies this source, and differs after it has changed. */
  readonly identity: string;
  /** All namespaces, or one. Without a `begin` for the namespace of the place. Rejects with a `StartRefusal`. */
  walk(only: string | undefined, from: Place | undefined): AsyncIterable<Step>;
  /** The current record counts by namespace, if the source can report them. */
  countsNow?(): Promise<ReadonlyMap<string, number>>;
  /** Whether a namespace exists now, if the source can report it. */
  hasNamespace?(namespace: string): Promise<boolean>;
}

/** `name`: the address. */
export async function sourceFromIndex(index: IndexClient, name: string): Promise<VectorSource> {
  const { facts, counts } = await index.info();
  const names = await index.namespaces();
  return {
    name,
    facts,
    counts: new Map(names.map((namespace) => [namespace, counts.get(namespace) ?? 0])),
    identity: name,
    async *walk(only, from) {
      for (const namespace of names) {
        if (only !== undefined && namespace !== only) continue;
        if (from !== undefined && namespace < from.namespace) continue;
        const isUnderWay = from?.namespace === namespace;
        if (!isUnderWay) yield { kind: "begin", namespace };
        let cursor = isUnderWay ? from.cursor : FIRST_PAGE;
        while (cursor !== undefined) {
          const page = await index.range(namespace, cursor);
          cursor = page.next;
          yield { kind: "records", texts: page.records, cursor };
        }
        yield { kind: "end" };
      }
    },
    countsNow: async () => (await index.info()).counts,
    hasNamespace: async (namespace) => (await index.namespaces()).includes(namespace),
  };
}

/** Records of one step: at most as many as a request may have, and not many more bytes than this. */
const STEP_RECORDS_MAX = 1_000;
const STEP_CHARACTERS = 8 * 1024 * 1024;

/** Rejects with a `StartRefusal` if it is not a complete file of an index. The cursor is an offset in the file. */
export async function sourceFromFile(path: string): Promise<VectorSource> {
  const { head, end, bodyAt } = await readEnds(path);
  return {
    name: path,
    facts: head.facts,
    counts: head.counts,
    identity: `${path} ${end.count} ${end.digest}`,
    walk: (only, from) => walkFile(path, { only, from, bodyAt }),
  };
}

async function* walkFile(
  path: string,
  { only, from, bodyAt }: { only: string | undefined; from: Place | undefined; bodyAt: number },
): AsyncGenerator<Step> {
  let isWanted = from !== undefined;
  let texts: string[] = [];
  let characters = 0;
  let cursor = from?.cursor === undefined ? bodyAt : Number(from.cursor);
  const flushed = (): Step => {
    const step: Step = { kind: "records", texts, cursor: String(cursor) };
    texts = [];
    characters = 0;
    return step;
  };
  for await (const lines of readLines(path, cursor)) {
    for (const { text, end } of lines) {
      const line = lineOf(text, path, cursor);
      if (line === undefined) return;
      if (line.kind === "record") {
        if (!isWanted) continue;
        texts.push(text);
        characters += text.length;
        cursor = end;
        if (texts.length === STEP_RECORDS_MAX || characters >= STEP_CHARACTERS) yield flushed();
        continue;
      }
      if (texts.length > 0) yield flushed();
      if (line.kind === "end of namespace" && isWanted) yield { kind: "end", tally: line.tally };
      isWanted = line.kind === "namespace" && (only === undefined || line.name === only);
      if (line.kind === "namespace" && isWanted) yield { kind: "begin", namespace: line.name };
      cursor = end;
    }
  }
}

function lineOf(text: string, path: string, at: number): ReturnType<typeof parseLine> {
  try {
    return parseLine(text);
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    throw new StartRefusal(`${path} is damaged after byte ${at}: ${fault.message}`);
  }
}
