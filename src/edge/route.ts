/**
 * Routes as rows. A row has its rule of docs/interface, so that the conformance
 * tests, the manual, the metrics and the log use the same name.
 */
export interface Route<Call, Answer> {
  /** The rule of docs/interface: `A3`. */
  readonly rule: string;
  /** The path, with `:name` for a variable segment and `*` for several. */
  readonly template: string;
  readonly run: (call: Call) => Answer;
}

/** The name of a route in metrics. It never contains text of the caller. */
export function routeName(route: Pick<Route<never, unknown>, "rule" | "template">): string {
  return `${route.rule} ${route.template}`;
}
