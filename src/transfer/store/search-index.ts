/** A search index as it is transferred: the words that create it again, and its aliases. Its documents are keys. */
import type { Bytes } from "../../kernel/bytes.ts";
import { ReplyError, type RespReply } from "../redis/replies.ts";

/** As in TYPE. */
export const SEARCH_TYPE = "search";

export interface SearchIndexValue {
  readonly kind: "index";
  /** Those of SEARCH.CREATE after the name. */
  readonly words: readonly Bytes[];
  /** Aliases that name it, sorted. */
  readonly aliases: readonly Bytes[];
}

type Send = (commands: readonly (readonly Bytes[])[]) => Promise<readonly RespReply[]>;

/** Asks for an index; undefined if it no longer exists, and the error if it cannot be read. */
export async function readSearchIndex(send: Send, name: Bytes): Promise<SearchIndexValue | ReplyError | undefined> {
  const [description = null, aliases = null] = await send([["SEARCH.DESCRIBE", name], ["SEARCH.LISTALIASES"]]);
  if (description instanceof ReplyError) return description;
  if (description === null) return undefined;
  const words = wordsOf(description);
  if (words === undefined) return new ReplyError("the answer to SEARCH.DESCRIBE is not a definition");
  const found = listOf(aliases).flatMap((pair) => {
    const [alias, target] = listOf(pair);
    return typeof alias === "string" && target === name ? [alias] : [];
  });
  return { kind: "index", words, aliases: found.toSorted() };
}

/** The words of SEARCH.CREATE after the name, from the answer to SEARCH.DESCRIBE. */
function wordsOf(description: RespReply): readonly Bytes[] | undefined {
  const parts = listOf(description);
  const partAt = (name: string): RespReply | undefined => {
    const at = parts.indexOf(name);
    return at < 0 ? undefined : parts[at + 1];
  };
  const prefixes = stringsOf(partAt("prefixes") ?? null);
  const fields = listOf(partAt("schema") ?? null).map(stringsOf);
  const type = partAt("type");
  const language = partAt("language");
  if (typeof type !== "string" || typeof language !== "string" || prefixes === undefined) return undefined;
  const schema = fields.flatMap((field) => field ?? []);
  if (fields.includes(undefined) || schema.length === 0) return undefined;
  return ["ON", type, "PREFIX", `${prefixes.length}`, ...prefixes, "LANGUAGE", language, "SCHEMA", ...schema];
}

function listOf(reply: RespReply): readonly RespReply[] {
  return Array.isArray(reply) ? reply : [];
}

function stringsOf(reply: RespReply): readonly Bytes[] | undefined {
  const items = listOf(reply);
  const strings = items.filter((item) => typeof item === "string");
  return items.length > 0 && strings.length === items.length ? strings : undefined;
}
