/**
 * Dense embeddings by a local model, in a thread of its own: running a model takes
 * milliseconds to seconds, and all other requests would wait.
 *
 *     idle --embed--> starting --ready--> running --the thread ends--> idle
 *
 * (1) The thread has one call at a time; others wait in the order of arrival.
 * (2) When the thread ends unexpectedly, its call fails and the next one starts
 *     another thread.
 * (3) A failure names the model. The error of the package goes to the log, because
 *     it may name files of this machine.
 */
import { type DenseEmbedder, type TextRole, VectorFailure } from "../../vector/mod.ts";
import type { LocalModelSettings } from "./local-model.ts";
import { Semaphore } from "./semaphore.ts";

/** Plain data, sent between threads. */
export interface LocalProvider extends LocalModelSettings {
  /** Prefixes of queried and of stored texts. */
  readonly queryPrefix: string;
  readonly documentPrefix: string;
}

export type ToModelThread = { readonly texts: readonly string[] };

export type FromModelThread =
  | { readonly kind: "ready" }
  | { readonly kind: "vectors"; readonly vectors: readonly Float32Array[] }
  | { readonly kind: "failed"; readonly text: string };

/** The thread of the model. It sends "ready", and then one answer for each message. */
export interface ModelThread {
  post(message: ToModelThread): void;
  end(): Promise<void>;
}

export interface ModelThreadEvents {
  message(message: FromModelThread): void;
  /** It ended unexpectedly; `reason` is a sentence for the log. */
  ended(reason: string): void;
}

export interface LocalEmbedderOptions {
  /** The index's name of the model, for failures. */
  readonly model: string;
  readonly provider: LocalProvider;
  /** The dimension of the index; undefined if it is not known yet. */
  readonly dimension: number | undefined;
  readonly startThread: (events: ModelThreadEvents) => ModelThread;
  /** Logs why the model failed: keeps (3). */
  readonly onFailure: (reason: string) => void;
}

/** The most waiting calls. */
const WAITING_MAX = 1_024;

const closed = new VectorFailure("unavailable", "The embedding model is closing; try again");

export class LocalEmbedder implements DenseEmbedder {
  readonly #options: LocalEmbedderOptions;
  readonly #semaphore = new Semaphore(1, WAITING_MAX); // keeps (1)
  readonly #closing = new AbortController();
  #thread: ModelThread | undefined;
  /** Waits for the next message of the thread. */
  #waiting: PromiseWithResolvers<FromModelThread> | undefined;

  constructor(options: LocalEmbedderOptions) {
    this.#options = options;
  }

  /** Starts the thread and loads the model, which is optional before the first call. Rejects with a `VectorFailure`. */
  open(): Promise<void> {
    return this.#runExclusively(async () => {
      await this.#getThread();
    });
  }

  embed(texts: readonly string[], role: TextRole): Promise<readonly Float32Array[]> {
    return this.#runExclusively(async () => {
      const { queryPrefix, documentPrefix } = this.#options.provider;
      const prefix = role === "query" ? queryPrefix : documentPrefix;
      if (texts.length === 0) return [];
      const thread = await this.#getThread();
      const answered = this.#listen();
      thread.post({ texts: texts.map((text) => prefix + text) });
      const answer = await answered;
      if (answer.kind !== "vectors") throw this.#failure("could not embed", answer);
      return this.#check(answer.vectors, texts.length);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiting?.reject(closed);
    await this.#thread?.end();
  }

  async #runExclusively<Result>(call: () => Promise<Result>): Promise<Result> {
    const permit = this.#semaphore.acquire(this.#closing.signal);
    if (permit === undefined) throw this.#refusal("has too many texts waiting; try again");
    if (!(await permit)) throw closed;
    try {
      if (this.#closing.signal.aborted) throw closed;
      return await call();
    } finally {
      this.#semaphore.release();
    }
  }

  async #getThread(): Promise<ModelThread> {
    if (this.#thread !== undefined) return this.#thread;
    const answered = this.#listen();
    const thread = this.#options.startThread({
      message: (message) => this.#waiting?.resolve(message),
      ended: (reason) => {
        this.#thread = undefined; // keeps (2)
        this.#waiting?.resolve({ kind: "failed", text: reason });
      },
    });
    this.#thread = thread;
    const answer = await answered;
    if (answer.kind === "ready") return thread;
    this.#thread = undefined;
    await thread.end();
    throw this.#failure("could not be loaded", answer);
  }

  /** The next message of the thread. */
  async #listen(): Promise<FromModelThread> {
    const waiting = Promise.withResolvers<FromModelThread>();
    this.#waiting = waiting;
    try {
      return await waiting.promise;
    } finally {
      this.#waiting = undefined;
    }
  }

  #check(vectors: readonly Float32Array[], count: number): readonly Float32Array[] {
    const dimension = this.#options.dimension ?? vectors[0]?.length;
    const wrong = vectors.find((vector) => vector.length !== dimension);
    if (vectors.length !== count) throw this.#refusal(`returned ${vectors.length} vectors for ${count} texts`);
    if (wrong !== undefined) throw this.#refusal(`returned ${wrong.length} dimensions, but the index has ${dimension}`);
    return vectors;
  }

  #failure(what: string, answer: FromModelThread): VectorFailure {
    this.#options.onFailure(answer.kind === "failed" ? answer.text : `The thread of the model sent ${answer.kind}`);
    return this.#refusal(`${what}; the log has the reason`);
  }

  #refusal(text: string): VectorFailure {
    return new VectorFailure("unavailable", `The local model ${this.#options.model} ${text}`);
  }
}
