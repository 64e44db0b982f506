/** The text of an entry as far as the server reads it: for logs, waits and resumes. Endpoints get their bytes unchanged. */
import { isObject } from "./invoke.ts";

export type StepFields = Readonly<Record<string, unknown>>;

/** Fields of a plan or a result; undefined for what is neither. */
export function readStep(bytes: Uint8Array): StepFields | undefined {
  try {
    const step: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
    return isObject(step) ? step : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The step that a plan asks to be run, undefined for any other entry. */
export function plannedStep(step: StepFields): number | undefined {
  const target = step["targetStep"];
  return step["stepId"] === 0 && typeof target === "number" && target > 0 ? target : undefined;
}
