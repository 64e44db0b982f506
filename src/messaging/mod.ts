/**
 * The interface of messaging: everything that other rooms may import, in addition
 * to the two light entries `settings.ts` (limits and keys, without the engine) and
 * `history.ts` (records to events, for the history's thread).
 *
 * An area creates one `Messaging`; routes call the API of a user, `Messaging.user`.
 * The other exports are types and functions of that API: headers, filters, views.
 */
export type {
  AttributeName,
  Filter,
  FlowKeyView,
  LogEntry,
  LoggedMessage,
  LogPage,
  LogReader,
  MessagingApi,
  Notified,
  Page,
  QueueView,
  RunFilter,
  RunsFilter,
  ScheduleView,
  StartedRun,
} from "./api.ts";
export { BODY_DAMAGED, BodyDamaged, type BodySource } from "./bodies/body.ts";
export { findDamagedBodies } from "./bodies/body-check.ts";
export { moveBodies } from "./bodies/cleaning.ts";
export { type MovedBody, movedBodies, movedBytes } from "./bodies/moved-bodies.ts";
export type { DeliveryDone, DeliveryRequest, HeaderSpelling, Outbound } from "./delivery/delivery.ts";
export type { HeaderTemplate } from "./delivery/header-template.ts";
export type { MessagingWatcher } from "./delivery/watcher.ts";
export type { Engine } from "./engine.ts";
export { badRequest, DailyLimitExceeded, inField, MessagingFailure, notFound } from "./failure.ts";
export { logEntry } from "./history.ts";
export { defaultLimits, type MessagingLimits, RESPONSE_BYTES_MAX } from "./limits.ts";
export { Messaging, type MessagingOptions } from "./messaging.ts";
export type { CallbackPlan, EnvelopeFields, Redaction } from "./options/envelope.ts";
export { InvalidFlowControl, PERIOD_MS_MAX, parseCount, parsePeriodMs } from "./options/flow-control-value.ts";
export { checkHeaderName, checkHeaderValue, isForwarded } from "./options/forwarded-headers.ts";
export { type HeaderLists, headerLists, headerText } from "./options/header-lists.ts";
export { headerFamilies, headerRows } from "./options/header-rows.ts";
export {
  callbackOptions,
  callbackSettings,
  type GivenHeaders,
  isKnownHeader,
  readOverrides,
  readPublishOptions,
  readScheduleOptions,
} from "./options/headers.ts";
export { identifierRule, isIdentifier } from "./options/identifiers.ts";
export {
  type Published,
  type PublishOptions,
  type PublishOutcome,
  type PublishRequest,
  SharedEnvelope,
} from "./options/publish-request.ts";
export { joinedRedaction, redactedHeaders, redactedText } from "./options/redaction.ts";
export { checkRunId } from "./options/workflow-options.ts";
export { MovedUser } from "./records/moved-user.ts";
export type { NamePage } from "./records/name-page.ts";
export { replayFrame } from "./records/replay.ts";
export { comparedFrames, snapshotFrames } from "./records/snapshot.ts";
export { type DeadLetter, deadLetterIdText } from "./state/dead-letters.ts";
export { PERIOD_MS_DEFAULT } from "./state/flow-key.ts";
export { messageId } from "./state/message-id.ts";
export { MessagingState } from "./state/messaging-state.ts";
export type { Waiter } from "./state/run.ts";
export { type Run, type RunState, runState, runStateNames } from "./state/run.ts";
export { type MessageState, messageState, messageStateName, stateRows, statesInProgress } from "./state/states.ts";
export type { Endpoint, UrlGroup } from "./state/url-group.ts";
export type { User } from "./state/user.ts";
export { type RunLog, runLogOf } from "./workflow/run-log.ts";
export { plainTrigger } from "./workflow/trigger-config.ts";
export { hiddenOfWait } from "./workflow/waits.ts";
