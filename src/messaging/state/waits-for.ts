/** What an unfinished message waits for, in words (the answer to a look-up of the message). */
import type { Message } from "./message.ts";
import type { MessagingState } from "./messaging-state.ts";
import { driftOf, type Moment } from "./moment.ts";
import { messageState } from "./states.ts";

/** A sentence without a full stop. */
export function waitsFor(state: MessagingState, message: Message, now: Moment): string {
  const { list, envelope } = message;
  const { queueName, flowControl } = envelope.fields;
  if (message.state === messageState.cancelRequested) return "It is being called, and is cancelled when the call ends";
  if (message.state === messageState.active) return "It is being called";
  if (message.isTimed) {
    const what = message.state === messageState.retry ? "its next attempt" : "its time";
    return `It waits for ${what}, ${new Date(message.dueMs).toISOString()}`;
  }
  if (list === undefined) return "It waits to be on the disk";
  const queue = state.queueOf(message);
  if (queue !== undefined && (list === queue.waiting || list === queue.held || list === queue.excess)) {
    if (queue.record.isPaused) return `It waits for the queue ${queueName} to be resumed`;
    return `It waits for its turn in the queue ${queueName}`;
  }
  const key = state.flowKeyOf(message);
  if (key !== undefined && list === key.waiting) {
    if (key.isPaused) return `It waits for the flow-control key ${flowControl?.key} to be resumed`;
    const roomMs = key.nextRoomMs(now.passedMs);
    return roomMs === undefined
      ? `It waits for the parallelism of the flow-control key ${flowControl?.key}`
      : `It waits for the rate of the flow-control key ${flowControl?.key}, until ${new Date(roomMs - driftOf(now)).toISOString()}`;
  }
  return `It waits for ${list.reason}`;
}
