/**
 * What a person who watches messaging is told (program/events/). An engine
 * without a watcher builds no facts, so that watching costs nothing when off.
 */

import type { EnvelopeFields } from "../options/envelope.ts";
import { plannedStep, readStep } from "../workflow/step-text.ts";
import type { DeliveryResult } from "./delivery.ts";

export interface MessagingWatcher {
  /** A call of a destination has ended. */
  called(call: {
    readonly message: string;
    readonly url: string;
    readonly method: string;
    /** Of the answer; undefined: none came, and `failure` says why. */
    readonly status: number | undefined;
    readonly failure: string | undefined;
    readonly durationMs: number;
  }): void;
  retryPlanned(retry: {
    readonly message: string;
    readonly url: string;
    /** Its number among `retriesMax`, from 1. */
    readonly retry: number;
    readonly retriesMax: number;
    readonly dueMs: number;
  }): void;
  deadLettered(letter: { readonly message: string; readonly url: string; readonly reason: string }): void;
  scheduleFired(firing: {
    readonly schedule: string;
    readonly destination: string;
    readonly messageCount: number;
    /** Empty: the messages were published. */
    readonly error: string;
    readonly nextMs: number;
  }): void;
  /** A run has the result of a step. Number and name are unknown if the entry has none. */
  stepDone(step: { readonly run: string; readonly step: number | undefined; readonly name: string | undefined }): void;
  runEnded(end: {
    readonly run: string;
    readonly url: string;
    readonly state: "success" | "failed" | "canceled";
    readonly durationMs: number;
  }): void;
}

/** Status and failure of a result. */
export function endOf(result: DeliveryResult): { status: number | undefined; failure: string | undefined } {
  return result.kind === "answer"
    ? { status: result.status, failure: undefined }
    : { status: result.status, failure: result.text };
}

interface AcceptedMessage {
  readonly fields: EnvelopeFields;
  readonly bytes: Buffer;
}

/** Longer entries are not parsed for the name of their step. */
const NAMED_ENTRY_BYTES_MAX = 64 * 1024;

/** Reports a message that has the result of a step, and no other message of a run: neither a plan nor its first entry. */
export function reportStep(watcher: MessagingWatcher, { fields, bytes }: AcceptedMessage): void {
  const { workflow } = fields;
  if (workflow?.runId === undefined || workflow.isInit === true) return;
  if (workflow.callType !== "step") return;
  const entry = bytes.length > NAMED_ENTRY_BYTES_MAX ? undefined : readStep(bytes);
  if (entry !== undefined && plannedStep(entry) !== undefined) return;
  const { stepId, stepName } = entry ?? {};
  watcher.stepDone({
    run: workflow.runId,
    step: typeof stepId === "number" ? stepId : undefined,
    name: typeof stepName === "string" ? stepName : undefined,
  });
}
