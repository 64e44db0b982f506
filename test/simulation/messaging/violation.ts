/** A rule was violated. */
export class Violation extends Error {
  override name = "Violation";
}

export function check(condition: boolean, what: () => string): void {
  if (!condition) throw new Violation(what());
}
