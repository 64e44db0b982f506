/**
 * The file `cluster-node.json` of a data directory: which node of which cluster
 * the directory belongs to, and the lives of that node (registration.ts). A
 * directory with it is a cache; one without it has the data of a single server.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LifeFile, Lives } from "../../cluster/node/registration.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { StartRefusal } from "../refusal.ts";

export const NODE_FILE = "cluster-node.json";
const FILE_MODE = 0o600;

interface Content extends Lives {
  readonly cluster: string;
}

/** Whether the directory belongs to a node of a cluster. */
export function isNodeDirectory(directory: string): boolean {
  return existsSync(join(directory, NODE_FILE));
}

/** Throws a `StartRefusal` if the directory belongs to a node of a cluster. */
export function assertNoNode(directory: string): void {
  if (!isNodeDirectory(directory)) return;
  throw new StartRefusal(
    `${directory} is the cache of a node of a cluster, whose data is in PostgreSQL: start the node with --cluster, and back up its database with the tools of PostgreSQL`,
  );
}

/** The lives of the node of a directory; none if it has no node. Throws a `StartRefusal` if its file is damaged. */
export function readLives(directory: string): Lives {
  const path = join(directory, NODE_FILE);
  return isNodeDirectory(directory)
    ? parseContent(readFileSync(path, "utf8"), path)
    : { former: undefined, next: undefined };
}

/** The lives of the node of a locked directory. Throws a `StartRefusal` if it is a node of another cluster. */
export async function openNodeFile(directory: string, cluster: string): Promise<LifeFile> {
  const path = join(directory, NODE_FILE);
  const found = isNodeDirectory(directory) ? parseContent(readFileSync(path, "utf8"), path) : undefined;
  if (found !== undefined && found.cluster !== cluster)
    throw new StartRefusal(
      `The data directory ${directory} belongs to a node of the cluster ${found.cluster}, and the database has the cluster ${cluster}: use another directory, or correct the URL`,
    );
  let lives: Lives = { former: found?.former, next: found?.next };
  const file: LifeFile = {
    read: async () => lives,
    async write(changed) {
      await writeFileDurably(path, `${JSON.stringify({ cluster, ...changed })}\n`, { mode: FILE_MODE });
      lives = changed;
    },
  };
  if (found === undefined) await file.write(lives);
  return file;
}

function parseContent(text: string, path: string): Content {
  const fields = new Map<string, unknown>();
  try {
    const value: unknown = parseJsonText(text);
    if (typeof value === "object" && value !== null)
      for (const [name, each] of Object.entries(value)) fields.set(name, each);
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
  }
  const cluster = fields.get("cluster");
  const textOf = (name: string): string | undefined => {
    const each = fields.get(name);
    return typeof each === "string" ? each : undefined;
  };
  if (typeof cluster === "string") return { cluster, former: textOf("former"), next: textOf("next") };
  throw new StartRefusal(
    `${path} is damaged: remove that file. The node then waits until its former life is declared dead`,
  );
}
