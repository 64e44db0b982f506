/**
 * Every secret of a test is a canary: no log line and no answer may contain it
 * (threats.md S-09). The servers and programs that tests start check all
 * their output, so the whole run is the test.
 */
import assert from "node:assert/strict";

/** Shorter ones are ordinary words. */
const CANARY_LENGTH_MIN = 12;

/** Throws if the text contains one of the secrets, and names the position, never the secret. */
export function assertNoSecret(text: string, secrets: Iterable<string>, place: string): void {
  for (const secret of secrets) {
    if (secret.length < CANARY_LENGTH_MIN) continue;
    const index = text.indexOf(secret);
    assert.ok(index < 0, `S-09: a secret of ${secret.length} characters is at ${index} of ${place}`);
  }
}

/** A log sink that checks each line. The error ends the test file: the logging product must not catch it. */
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
