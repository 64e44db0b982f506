/** Commands over RESP, each connection through a drawn node: when it ends, the next one goes through another. */
import type { Random } from "../../../src/kernel/random.ts";
import { connectTo, type RawReply, type RedisConnection } from "../../differential/redis-process.ts";
import { moment } from "../../simulation/kill/endings.ts";
import { isNotBegun, RoundOver, UnknownOutcome } from "../cluster-requests.ts";
import type { RunCommand } from "../observers.ts";
import type { FrontNode } from "./front-nodes.ts";

export interface RespClient {
  nodes(): readonly FrontNode[];
  isOver(): boolean;
  readonly random: Random;
  readonly token: string;
}

const PAUSE_MS = 20;
/** A connection goes on for so many commands, then the next one goes through a node that is drawn again. */
const COMMANDS_MAX = 20;

export class RespRunner {
  readonly #client: RespClient;
  #connection: RedisConnection | undefined;
  #commands = 0;

  constructor(client: RespClient) {
    this.#client = client;
  }

  readonly run: RunCommand = async (command) => {
    for (;;) {
      const connection = await this.#connected();
      const [reply = null] = await connection.send([command.map(String)]).catch((cause: unknown) => {
        this.close();
        throw new UnknownOutcome("the connection has ended", { cause });
      });
      this.#commands += 1;
      if (this.#commands >= COMMANDS_MAX) this.close();
      const text = errorTextOf(reply);
      if (text === undefined) return plainOf(reply);
      if (!isNotBegun(text)) throw new Error(`${JSON.stringify(command)} was refused: ${text}`);
      // It has not begun, so it may be sent again.
      await moment(PAUSE_MS);
    }
  };

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#commands = 0;
  }

  /** A connection that has logged in. Nothing was carried out before. */
  async #connected(): Promise<RedisConnection> {
    const { nodes, isOver, random, token } = this.#client;
    while (this.#connection === undefined) {
      if (isOver()) throw new RoundOver("the round was over before a node took the connection");
      const all = nodes();
      const node = all[random.below(Math.max(1, all.length))];
      const connection = await connectTo(node?.respPort ?? 0).catch(() => undefined);
      const [reply = null] = (await connection?.send([["AUTH", token]]).catch(() => undefined)) ?? [];
      if (connection !== undefined && reply !== null && errorTextOf(reply) === undefined) this.#connection = connection;
      else {
        connection?.close();
        await moment(PAUSE_MS);
      }
    }
    return this.#connection;
  }
}

function errorTextOf(reply: RawReply): string | undefined {
  return typeof reply === "object" && reply !== null && "error" in reply ? reply.error.text : undefined;
}

function plainOf(reply: RawReply): unknown {
  return typeof reply === "object" && reply !== null && "text" in reply ? reply.text : reply;
}
