/** A client that upserts vectors through any node. Each acknowledged one must be found afterwards, by an exact query. */
import { moment } from "../../simulation/kill/endings.ts";
import { type Answered, type ClientOptions, ClusterClient, RoundOver, UnknownOutcome } from "../cluster-requests.ts";

const PAUSE_MS = 20;
/** A query with this filter scores its only record exactly. */
const filterOf = (number: number): string => `number = ${number}`;

export class VectorWriter {
  /** The numbers of acknowledged records. */
  readonly acknowledged: number[] = [];
  readonly #token: string;
  #number = 0;

  constructor(token: string) {
    this.#token = token;
  }

  /** Writes until the round is over. Rejects if a record is refused. */
  async writeThrough(options: ClientOptions): Promise<void> {
    const client = new ClusterClient(options);
    try {
      while (!options.isOver()) {
        this.#number += 1;
        const number = this.#number;
        try {
          await this.#ask(client, "/upsert", {
            id: `record ${number}`,
            vector: vectorOf(number),
            metadata: { number },
          });
          this.acknowledged.push(number);
        } catch (failure) {
          // It may be there, and need not.
          if (!(failure instanceof UnknownOutcome)) throw failure;
        }
        await moment(PAUSE_MS);
      }
    } catch (failure) {
      if (!(failure instanceof RoundOver)) throw failure;
    } finally {
      client.close();
    }
  }

  /** The acknowledged records from this one on that a query does not find. Nobody may write meanwhile. */
  async missing(options: Pick<ClientOptions, "nodes" | "front">, from: number): Promise<readonly number[]> {
    const client = new ClusterClient({ ...options, isOver: () => false });
    const missing: number[] = [];
    try {
      for (const number of this.acknowledged.slice(from)) {
        const query = { vector: vectorOf(number), topK: 1, filter: filterOf(number) };
        const { result } = (await this.#ask(client, "/query", query)) as { result: readonly { id: string }[] };
        if (result[0]?.id !== `record ${number}`) missing.push(number);
      }
    } finally {
      client.close();
    }
    return missing;
  }

  async #ask(client: ClusterClient, path: string, body: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
    const asked = { area: "vector", method: "POST", path, headers, body: JSON.stringify(body) } as const;
    const { status, text }: Answered = await client.ask(asked);
    if (status !== 200) throw new Error(`the index answered ${status}: ${text.slice(0, 200)}`);
    return JSON.parse(text);
  }
}

function vectorOf(number: number): readonly number[] {
  return [Math.cos(number), Math.sin(number), 1];
}
