/**
 * What nodes send to the store and get from it, counted as PostgreSQL would: a
 * statement for each call, a row for each node, beat or shard in an answer, and
 * the bytes of its JSON (`WATCH` and `RENEW` in
 * `src/cluster/postgres/postgres-log-store.ts`). The names of statements and the
 * frames of the protocol, about 200 bytes for each call, are not counted here:
 * `test/differential/cluster/watch-changes.test.ts` measures all bytes.
 */
import type { ClusterChanges, LogStore, Renewal } from "../../../../src/cluster/log-store/log-store.ts";

export interface Flow {
  readonly statements: number;
  readonly rows: number;
  readonly bytes: number;
}

const NOTHING: Flow = { statements: 0, rows: 0, bytes: 0 };

export class Traffic {
  readonly #flows = new Map<string, Flow>();

  /** Of calls with this name since the last `clear`. */
  of(name: string): Flow {
    return this.#flows.get(name) ?? NOTHING;
  }

  get statements(): number {
    return [...this.#flows.values()].reduce((sum, { statements }) => sum + statements, 0);
  }

  /** The rows of shards that polls have read. */
  shardRows = 0;
  /** Whether bytes are counted, which takes more time than all else where many rows change. */
  doesWeigh = false;

  clear(): void {
    this.#flows.clear();
    this.shardRows = 0;
  }

  /** The store, with its calls counted. */
  counted(store: LogStore): LogStore {
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function" || typeof name !== "string") return method;
        return async (...args: unknown[]) => {
          const answer: unknown = await method.apply(target, args);
          this.#add(name, answer);
          return answer;
        };
      },
    });
  }

  #add(name: string, answer: unknown): void {
    const before = this.of(name);
    let [rows, bytes] = [1, 0];
    if (name === "watchChanges") [rows, bytes] = this.#ofChanges(answer as ClusterChanges);
    if (name === "renew") {
      const { owned } = answer as Renewal;
      [rows, bytes] = [1 + owned.length, jsonBytes(owned.map(({ shard, epoch }) => [shard, epoch]))];
    }
    const { statements } = before;
    this.#flows.set(name, { statements: statements + 1, rows: before.rows + rows, bytes: before.bytes + bytes });
  }

  #ofChanges({ position, beats, nodes, shards }: ClusterChanges): [rows: number, bytes: number] {
    this.shardRows += shards.length;
    const rows = beats.length + nodes.length + shards.length;
    if (!this.doesWeigh) return [rows, 0];
    const arrays = [beats, nodes, shards].map((rows) => jsonBytes(rows.map((row) => Object.values(row))));
    // The position is sent, and comes back.
    const bytes = 2 * position.length + arrays.reduce((sum, each) => sum + each);
    return [rows, bytes];
  }
}

/** PostgreSQL writes a space after each comma. */
function jsonBytes(rows: readonly (readonly unknown[])[]): number {
  return JSON.stringify(rows).length + rows.reduce((sum, row) => sum + row.length, 0);
}
