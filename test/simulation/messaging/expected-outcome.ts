/** The required consequence of an answer, written independently of the engine (C.outcome). */
import type { DeliveryResult } from "../../../src/messaging/delivery/delivery.ts";
import { messageState } from "../../../src/messaging/state/states.ts";
import type { Tracked } from "./ledger.ts";

export type Expected =
  | { readonly kind: "delivered" }
  | { readonly kind: "failed" }
  | { readonly kind: "retry"; readonly delayMs: number };

/** In seconds, by the number of earlier retries. */
const DEFAULT_DELAYS_S = [12, 148, 1_808, 22_026, 86_400] as const;

/** The delays that simulated destinations request. */
const RETRY_AFTER_MS: Readonly<Record<string, number>> = { "1": 1_000, "7": 7_000, "3m": 180_000, "250ms": 250 };

/** The expressions that the simulated users send, with what they mean. */
export const retryExpressions: ReadonlyMap<string, (retried: number) => number> = new Map([
  ["1000", () => 1_000],
  ["0", () => 0],
  ["1000 * (1 + retried)", (retried: number) => 1_000 * (1 + retried)],
  ["min(5000, 100 * pow(3, retried))", (retried: number) => Math.min(5_000, 100 * 3 ** retried)],
]);

/** The last entry of the message is the ERROR, or the one just before or after it. */
export function expectedOutcome(message: Tracked, result: DeliveryResult): Expected {
  const { retriesMax, retryDelay } = message.fields;
  const headers = result.kind === "answer" ? result.headers : [];
  const status = result.kind === "answer" ? result.status : 0;
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const failures = message.entries.filter((entry) => entry.state === messageState.error).length;
  const isUseless = status === 489 && headers.includes("Upstash-NonRetryable-Error");
  if (isUseless || failures > retriesMax) return { kind: "failed" };
  const retried = failures - 1;
  const asked = RETRY_AFTER_MS[headers[headers.indexOf("Retry-After") + 1] ?? ""];
  if (headers.includes("Retry-After") && asked !== undefined) return { kind: "retry", delayMs: asked };
  if (retryDelay !== undefined) return { kind: "retry", delayMs: retryExpressions.get(retryDelay)?.(retried) ?? -1 };
  return { kind: "retry", delayMs: (DEFAULT_DELAYS_S[retried] ?? 86_400) * 1_000 };
}
