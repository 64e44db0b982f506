/** Dense embeddings by a model in a directory of this machine. */

/** Plain data: it is posted between threads. */
export interface LocalProvider {
  readonly directory: string;
  /** Put before texts that are asked, and texts that are kept. */
  readonly queryPrefix: string;
  readonly documentPrefix: string;
}
