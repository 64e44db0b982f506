/**
 * Routes as rows. A row carries the rule of docs/interface that it fulfils, so that
 * the conformance tests, the manual, the metrics and the log call it by the
 * same name.
 */
export interface Route<Call, Answer> {
  /** The rule of docs/interface: `A3`. */
  readonly rule: string;
  /** The path, with `:name` for a segment of the caller's and `*` for several. */
  readonly template: string;
  readonly run: (call: Call) => Answer;
}

/** What a route is called in metrics. It never holds text of the caller. */
export function routeName(route: Pick<Route<never, unknown>, "rule" | "template">): string {
  return `${route.rule} ${route.template}`;
}
