/** The subjects: servers that accept a message over HTTP and deliver it, signed, over HTTP. */

export interface Subject {
  readonly name: string;
  /** A missing requirement on this machine; undefined: it can run. */
  readonly missing: string | undefined;
  /** The prefix of the destination's URL. */
  readonly publishPath: string;
  readonly headers: readonly (readonly [string, string])[];
  /** The headers that delay a message. */
  readonly delayHeaders: (seconds: number) => readonly (readonly [string, string])[];
  start(place: Place): Promise<RunningSubject>;
}

export interface Place {
  /** The parent of data directories: on disk. */
  readonly parent: string;
  /** The published program's `bin/larder.cjs`. */
  readonly program: string;
}

export interface RunningSubject {
  readonly port: number;
  readonly signingKey: string;
  /** Processor time of all its processes so far, in ms. */
  cpuMs(): number;
  residentBytes(): number | undefined;
  stop(): Promise<void>;
}
