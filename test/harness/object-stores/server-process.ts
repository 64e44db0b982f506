/** Real servers of object stores, each a process of its own: started, waited for, and killed with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { connect } from "node:net";
import { basename } from "node:path";

export interface StoreServer {
  /** The query of addresses, with the endpoint. */
  readonly query: string;
  readonly credentials: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** A host below this name has the name of the bucket before it. No resolver knows it. */
export const STORE_DOMAIN = "s3.test";

const START_MS_MAX = 60_000;
const LOOK_AGAIN_MS = 100;

/** The processes of one server, which stop in the reverse order of their start. */
export class ServerProcesses {
  readonly #children: ChildProcess[] = [];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #directory: string;

  constructor(directory: string, environment: Readonly<Record<string, string>> = {}) {
    this.#directory = directory;
    this.#environment = { ...process.env, ...environment };
  }

  /** Starts a server, whose output is in a file of the directory. */
  start(program: string, args: readonly string[]): void {
    const child = spawn(program, args, { env: this.#environment, stdio: ["ignore", "pipe", "pipe"] });
    const output = createWriteStream(`${this.#directory}/${basename(program)}-${this.#children.length}.out`);
    child.stdout.pipe(output);
    child.stderr.pipe(output);
    // A test that crashes must not leave a server running.
    process.once("exit", () => child.kill("SIGKILL"));
    this.#children.push(child);
  }

  /** Runs a program to its end. Rejects with its output if it fails. */
  async run(program: string, args: readonly string[]): Promise<void> {
    const child = spawn(program, args, {
      env: this.#environment,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: START_MS_MAX,
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => {
        text += bytes.toString();
      });
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${text.slice(-2_000)}`);
  }

  /** Resolves when something listens on the port of loopback. */
  async listening(port: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const endMs = performance.now() + START_MS_MAX;
    const look = (): void => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve();
      });
      socket.once("error", () => {
        if (performance.now() > endMs) reject(new Error(`nothing listens on port ${port}: see ${this.#directory}`));
        else setTimeout(look, LOOK_AGAIN_MS);
      });
    };
    look();
    return promise;
  }

  async stop(): Promise<void> {
    for (const child of this.#children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "close");
    }
  }
}
