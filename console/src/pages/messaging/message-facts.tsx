/** What log entries, messages and dead letters say of a message, and how the pages show it. */
import type { ComponentChildren } from "preact";
import { durationText } from "../../parts/format.ts";
import { Facts, type FactsRow } from "../../parts/page.tsx";
import { page } from "./places.ts";

export type HeaderLists = Readonly<Record<string, readonly string[]>>;

export interface MessageFields {
  readonly messageId: string;
  readonly url: string;
  readonly method: string;
  readonly header: HeaderLists;
  readonly maxRetries: number;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly scheduleId?: string;
  readonly queueName?: string;
  readonly callback?: string;
  readonly failureCallback?: string;
  readonly callerIp?: string;
  readonly labels?: readonly string[];
  readonly flowControlKey?: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Seconds. */
  readonly period?: number;
  readonly timeout?: number;
  readonly retryDelayExpression?: string;
}

export interface LogEntry extends MessageFields {
  readonly time: number;
  readonly state: string;
  /** Base64, or the replacement of a hidden body. */
  readonly body?: string;
  readonly nextDeliveryTime?: number;
  readonly error?: string;
  readonly responseStatus?: number;
  readonly responseBody?: string;
  readonly responseHeaders?: HeaderLists;
}

/** A log entry has no id. */
export function entryKey({ messageId, state, time }: LogEntry): string {
  return `${messageId} ${state} ${time}`;
}

/** States in which a message waits or is called. */
export function isUnfinished(state: string): boolean {
  return ["CREATED", "ACTIVE", "ERROR", "RETRY", "CANCEL_REQUESTED"].includes(state);
}

export function FactsOfMessage({
  tenant,
  message,
  more = [],
}: {
  tenant: string;
  message: MessageFields;
  more?: readonly FactsRow[];
}) {
  const { queueName, scheduleId, topicName, flowControlKey, labels = [] } = message;
  const linkTo = (name: string | undefined, ...segments: readonly string[]): ComponentChildren =>
    name === undefined ? undefined : (
      <a href={page(tenant, ...segments)}>
        <bdi>{name}</bdi>
      </a>
    );
  return (
    <Facts
      rows={[
        ["Destination", <bdi key="url">{`${message.method} ${message.url}`}</bdi>],
        ...more,
        ["Queue", linkTo(queueName, "queues", queueName ?? "")],
        ["Schedule", linkTo(scheduleId, "schedules", scheduleId ?? "")],
        ["URL group", linkTo(topicName, "url-groups", topicName ?? "")],
        ["Endpoint", message.endpointName],
        ["Flow control", linkTo(flowControlKey, "flow-control", flowControlKey ?? "")],
        ["Limits of the key", flowControlKey === undefined ? undefined : limitsText(message)],
        ["Labels", labels.length === 0 ? undefined : <LabelLinks key="labels" tenant={tenant} labels={labels} />],
        ["Retries", message.maxRetries],
        ["Retry delay", message.retryDelayExpression],
        ["Timeout", message.timeout === undefined ? undefined : durationText(message.timeout)],
        ["Callback", message.callback === undefined ? undefined : <bdi key="callback">{message.callback}</bdi>],
        [
          "Failure callback",
          message.failureCallback === undefined ? undefined : <bdi key="failure">{message.failureCallback}</bdi>,
        ],
        ["Published by", message.callerIp],
      ]}
    />
  );
}

function LabelLinks({ tenant, labels }: { tenant: string; labels: readonly string[] }) {
  return (
    <>
      {labels.map((label, index) => (
        <span key={label}>
          {index > 0 && ", "}
          <a href={`${page(tenant, "messages")}?label=${encodeURIComponent(label)}`}>
            <bdi>{label}</bdi>
          </a>
        </span>
      ))}
    </>
  );
}

export function limitsText({
  parallelism,
  rate,
  period,
}: Pick<MessageFields, "parallelism" | "rate" | "period">): string {
  const parts = [
    ...(parallelism === undefined || parallelism === 0 ? [] : [`${parallelism} at a time`]),
    ...(rate === undefined || rate === 0 ? [] : [`${rate} per ${durationText((period ?? 1) * 1_000)}`]),
  ];
  return parts.join(", ") || "no limits";
}
