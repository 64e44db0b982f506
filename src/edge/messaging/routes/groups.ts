/** URL groups, which paths call topics (C2, C16, C.topics). */

import { canonicalName } from "../../../kernel/header-name.ts";
import {
  badRequest,
  checkHeaderName,
  checkHeaderValue,
  type Endpoint,
  inField,
  isForwarded,
  notFound,
} from "../../../messaging/mod.ts";
import { checkDestination } from "../destination-target.ts";
import { checkIdentifier } from "../identifier-field.ts";
import { fieldOf, isJsonObject, type JsonObject, optionalText, readJsonObject, wrongType } from "../json-body.ts";
import { readNamePage } from "../name-page.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";
import { groupView } from "../views/management.ts";

export const groupRoutes = messagingRows([
  {
    id: "listUrlGroups",
    rule: "C",
    method: "GET",
    template: "/v2/topics",
    summary: "lists the URL groups",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: list,
  },
  {
    id: "getUrlGroup",
    rule: "C",
    method: "GET",
    template: "/v2/topics/:urlGroupName",
    summary: "returns a URL group",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: getGroup,
  },
  {
    id: "setUrlGroupHeaders",
    rule: "C16",
    method: "PATCH",
    template: "/v2/topics/:urlGroupName",
    summary: "sets the headers of every message to the group: `{headers: {name: value or list}}`",
    isRateLimited: true,
    run: setHeaders,
  },
  {
    id: "deleteUrlGroup",
    rule: "C",
    method: "DELETE",
    template: "/v2/topics/:urlGroupName",
    summary: "deletes a URL group",
    isRateLimited: true,
    run: deleteGroup,
  },
  {
    id: "addEndpoints",
    rule: "C2",
    method: "POST",
    template: "/v2/topics/:urlGroupName/endpoints",
    summary:
      "adds endpoints, `{endpoints: [{url, name}]}`, or replaces those with the same url or name; creates the group if needed",
    isRateLimited: true,
    run: addEndpoints,
  },
  {
    id: "removeEndpoints",
    rule: "C",
    method: "DELETE",
    template: "/v2/topics/:urlGroupName/endpoints",
    summary: "removes endpoints by url or name; removing the last one deletes the group",
    isRateLimited: true,
    run: removeEndpoints,
  },
]);

function list({ api, query }: MessagingCall): MessagingAnswer {
  const page = readNamePage(query);
  return { value: (page === undefined ? api.groups : api.groupPage(page)).map(groupView) };
}

const WANTED = "a JSON object with a list endpoints of objects with url and name";

/** C2 */
async function addEndpoints(call: MessagingCall): Promise<MessagingAnswer> {
  const [name = ""] = call.names;
  checkIdentifier("urlGroupName", name);
  const endpoints = readEndpoints(call.request.body).map((fields, index): Endpoint => {
    const { url, name: endpointName } = namesOf(fields, index);
    if (url === undefined) throw badRequest(`endpoints[${index}].url is missing`);
    const checked = checkUrl(call, url, index);
    return endpointName === undefined ? { url: checked } : { url: checked, name: endpointName };
  });
  await call.api.addEndpoints(name, endpoints);
  return ok;
}

function checkUrl({ refusalOf }: MessagingCall, url: string, index: number): string {
  const checked = /^https?:/i.test(url) ? checkDestination(url, refusalOf) : undefined;
  if (checked === undefined) {
    throw badRequest(
      `Invalid value for endpoints[${index}].url: ${JSON.stringify(url.slice(0, 100))}: a URL starts with http:// or https://`,
    );
  }
  return checked;
}

async function removeEndpoints({ api, names, request }: MessagingCall): Promise<MessagingAnswer> {
  const [name = ""] = names;
  const endpoints = readEndpoints(request.body).map((fields, index) => {
    const wanted = namesOf(fields, index);
    if (wanted.url === undefined && wanted.name === undefined) {
      throw badRequest(`endpoints[${index}] has neither url nor name`);
    }
    return wanted;
  });
  await api.removeEndpoints(name, endpoints);
  return ok;
}

function readEndpoints(body: Buffer): readonly JsonObject[] {
  const endpoints = fieldOf(readJsonObject(body, WANTED), "endpoints");
  if (endpoints === undefined) throw badRequest("endpoints is missing");
  if (!Array.isArray(endpoints) || endpoints.length === 0 || !endpoints.every(isJsonObject)) {
    throw wrongType("endpoints", "a list of one or more objects with url and name");
  }
  return endpoints;
}

function namesOf(fields: JsonObject, index: number): { readonly url?: string; readonly name?: string } {
  const url = optionalText(fields, "url", `endpoints[${index}].url`);
  const name = optionalText(fields, "name", `endpoints[${index}].name`);
  return {
    ...(url === undefined || url === "" ? {} : { url }),
    ...(name === undefined || name === "" ? {} : { name }),
  };
}

function getGroup({ api, names }: MessagingCall): MessagingAnswer {
  const [name = ""] = names;
  const group = api.group(name);
  if (group === undefined) throw groupMissing(name);
  return { value: groupView(group) };
}

/** Succeeds if the group does not exist. */
async function deleteGroup({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [name = ""] = names;
  await api.deleteGroup(name);
  return ok;
}

/** C16 */
async function setHeaders({ api, names, request }: MessagingCall): Promise<MessagingAnswer> {
  const [name = ""] = names;
  const headers = fieldOf(readJsonObject(request.body, "a JSON object with headers"), "headers");
  if (headers === undefined) throw badRequest("headers is missing");
  if (!isJsonObject(headers)) throw wrongType("headers", "an object");
  if (!(await api.setGroupHeaders(name, Object.entries(headers).map(readHeader)))) throw groupMissing(name);
  return ok;
}

function readHeader([name, value]: [string, unknown]): readonly [string, string | readonly string[]] {
  inField("headers", () => checkHeaderName(name));
  const lowerName = name.toLowerCase();
  // A message has its own Content-Type; that of the group is for messages without one.
  if (lowerName !== "content-type" && !isForwarded(lowerName)) {
    throw badRequest(`Invalid value for headers: ${canonicalName(name)} is set by the delivery itself`);
  }
  const texts = typeof value === "string" ? [value] : value;
  if (!Array.isArray(texts) || !texts.every((text): text is string => typeof text === "string")) {
    throw wrongType(`headers.${name}`, "a string or a list of strings");
  }
  for (const text of texts) inField("headers", () => checkHeaderValue(name, text));
  return [name, typeof value === "string" ? value : texts];
}

function groupMissing(name: string): unknown {
  return notFound(`URL group ${name} not found`);
}
