/** What is measured: servers that take a message over HTTP and deliver it, signed, over HTTP. */

export interface Subject {
  readonly name: string;
  /** What it needs and this machine does not have; undefined: it can run. */
  readonly missing: string | undefined;
  /** In front of the destination's URL. */
  readonly publishPath: string;
  readonly headers: readonly (readonly [string, string])[];
  /** What delays a message. */
  readonly delayHeaders: (seconds: number) => readonly (readonly [string, string])[];
  start(place: Place): Promise<RunningSubject>;
}

export interface Place {
  /** Where data directories are made: on disk. */
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
