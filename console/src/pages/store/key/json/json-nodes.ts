/** The values of a JSON document, level by level: a document may be too long to come as a whole. */
import type { Bytes } from "../../values/bytes.ts";
import { bytesOfText } from "../../values/bytes.ts";
import { ask, askAll, bytesOf, listOf, numberOf, type Reply, textOfReply, type Words } from "../../values/run.ts";

export interface JsonNode {
  /** A JSONPath of this value alone. */
  readonly path: string;
  /** The member's name or the index; empty at the root. */
  readonly label: string;
  /** As JSON.TYPE returns it. */
  readonly kind: string;
  /** Members, elements, or bytes of a string. */
  readonly length?: number;
  /** The JSON text of a short value without parts. */
  readonly text?: string;
}

export interface JsonDocument {
  readonly database: string;
  readonly keyName: Bytes;
}

/** A longer string is shown by its length. */
const STRING_BYTES_MAX = 200;

/** The command for the length of each kind that has one. */
const lengthCommands: Readonly<Record<string, string>> = {
  object: "JSON.OBJLEN",
  array: "JSON.ARRLEN",
  string: "JSON.STRLEN",
};

export async function readRoot(document: JsonDocument, signal: AbortSignal): Promise<JsonNode | undefined> {
  const [root] = await readNodes(document, [{ path: "$", label: "" }], signal);
  return root;
}

/** Some parts of a value: its members or elements from an index on. */
export async function readParts(
  document: JsonDocument,
  { path, kind, length = 0 }: JsonNode,
  { from, count, signal }: { readonly from: number; readonly count: number; readonly signal: AbortSignal },
): Promise<JsonNode[]> {
  const { database, keyName } = document;
  if (kind === "array") {
    const end = Math.min(length, from + count);
    const indexes = Array.from({ length: Math.max(0, end - from) }, (_, at) => from + at);
    return await readNodes(
      document,
      indexes.map((index) => ({ path: `${path}[${index}]`, label: `${index}` })),
      signal,
    );
  }
  const [names] = listOf(await ask(database, ["JSON.OBJKEYS", keyName, bytesOfText(path)], signal));
  const shown = listOf(names)
    .slice(from, from + count)
    .map(textOfReply);
  return await readNodes(
    document,
    shown.map((name) => ({ path: `${path}[${JSON.stringify(name)}]`, label: name })),
    signal,
  );
}

type Place = Pick<JsonNode, "path" | "label">;

async function readNodes(
  { database, keyName }: JsonDocument,
  places: readonly Place[],
  signal: AbortSignal,
): Promise<JsonNode[]> {
  const at = (command: string, { path }: Place): Words => [command, keyName, bytesOfText(path)];
  const kinds = (
    await askAll(
      database,
      places.map((place) => at("JSON.TYPE", place)),
      signal,
    )
  ).map(firstText);
  // The length of what has one, else the value.
  const facts = await askAll(
    database,
    places.map((place, index) => at(lengthCommands[kinds[index] ?? ""] ?? "JSON.GET", place)),
    signal,
  );
  const nodes = places.map((place, index): JsonNode => {
    const kind = kinds[index] ?? "";
    const fact = facts[index] ?? null;
    if (kind in lengthCommands) return { ...place, kind, length: numberOf(listOf(fact)[0]) };
    return { ...place, kind, text: textOfOnly(fact) };
  });
  const short = nodes.filter(({ kind, length = 0 }) => kind === "string" && length <= STRING_BYTES_MAX);
  const texts = await askAll(
    database,
    short.map((node) => at("JSON.GET", node)),
    signal,
  );
  const textByPath = new Map(short.map(({ path }, index) => [path, textOfOnly(texts[index] ?? null)]));
  return nodes.flatMap((node) => {
    // A value that has gone meanwhile.
    if (node.kind === "") return [];
    const text = textByPath.get(node.path);
    return text === undefined ? [node] : [{ ...node, text }];
  });
}

function firstText(reply: Reply): string {
  return textOfReply(listOf(reply)[0]);
}

/** The JSON text of the only match of a path: JSON.GET puts matches into a list. */
export function textOfOnly(reply: Reply): string {
  return bytesOf(reply) === "" ? "" : textOfReply(reply).slice(1, -1);
}
