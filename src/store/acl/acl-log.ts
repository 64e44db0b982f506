/**
 * Recent refusals to users, for ACL LOG. In memory: a start begins with an
 * empty log.
 *
 * (1) The newest refusal is first. A refusal that equals one of the first ten
 *     in everything but its time, within a minute, is counted there.
 * (2) The number of entries is at most `ENTRIES_MAX`, and long words are cut.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { copyOf } from "../../kernel/bytes.ts";
import type { DenialReason } from "../errors.ts";

/** The context of a refused command. */
export type AclContext = "toplevel" | "multi" | "lua";

export interface AclRefusal {
  readonly reason: DenialReason;
  readonly context: AclContext;
  /** The command, the key or the channel. */
  readonly object: Bytes;
  readonly username: Bytes;
  /** The client, in the format of CLIENT LIST. */
  readonly client: Bytes;
}

export interface AclLogEntry extends AclRefusal {
  readonly id: number;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** As Redis' `acllog-max-len`. keeps (2) */
export const ENTRIES_MAX = 128;
const SCANNED_MAX = 10;
const GROUPING_MS_MAX = 60_000;
/** Stored bytes of a key, a name or a client. */
const FIELD_BYTES_MAX = 512;

export class AclLog {
  #entries: readonly AclLogEntry[] = [];
  #idMax = -1;

  /** The newest first. */
  get entries(): readonly AclLogEntry[] {
    return this.#entries;
  }

  add(refusal: AclRefusal, nowMs: number): void {
    const { reason, context } = refusal;
    const object = shortened(refusal.object);
    const username = shortened(refusal.username);
    const client = shortened(refusal.client);
    const known = this.#entries
      .slice(0, SCANNED_MAX)
      .find(
        (entry) =>
          entry.reason === reason &&
          entry.context === context &&
          entry.object === object &&
          entry.username === username &&
          Math.abs(nowMs - entry.lastAtMs) <= GROUPING_MS_MAX,
      );
    if (known !== undefined) {
      const others = this.#entries.filter((entry) => entry !== known);
      this.#entries = [{ ...known, client, count: known.count + 1, lastAtMs: nowMs }, ...others];
      return;
    }
    this.#idMax += 1;
    const times = { firstAtMs: nowMs, lastAtMs: nowMs };
    const added = { id: this.#idMax, count: 1, reason, context, object, username, client, ...times };
    this.#entries = [added, ...this.#entries.slice(0, ENTRIES_MAX - 1)];
  }

  clear(): void {
    this.#entries = [];
  }
}

function shortened(bytes: Bytes): Bytes {
  return bytes.length <= FIELD_BYTES_MAX ? bytes : `${copyOf(bytes, 0, FIELD_BYTES_MAX)}...`;
}
