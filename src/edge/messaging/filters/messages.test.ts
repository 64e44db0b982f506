import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttributeName } from "../../../messaging/api.ts";
import { Parameters } from "../parameters.ts";
import { type FilterTarget, filterRows, readBulkPage, readFilter, readPage } from "./messages.ts";

function read(
  target: FilterTarget,
  query: string,
  { isChange = false, body }: { isChange?: boolean; body?: unknown } = {},
) {
  const bytes = body === undefined ? undefined : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return readFilter(new Parameters(query, bytes), { target, isChange, others: ["count"] });
}

function attributes(...rows: [AttributeName, string[]][]): object {
  return { attributes: new Map(rows) };
}

test("C6, C8: reads every filter", () => {
  const rows: [FilterTarget, string, object][] = [
    ["messages", "", attributes()],
    [
      "messages",
      "messageIds=msg_1,msg_2&messageIds=msg_3",
      { ids: ["msg_1", "msg_2", "msg_3"], attributes: new Map() },
    ],
    ["messages", "messageId=msg_1", attributes(["messageId", ["msg_1"]])],
    ["logs", "messageId=msg_1&messageIds=msg_2,msg_3", attributes(["messageId", ["msg_1", "msg_2", "msg_3"]])],
    ["dead letters", "dlqIds=1-0,2-0", { ids: ["1-0", "2-0"], attributes: new Map() }],
    [
      "logs",
      "url=https://a.test/?x=1,2,http://b.test",
      attributes(["url", ["https://a.test/?x=1,2", "http://b.test"]]),
    ],
    ["logs", "url=https%3A%2F%2Fa.test&url=https://b.test", attributes(["url", ["https://a.test", "https://b.test"]])],
    ["logs", "host=a.test,b.test", attributes(["host", ["a.test", "b.test"]])],
    ["messages", "path=/a,1,/b", attributes(["path", ["/a,1", "/b"]])],
    [
      "logs",
      "topicName=t&scheduleId=s&queueName=q1,q2",
      attributes(["topicName", ["t"]], ["scheduleId", ["s"]], ["queueName", ["q1", "q2"]]),
    ],
    ["logs", "label=a&label=b,c", attributes(["label", ["a", "b", "c"]])],
    ["logs", "labels=a,b&urls=https://a.test", attributes(["label", ["a", "b"]], ["url", ["https://a.test"]])],
    ["logs", "flowControlKey=k&callerIp=10.0.0.1", attributes(["flowControlKey", ["k"]], ["callerIp", ["10.0.0.1"]])],
    ["messages", "callerIP=::1", attributes(["callerIp", ["::1"]])],
    ["logs", "fromDate=1&toDate=2", { ...attributes(), fromMs: 1, toMs: 2 }],
    ["dead letters", "responseStatus=500,503&responseStatus=0", { ...attributes(), statuses: [500, 503, 0] }],
    ["logs", "state=DELIVERED", { ...attributes(), states: [4] }],
    ["logs", "state=IN_PROGRESS,canceled", { ...attributes(), states: [1, 2, 3, 7] }],
    ["logs", "state=CANCELLED", { ...attributes(), states: [7] }],
    ["logs", "unknown=1&url=&label=,", attributes()],
  ];
  for (const [target, query, filter] of rows) assert.deepEqual(read(target, query), filter, query);
  const tested = rows.map(([, query]) => query).join("&");
  for (const { name } of filterRows) {
    if (name !== "source" && !/^workflow|^failureFunction/.test(name)) assert.match(tested, new RegExp(`\\b${name}=`));
  }
});

test("C.filters: ids override all other filters", () => {
  assert.deepEqual(read("dead letters", "dlqIds=1-0&url=https://a.test&fromDate=5"), {
    ids: ["1-0"],
    attributes: new Map(),
  });
});

test("reads filters from a JSON body, as a value or a list, with null as absent", () => {
  assert.deepEqual(
    read("messages", "label=a", { isChange: true, body: { label: ["b"], queueName: "q", fromDate: 5, url: null } }),
    { ...attributes(["label", ["a", "b"]], ["queueName", ["q"]]), fromMs: 5 },
  );
});

test("a filter of workflow runs selects only their dead letters", () => {
  for (const [query, runs] of [
    ["source=workflow", {}],
    ["workflowRunId=wfr_1", { ids: ["wfr_1"] }],
    ["workflowUrl=https://a.test", { urls: ["https://a.test"] }],
    ["workflowCreatedAt=1", { createdAtMs: [1] }],
    ["source=workflow&failureFunctionState=CALLBACK_FAIL", { failureFunctionStates: ["CALLBACK_FAIL"] }],
  ] as const) {
    assert.deepEqual(read("dead letters", query), { attributes: new Map(), runs }, query);
  }
});

test("C.filters.body: a call that changes data refuses unknown and empty filters", () => {
  const rows: [FilterTarget, string, unknown, string][] = [
    ["messages", "labeel=a", undefined, "Unknown filter: labeel"],
    ["messages", "", { labeel: "a" }, "Unknown filter: labeel"],
    ["messages", "dlqIds=1-0", undefined, "Unknown filter: dlqIds"],
    ["dead letters", "host=a.test", undefined, "Unknown filter: host"],
    ["dead letters", "api=llm", undefined, "Unknown filter: api"],
    ["dead letters", "dlqIds=", undefined, "Invalid value for dlqIds: it must not be empty"],
    ["messages", "label=,", undefined, "Invalid value for label: it must not be empty"],
    ["messages", "", { messageIds: [] }, "Invalid value for messageIds: the list is empty"],
    ["messages", "", { label: [{}] }, "Invalid value for label: it must be a string, a number, or a list of them"],
    ["messages", "", "[1]", "Invalid body: send a JSON object with filters"],
    ["messages", "", "{", "Invalid body: send a JSON object with filters"],
    ["messages", "fromDate=yesterday", undefined, 'Invalid value for fromDate: "yesterday": it must be a whole number'],
    [
      "dead letters",
      "responseStatus=5xx",
      undefined,
      'Invalid value for responseStatus: "5xx": it must be a whole number',
    ],
    ["dead letters", "source=mail", undefined, "Invalid value for source: use workflow"],
    [
      "dead letters",
      "failureFunctionState=GONE",
      undefined,
      'Invalid value for failureFunctionState: "GONE": use one of CALLBACK_INPROGRESS, CALLBACK_SUCCESS, CALLBACK_FAIL, CALLBACK_CANCELED',
    ],
  ];
  for (const [target, query, body, text] of rows) {
    assert.throws(() => read(target, query, { isChange: true, body }), { kind: "bad request", text }, text);
  }
  assert.deepEqual(read("messages", "count=5", { isChange: true }), attributes());
});

test("refuses an unknown state and lists the known ones", () => {
  assert.throws(() => read("logs", "state=LOST"), {
    kind: "bad request",
    text: 'Invalid value for state: "LOST": use CREATED, ACTIVE, RETRY, ERROR, DELIVERED, FAILED, CANCEL_REQUESTED, CANCELLED or IN_PROGRESS',
  });
});

test("C6, C.pages: count, cursor and order of a page", () => {
  const bounds = { countDefault: 100, countMax: 1_000, orderDefault: "latest first" } as const;
  const rows: [string, object][] = [
    ["", { order: "latest first", count: 100 }],
    ["order=earliestFirst&count=7", { order: "earliest first", count: 7 }],
    [
      "order=latestFirst&count=5000&cursor=1725323658779-0",
      { order: "latest first", count: 1_000, cursor: "1725323658779-0" },
    ],
    ["cursor=&count=", { order: "latest first", count: 100 }],
  ];
  for (const [query, page] of rows) assert.deepEqual(readPage(new Parameters(query), bounds), page, query);
  for (const [query, text] of [
    ["order=random", 'Invalid value for order: "random": use earliestFirst or latestFirst'],
    ["count=0", "Invalid value for count: it must be 1 or more"],
    ["count=-1", 'Invalid value for count: "-1": it must be a whole number'],
  ] as const) {
    assert.throws(() => readPage(new Parameters(query), bounds), { kind: "bad request", text });
  }
});

test("C8, C.pages.bulk: a bulk change without a count applies to all matches", () => {
  assert.deepEqual(readBulkPage(new Parameters(""), 500), {});
  assert.deepEqual(readBulkPage(new Parameters("count=100&cursor=1-0"), 500), { countMax: 100, cursor: "1-0" });
});
