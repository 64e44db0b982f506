/** Reads the fields of entries that logs, waits and resumes need. Endpoints get the bytes of entries unchanged. */
import { type JsonLimits, JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { parseDurationMs } from "../../kernel/text/duration.ts";
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

/**
 * The fields of a step as the log shows them: clients decode whole numbers and texts, and one value of another type
 * would spoil a page for them. Endpoints send such values: fractions of a second, `1d` as the length of a sleep, null for
 * no value. Fields that cannot be shown are left out.
 */
export function shownStep(step: StepFields): StepFields {
  return Object.fromEntries(
    Object.entries(step).flatMap(([name, value]) => {
      const read = Object.hasOwn(shownFields, name) ? shownFields[name] : undefined;
      const shown = read === undefined ? value : read(value);
      return shown === undefined || shown === null ? [] : [[name, shown]];
    }),
  );
}

type ReadField = (value: unknown) => unknown;

const wholeNumber: ReadField = (value) => (Number.isSafeInteger(value) ? value : undefined);
const textOnly: ReadField = (value) => (typeof value === "string" ? value : undefined);
/** Rounded up: a step never sleeps shorter. */
const wholeSeconds: ReadField = (value) => {
  const ms = typeof value === "string" ? parseDurationMs(value, "smhd") : undefined;
  const seconds = ms === undefined ? value : ms / 1_000;
  return typeof seconds === "number" ? wholeNumber(Math.ceil(seconds)) : undefined;
};

/** By field; others are shown as they are. */
const shownFields: Readonly<Record<string, ReadField>> = {
  stepId: wholeNumber,
  targetStep: wholeNumber,
  concurrent: wholeNumber,
  stepName: textOnly,
  stepType: textOnly,
  sleepFor: wholeSeconds,
  sleepUntil: wholeSeconds,
  waitEventId: textOnly,
  callUrl: textOnly,
  callMethod: textOnly,
  callBody: textOnly,
};
