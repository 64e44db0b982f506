/** Records of the resources of a user: queues, schedules, URL groups, flow-control keys, signing keys. */
import type { FlowKey, FlowKeyRecord } from "../state/flow-key.ts";
import type { Queue, QueueRecord } from "../state/queue.ts";
import type { Schedule, ScheduleRecord } from "../state/schedule.ts";
import type { UrlGroup } from "../state/url-group.ts";
import type { SigningKeys, User } from "../state/user.ts";
import { readJson, readText, writeJson, writeText } from "./fields.ts";
import { NO_EVENT, type RecordRows } from "./row.ts";

interface Named {
  readonly name: string;
}

interface SigningKeysFields {
  readonly keys: SigningKeys;
  /** The keys that the operator configured. */
  readonly given: SigningKeys;
}

export interface ResourceKinds {
  queuePut(fields: { readonly record: QueueRecord }): Queue;
  queueRemoved(fields: Named): void;
  schedulePut(fields: { readonly record: ScheduleRecord; readonly body: Buffer }): Schedule;
  scheduleRemoved(fields: { readonly id: string }): void;
  /** Does not change the body. */
  scheduleChanged(fields: { readonly id: string; readonly change: Partial<ScheduleRecord> }): void;
  groupPut(fields: { readonly group: UrlGroup }): void;
  groupRemoved(fields: Named): void;
  flowKeyPut(fields: { readonly record: FlowKeyRecord }): FlowKey;
  signingKeysPut(fields: SigningKeysFields): void;
  /** An unused key is removed. */
  flowKeyRemoved(fields: { readonly key: string }): void;
}

export const resourceRecords: RecordRows<User, ResourceKinds> = {
  queuePut: {
    code: 30,
    write: (frame, { record }) => writeJson(frame, record),
    read: (reader) => ({ record: readJson<QueueRecord>(reader) }),
    apply: ({ state, user }, { record }) => state.putQueue(user, record),
    event: NO_EVENT,
  },
  queueRemoved: {
    code: 31,
    write: (frame, { name }) => writeText(frame, name),
    read: (reader) => ({ name: readText(reader) }),
    apply: ({ state, user }, { name }) => state.removeQueue(user, name),
    event: NO_EVENT,
  },
  schedulePut: {
    code: 32,
    write(frame, { record, body }) {
      writeJson(frame, record);
      frame.buffer(body);
    },
    read: (reader) => ({ record: readJson<ScheduleRecord>(reader), body: reader.buffer() }),
    apply: ({ state, user, isReplay }, { record, body }) =>
      state.putSchedule(user, record, isReplay ? Buffer.from(body) : body),
    event: NO_EVENT,
  },
  scheduleRemoved: {
    code: 33,
    write: (frame, { id }) => writeText(frame, id),
    read: (reader) => ({ id: readText(reader) }),
    apply: ({ state, user }, { id }) => state.removeSchedule(user, id),
    event: NO_EVENT,
  },
  scheduleChanged: {
    code: 34,
    write(frame, { id, change }) {
      writeText(frame, id);
      writeJson(frame, change);
    },
    read: (reader) => ({ id: readText(reader), change: readJson<Partial<ScheduleRecord>>(reader) }),
    apply: ({ state, user }, { id, change }) => state.changeSchedule(user, id, change),
    event: NO_EVENT,
  },
  groupPut: {
    code: 35,
    write: (frame, { group }) => writeJson(frame, group),
    read: (reader) => ({ group: readJson<UrlGroup>(reader) }),
    apply: ({ state, user }, { group }) => state.putGroup(user, group),
    event: NO_EVENT,
  },
  groupRemoved: {
    code: 36,
    write: (frame, { name }) => writeText(frame, name),
    read: (reader) => ({ name: readText(reader) }),
    apply: ({ state, user }, { name }) => state.removeGroup(user, name),
    event: NO_EVENT,
  },
  flowKeyPut: {
    code: 37,
    write: (frame, { record }) => writeJson(frame, record),
    read: (reader) => ({ record: readJson<FlowKeyRecord>(reader) }),
    apply: ({ state, user }, { record }) => state.putFlowKey(user, record),
    event: NO_EVENT,
  },
  signingKeysPut: {
    code: 38,
    write: (frame, { keys, given }) => writeJson(frame, { keys, given }),
    read: (reader) => readJson<SigningKeysFields>(reader),
    apply: ({ state, user }, { keys, given }) => state.putSigningKeys(user, keys, given),
    event: NO_EVENT,
  },
  flowKeyRemoved: {
    code: 39,
    write: (frame, { key }) => writeText(frame, key),
    read: (reader) => ({ key: readText(reader) }),
    apply: ({ state, user }, { key }) => state.removeFlowKey(user, state.flowKey(user, key)),
    event: NO_EVENT,
  },
};
