/** The text of an entry as far as the server reads it: for logs, waits and resumes. Endpoints get their bytes unchanged. */
import { type JsonLimits, JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { isObject } from "./invoke.ts";

export type StepFields = Readonly<Record<string, unknown>>;

/** Of the results of steps, which an endpoint may make of lists of its own. */
const stepLimits: JsonLimits = { depthMax: 1_000, containersMax: 1_000_000, valuesMax: 5_000_000 };

/** Fields of a plan or a result; undefined for what is neither, and for what is too much to parse. */
export function readStep(bytes: Uint8Array): StepFields | undefined {
  try {
    const step = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), stepLimits);
    return isObject(step) ? step : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonTooLarge) return undefined;
    throw error;
  }
}

/** The step that a plan asks to be run, undefined for any other entry. */
export function plannedStep(step: StepFields): number | undefined {
  const target = step["targetStep"];
  return step["stepId"] === 0 && typeof target === "number" && target > 0 ? target : undefined;
}
