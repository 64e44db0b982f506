/**
 * Every secret of a test is a canary: no log line and no answer may have it
 * (threats.md S-09). The servers and programs that tests start look at all that
 * they write, so the whole run is the test.
 */
import assert from "node:assert/strict";

/** Shorter ones are words that texts have anyway. */
const CANARY_LENGTH_MIN = 12;

/** Throws if the text has one of the secrets, and names the place, never the secret. */
export function assertNoSecret(text: string, secrets: Iterable<string>, place: string): void {
  for (const secret of secrets) {
    if (secret.length < CANARY_LENGTH_MIN) continue;
    const index = text.indexOf(secret);
    assert.ok(index < 0, `S-09: a secret of ${secret.length} characters stands at ${index} of ${place}`);
  }
}

/** A sink for log lines that holds them to it. The fault ends the test file: a product that logs must not catch it. */
export function watchedSink(
  secrets: readonly string[],
  sink: (line: string) => void = () => {},
): (line: string) => void {
  return (line) => {
    sink(line);
    try {
      assertNoSecret(line, secrets, "a log line");
    } catch (fault) {
      queueMicrotask(() => {
        throw fault;
      });
    }
  };
}
