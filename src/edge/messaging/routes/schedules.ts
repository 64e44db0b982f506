/** Schedules (C1, C.schedules). */
import { badRequest, notFound, readScheduleOptions } from "../../../messaging/mod.ts";
import { callerIp } from "../caller-ip.ts";
import { destinationOf } from "../destination-target.ts";
import { readNamePage } from "../name-page.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";
import { scheduleView } from "../views/management.ts";
import { entriesOf, headersOf } from "./publish.ts";

/** `POST /v2/schedules/https://a.b/pause` creates a schedule for that URL, so a POST pauses only by an identifier. */
const pausing = (
  [
    ["PATCH", ""],
    ["POST", "ByPost"],
  ] as const
).flatMap(([method, idEnd]) =>
  messagingRows([
    {
      id: `pauseSchedule${idEnd}` as const,
      rule: "C",
      method,
      template: "/v2/schedules/:scheduleId/pause",
      summary: "pauses a schedule; times that pass meanwhile are skipped",
      isRateLimited: true,
      ...(method === "POST" && { isForIdentifiersOnly: true }),
      run: (call) => setPaused(call, true),
    },
    {
      id: `resumeSchedule${idEnd}` as const,
      rule: "C",
      method,
      template: "/v2/schedules/:scheduleId/resume",
      summary: "resumes a schedule",
      isRateLimited: true,
      ...(method === "POST" && { isForIdentifiersOnly: true }),
      run: (call) => setPaused(call, false),
    },
  ]),
);

export const scheduleRoutes = messagingRows([
  ...pausing,
  {
    id: "runSchedule",
    rule: "C",
    method: "POST",
    template: "/v2/schedules/:scheduleId/run",
    summary: "publishes the message of a schedule now; its next time stays",
    isRateLimited: true,
    isForIdentifiersOnly: true,
    run: runSchedule,
  },
  {
    id: "listSchedules",
    rule: "C",
    method: "GET",
    template: "/v2/schedules",
    summary: "lists the schedules",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: list,
  },
  {
    id: "getSchedule",
    rule: "C",
    method: "GET",
    template: "/v2/schedules/:scheduleId",
    summary: "returns a schedule",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: getSchedule,
  },
  {
    id: "deleteSchedule",
    rule: "C",
    method: "DELETE",
    template: "/v2/schedules/:scheduleId",
    summary: "deletes a schedule",
    isRateLimited: true,
    run: deleteSchedule,
  },
  {
    id: "putSchedule",
    rule: "C1",
    method: "POST",
    template: "/v2/schedules/*",
    summary:
      "publishes the body to a URL or a URL group at the times of Cron; replaces the schedule with the same Schedule-Id",
    isRateLimited: true,
    body: "message",
    run: putSchedule,
  },
]);

function list({ api, query }: MessagingCall): MessagingAnswer {
  const page = readNamePage(query);
  return { value: (page === undefined ? api.schedules : api.schedulePage(page)).map(scheduleView) };
}

/** C1 */
async function putSchedule(call: MessagingCall): Promise<MessagingAnswer> {
  const { options, cron, scheduleId } = readScheduleOptions(headersOf(call), call);
  const destination = destinationOf(call.rest, call.ownQuery.ofDestination, call.refusalOf);
  if (!destination.includes("://") && call.api.group(destination) === undefined) {
    throw badRequest(
      `Invalid destination: there is no URL group ${destination}, and a URL starts with http:// or https://`,
    );
  }
  const id = await call.api.putSchedule({
    ...(scheduleId === undefined ? {} : { id: scheduleId }),
    cron,
    destination,
    options,
    body: call.request.body,
    callerIp: callerIp(call.request.remoteAddress),
  });
  return { value: { scheduleId: id } };
}

function getSchedule({ api, names }: MessagingCall): MessagingAnswer {
  const [id = ""] = names;
  const schedule = api.schedule(id);
  if (schedule === undefined) throw scheduleMissing(id);
  return { value: scheduleView(schedule) };
}

async function deleteSchedule({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  if (!(await api.deleteSchedule(id))) throw scheduleMissing(id);
  return ok;
}

async function setPaused({ api, names }: MessagingCall, isPaused: boolean): Promise<MessagingAnswer> {
  const [id = ""] = names;
  if (!(await api.pauseSchedule(id, isPaused))) throw scheduleMissing(id);
  return ok;
}

async function runSchedule({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  const outcome = await api.runSchedule(id);
  if (outcome === undefined) throw scheduleMissing(id);
  return { value: entriesOf(outcome) };
}

function scheduleMissing(id: string): unknown {
  return notFound(`schedule ${id} not found`);
}
