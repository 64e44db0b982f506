/** Reads the fields of entries that logs, waits and resumes need. Endpoints get the bytes of entries unchanged. */
import { type JsonLimits, JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { isObject } from "./invoke.ts";

export type StepFields = Readonly<Record<string, unknown>>;

/** For the results of steps, which may contain long lists. */
const stepLimits: JsonLimits = { depthMax: 1_000, containersMax: 1_000_000, valuesMax: 5_000_000 };

/** The fields of a plan or a result; undefined for other bytes and for JSON that exceeds the limits. */
export function readStep(bytes: Uint8Array): StepFields | undefined {
  try {
    const step = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), stepLimits);
    return isObject(step) ? step : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonTooLarge) return undefined;
    throw error;
  }
}

/** The step that a plan requests; undefined for any other entry. */
export function plannedStep(step: StepFields): number | undefined {
  const target = step["targetStep"];
  return step["stepId"] === 0 && typeof target === "number" && target > 0 ? target : undefined;
}
