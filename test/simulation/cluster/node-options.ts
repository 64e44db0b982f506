/** The options of a node in a test: its data directory is an object, and it logs nothing unless the test gives it a log. */
import type { ClusterNodeOptions } from "../../../src/cluster/node/cluster-node.ts";
import type { Lives } from "../../../src/cluster/node/registration.ts";
import { type Log, silentLog } from "../../../src/kernel/log.ts";

/** What a data directory has of its node; changed by the node. */
export interface NodeDirectory {
  lives: Lives;
}

export function emptyDirectory(): NodeDirectory {
  return { lives: { former: undefined, next: undefined } };
}

export interface NodeParts extends Pick<ClusterNodeOptions, "stores" | "clock" | "host"> {
  readonly name: string;
  readonly directory: NodeDirectory;
  readonly format?: number;
  readonly reads?: ClusterNodeOptions["reads"];
  readonly log?: Log;
  drawLife(): string;
}

export function nodeOptions({
  name,
  directory,
  format = 1,
  reads = "lease",
  log = silentLog,
  ...parts
}: NodeParts): ClusterNodeOptions {
  return {
    ...parts,
    node: { name, address: "127.0.0.1:1", format },
    file: {
      read: () => Promise.resolve(directory.lives),
      write: async (lives) => {
        directory.lives = lives;
      },
    },
    leaseClock: parts.clock,
    log,
    reads,
  };
}
