/**
 * Schedules, queues, URL groups and flow-control keys as clients see them (C.schedules.record, C.queues.record,
 * C.topics.get, C17).
 */
import type { FlowKeyView, QueueView, ScheduleView, UrlGroup } from "../../../messaging/mod.ts";
import {
  callbackHeaderView,
  callbackSettingsView,
  flowControlView,
  headerView,
  labelsView,
  messageBodyView,
  redactFieldsView,
  secondsOf,
} from "./messages.ts";

export function scheduleView({ options, body, ...schedule }: ScheduleView): object {
  return {
    scheduleId: schedule.id,
    cron: schedule.cron,
    createdAt: schedule.createdAtMs,
    destination: schedule.destination,
    method: options.method,
    header: headerView(options),
    ...(body.length === 0 ? {} : messageBodyView(options, body)),
    retries: options.retriesMax,
    retryDelayExpression: options.retryDelay,
    delay: options.delayMs === undefined ? undefined : secondsOf(options.delayMs),
    timeout: options.timeoutMs,
    callback: options.callback?.url,
    callbackHeader: callbackHeaderView(options.callback, options),
    callbackSettings: callbackSettingsView(options.callback, options),
    failureCallback: options.failureCallback?.url,
    failureCallbackHeader: callbackHeaderView(options.failureCallback, options),
    failureCallbackSettings: callbackSettingsView(options.failureCallback, options),
    redactFields: redactFieldsView(options),
    callerIP: schedule.callerIp,
    callerIp: schedule.callerIp,
    isPaused: schedule.isPaused,
    queueName: options.queueName,
    ...labelsView(options),
    ...flowControlView(options),
    lastScheduleTime: schedule.lastFireMs === 0 ? undefined : schedule.lastFireMs,
    nextScheduleTime: schedule.nextFireMs === 0 ? undefined : schedule.nextFireMs,
    lastScheduleStates: schedule.lastStates.length === 0 ? undefined : Object.fromEntries(schedule.lastStates),
    error: schedule.error === "" ? undefined : schedule.error,
  };
}

export function queueView({ name, parallelism, isPaused, createdAtMs, updatedAtMs, lag }: QueueView): object {
  return { createdAt: createdAtMs, updatedAt: updatedAtMs, name, parallelism, lag, paused: isPaused };
}

export function groupView({ name, endpoints, headers, createdAtMs, updatedAtMs }: UrlGroup): object {
  return {
    name,
    endpoints,
    createdAt: createdAtMs,
    updatedAt: updatedAtMs,
    headers: headers === undefined ? undefined : headerMap(headers),
  };
}

function headerMap(headers: NonNullable<UrlGroup["headers"]>): object {
  const map: Record<string, string | readonly string[]> = Object.create(null);
  for (const [name, values] of headers) map[name] = values;
  return map;
}

/** Clients read `waitListSize` or `waitlistSize`, so both are present (C17). */
export function flowKeyView(key: FlowKeyView): object {
  return {
    flowControlKey: key.key,
    waitListSize: key.waitingCount,
    waitlistSize: key.waitingCount,
    parallelismMax: key.parallelism ?? 0,
    parallelismCount: key.inFlightCount,
    rateMax: key.rate ?? 0,
    rateCount: key.windowCount,
    ratePeriod: secondsOf(key.periodMs),
    ratePeriodStart: secondsOf(key.windowStartMs),
    isPaused: key.isPaused,
    isPinnedParallelism: key.isPinnedParallelism,
    isPinnedRate: key.isPinnedRate,
  };
}
