/** A warning or an error that the program logged, as the admin port shows it. */
export interface Problem {
  /** When it was logged last, as RFC 3339. */
  readonly time: string;
  readonly level: "warn" | "error";
  /** `server`, or the area or part that logged it. */
  readonly area: string;
  readonly message: string;
  /** Of the last time, without the stack. */
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  /** How often it was logged since the start; a problem that was pushed out counts from one again. */
  readonly count: number;
  readonly firstTime: string;
}
