/** Flow-control keys and parallelism (C7, C10, C12, C13, C17 to C19, C.keys). */
import { badRequest, InvalidFlowControl, notFound, parseCount, parsePeriodMs } from "../../../messaging/mod.ts";
import { checkIdentifier } from "../identifier-field.ts";
import { readNamePage } from "../name-page.ts";
import { Parameters } from "../parameters.ts";
import { type MessagingAnswer, type MessagingCall, type MessagingRoute, messagingRows, ok } from "../route.ts";
import { flowKeyView } from "../views/management.ts";

export const flowControlRoutes = messagingRows([
  {
    id: "listFlowControlKeys",
    rule: "C17",
    method: "GET",
    template: "/v2/flowControl",
    summary: "lists the flow-control keys; with `search` those whose names contain it",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: list,
  },
  {
    id: "getFlowControlKey",
    rule: "C",
    method: "GET",
    template: "/v2/flowControl/:flowControlKey",
    summary: "returns a flow-control key",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: get,
  },
  {
    id: "pauseFlowControlKey",
    rule: "C13",
    method: "POST",
    template: "/v2/flowControl/:flowControlKey/pause",
    summary: "pauses a key: its messages wait",
    isRateLimited: true,
    run: change((call, key) => call.api.pauseFlowKey(key, true)),
  },
  {
    id: "resumeFlowControlKey",
    rule: "C",
    method: "POST",
    template: "/v2/flowControl/:flowControlKey/resume",
    summary: "resumes a key",
    isRateLimited: true,
    run: change((call, key) => call.api.pauseFlowKey(key, false)),
  },
  {
    id: "pinFlowControlKey",
    rule: "C12",
    method: "POST",
    template: "/v2/flowControl/:flowControlKey/pin",
    summary: "pins `parallelism`, or `rate` and `period` in seconds, whatever messages set",
    isRateLimited: true,
    run: change(pin),
  },
  {
    id: "unpinFlowControlKey",
    rule: "C",
    method: "POST",
    template: "/v2/flowControl/:flowControlKey/unpin",
    summary: "lets messages set the limits again: `parallelism=true`, `rate=true`",
    isRateLimited: true,
    run: change(unpin),
  },
  {
    id: "resetRateFlowControlKey",
    rule: "C10",
    method: "POST",
    template: "/v2/flowControl/:flowControlKey/resetRate",
    summary: "starts a new period of the rate",
    isRateLimited: true,
    run: change((call, key) => call.api.resetFlowKey(key, false)),
  },
  {
    id: "resetFlowControlKey",
    rule: "C18",
    method: "POST",
    template: "/v2/flowControl/:flowControlKey/reset",
    summary: "starts a new period of the rate and no longer counts the calls in progress",
    isRateLimited: true,
    run: change((call, key) => call.api.resetFlowKey(key, true)),
  },
  {
    id: "getGlobalParallelism",
    rule: "C19",
    method: "GET",
    template: "/v2/globalParallelism",
    summary: "returns the limit of concurrent deliveries and their number",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: getParallelism,
  },
  {
    id: "getWaitlist",
    rule: "C7",
    method: "GET",
    template: "/v2/keys/rotate",
    summary: "returns the number of messages that wait for the key `flowControlKey`",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: getWaitlist,
  },
]);

/** C17 */
function list({ api, query }: MessagingCall): MessagingAnswer {
  const page = readNamePage(query);
  const search = new Parameters(query).text("search");
  const keys = page === undefined ? api.flowKeys(search) : api.flowKeyPage({ ...page, search });
  return { value: keys.map(flowKeyView) };
}

function get({ api, names }: MessagingCall): MessagingAnswer {
  const [name = ""] = names;
  const key = api.flowKey(name);
  if (key === undefined) throw keyMissing(name);
  return { value: flowKeyView(key) };
}

/** C7: the path has no place for the key, so the key is in the query. */
function getWaitlist({ api, query }: MessagingCall): MessagingAnswer {
  const name = new Parameters(query).text("flowControlKey");
  if (name === undefined) throw badRequest("flowControlKey is missing in the query");
  const key = api.flowKey(name);
  if (key === undefined) throw keyMissing(name);
  return { value: { flowControlKey: key.key, waitlistSize: key.waitingCount } };
}

/** C19 */
function getParallelism({ api }: MessagingCall): MessagingAnswer {
  const { max, count } = api.globalParallelism;
  return { value: { parallelismMax: max, parallelismCount: count } };
}

type Change = (call: MessagingCall, key: string) => Promise<void>;

function change(apply: Change): MessagingRoute["run"] {
  return async (call) => {
    const [key = ""] = call.names;
    checkIdentifier("flowControlKey", key);
    await apply(call, key);
    return ok;
  };
}

/** C12 */
function pin({ api, query }: MessagingCall, key: string): Promise<void> {
  const parameters = new Parameters(query);
  const parallelism = readLimit(parameters, "parallelism", (text) => parseCount("parallelism", text));
  const rate = readLimit(parameters, "rate", (text) => parseCount("rate", text));
  const periodMs = readLimit(parameters, "period", parsePeriodMs);
  if (parallelism === undefined && rate === undefined) {
    throw badRequest(
      periodMs === undefined
        ? "parallelism and rate are missing: give one of them"
        : "rate is missing: period is for a rate",
    );
  }
  return api.pinFlowKey(key, {
    ...(parallelism === undefined ? {} : { parallelism }),
    ...(rate === undefined ? {} : { rate }),
    ...(rate === undefined || periodMs === undefined ? {} : { periodMs }),
  });
}

function readLimit(parameters: Parameters, name: string, parse: (text: string) => number): number | undefined {
  const [text] = parameters.all(name);
  if (text === undefined) return undefined;
  try {
    return parse(text);
  } catch (thrown) {
    if (thrown instanceof InvalidFlowControl) throw badRequest(thrown.message);
    throw thrown;
  }
}

function unpin({ api, query }: MessagingCall, key: string): Promise<void> {
  const parameters = new Parameters(query);
  return api.unpinFlowKey(key, {
    parallelism: readFlag(parameters, "parallelism"),
    rate: readFlag(parameters, "rate"),
  });
}

function readFlag(parameters: Parameters, name: string): boolean {
  const text = parameters.text(name)?.toLowerCase() ?? "false";
  if (text !== "true" && text !== "false") throw badRequest(`Invalid value for ${name}: use true or false`);
  return text === "true";
}

function keyMissing(name: string): unknown {
  return notFound(`flow control key ${name} not found`);
}
