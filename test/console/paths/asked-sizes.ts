/** How many rows a request of the console asks for. */
import type { Request } from "playwright-core";

const lastMinusFirst = (words: readonly string[]): number => Number(words[3]) - Number(words[2]) + 1;

/** The number of rows of commands that have neither COUNT nor LIMIT before it. */
const windows: Readonly<Record<string, (words: readonly string[]) => number>> = {
  LRANGE: lastMinusFirst,
  ZRANGE: lastMinusFirst,
  XPENDING: (words) => Number(words[5]),
};

/** Lists of messaging that come whole if no count is given. */
const NAMED = ["schedules", "topics", "queues", "flowControl"];

/** One text for each list that is asked for, such as `logs 100` or `SCAN 100`. */
export function askedSizes(request: Request): readonly string[] {
  const { pathname, searchParams } = new URL(request.url());
  const [, area, , ...route] = pathname.slice("/console/api".length).split("/");
  const name = route.at(-1) ?? "";
  const count = searchParams.get("count");
  if (count !== null) return [`${name} ${count}`];
  if (area === "messaging" && route.length === 2 && NAMED.includes(name) && request.method() === "GET")
    return [`${name} all`];
  const body = request.postData();
  if (body === null) return [];
  if (area === "vector") {
    const { limit, topK } = JSON.parse(body) as { limit?: number; topK?: number };
    return [limit, topK].flatMap((size) => (size === undefined ? [] : [`${route[0]} ${size}`]));
  }
  return area === "store" && name === "pipeline" && body.startsWith("*") ? commandsOf(body).flatMap(sizeOf) : [];
}

function sizeOf(words: readonly string[]): readonly string[] {
  const [name = ""] = words;
  const at = words.findIndex((word) => word === "COUNT" || word === "LIMIT");
  if (at > 0) return [`${name} ${words[at + 1]}`];
  const rows = windows[name]?.(words);
  return rows === undefined ? [] : [`${name} ${rows}`];
}

/** Commands in RESP, whose words have no line ends. */
function commandsOf(body: string): readonly (readonly string[])[] {
  const lines = body.split("\r\n");
  const commands: string[][] = [];
  for (let at = 0; lines[at]?.startsWith("*") === true; ) {
    const count = Number(lines[at]?.slice(1));
    commands.push(Array.from({ length: count }, (_, index) => lines[at + 2 + 2 * index] ?? ""));
    at += 1 + 2 * count;
  }
  return commands;
}
