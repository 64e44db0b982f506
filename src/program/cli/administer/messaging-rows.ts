/** `larder messages`, `larder dlq`, `larder schedules` and `larder runs`, as rows of the table: the API of messaging on the command line. */
import type { CommandOption, CommandRow } from "../command-row.ts";
import { devOption, jsonOption } from "../command-row.ts";

/** A kind of items of a messaging user. */
export interface Resource {
  /** The first word of its commands. The list is `<word> list`, or the word alone if nothing else can be done. */
  readonly word: string;
  /** Absent: they are not listed. */
  readonly list?: ItemList;
  /** Several words, for sentences. */
  readonly items: string;
  readonly actions: readonly ItemAction[];
}

export interface ItemList {
  /** The path of its list, with its query. */
  readonly path: string;
  /** The field of the answer that has the items; absent: the answer is the list, in one page. */
  readonly field?: string;
  /** The heading of each column, and the field of an item; a field that ends in `At`, `Time` or `time` is a time. */
  readonly columns: readonly (readonly [heading: string, field: string])[];
}

export interface ItemAction {
  readonly word: string;
  readonly method: "POST" | "DELETE";
  /** The path without the id, which follows it. */
  readonly path: string;
  /** The part of the path after the id. */
  readonly end?: string;
  readonly operand: string;
  readonly meaning: string;
  /** The line after it is done, before the id. */
  readonly done: string;
  readonly exampleId: string;
}

const user: CommandOption = {
  name: "user",
  flag: "--user",
  argument: "<name>",
  meaning: "the messaging user; by default the first",
};

const count: CommandOption = {
  name: "count",
  flag: "--count",
  argument: "<count>",
  meaning: "at most so many; 100 by default",
};

const message = { operand: "<messageId>", exampleId: "msg_a1b2c3" };
const letter = { operand: "<dlqId>", exampleId: "1764000000000-0" };
const schedule = { operand: "<scheduleId>", exampleId: "nightly" };
const run = { operand: "<workflowRunId>", exampleId: "wfr_a1b2c3" };

export const resources: readonly Resource[] = [
  {
    word: "logs",
    items: "log entries, latest first,",
    list: {
      // Without the bodies, which JSON would show too.
      path: "/v2/logs?trimBody=0",
      field: "logs",
      columns: [
        ["time", "time"],
        ["message id", "messageId"],
        ["state", "state"],
        ["status", "responseStatus"],
        ["url", "url"],
        ["error", "error"],
      ],
    },
    actions: [],
  },
  {
    word: "messages",
    items: "messages",
    actions: [
      {
        ...message,
        word: "retry",
        method: "POST",
        path: "/v2/messages/",
        end: "/retry",
        meaning: "makes the next attempt of a waiting message due at once",
        done: "due now",
      },
      {
        ...message,
        word: "cancel",
        method: "DELETE",
        path: "/v2/messages/",
        meaning: "cancels a message",
        done: "cancelled",
      },
    ],
  },
  {
    word: "dlq",
    items: "dead letters",
    list: {
      path: "/v2/dlq",
      field: "messages",
      columns: [
        ["dlq id", "dlqId"],
        ["created", "createdAt"],
        ["status", "responseStatus"],
        ["destination", "url"],
      ],
    },
    actions: [
      {
        ...letter,
        word: "retry",
        method: "POST",
        path: "/v2/dlq/retry/",
        meaning: "publishes a dead letter as a new message",
        done: "published again",
      },
      {
        ...letter,
        word: "delete",
        method: "DELETE",
        path: "/v2/dlq/",
        meaning: "deletes a dead letter",
        done: "deleted",
      },
    ],
  },
  {
    word: "schedules",
    items: "schedules",
    list: {
      path: "/v2/schedules",
      columns: [
        ["schedule id", "scheduleId"],
        ["cron", "cron"],
        ["paused", "isPaused"],
        ["next", "nextScheduleTime"],
        ["destination", "destination"],
      ],
    },
    actions: [
      {
        ...schedule,
        word: "pause",
        method: "POST",
        path: "/v2/schedules/",
        end: "/pause",
        meaning: "pauses a schedule; times that pass meanwhile are skipped",
        done: "paused",
      },
      {
        ...schedule,
        word: "resume",
        method: "POST",
        path: "/v2/schedules/",
        end: "/resume",
        meaning: "resumes a paused schedule",
        done: "resumed",
      },
      {
        ...schedule,
        word: "run",
        method: "POST",
        path: "/v2/schedules/",
        end: "/run",
        meaning: "publishes the message of a schedule now; its next time stays",
        done: "published",
      },
      {
        ...schedule,
        word: "delete",
        method: "DELETE",
        path: "/v2/schedules/",
        meaning: "deletes a schedule",
        done: "deleted",
      },
    ],
  },
  {
    word: "runs",
    items: "workflow runs",
    list: {
      path: "/v2/workflows/logs?groupBy=workflowRunId",
      field: "runs",
      columns: [
        ["run id", "workflowRunId"],
        ["state", "workflowState"],
        ["created", "workflowRunCreatedAt"],
        ["url", "workflowUrl"],
      ],
    },
    actions: [
      {
        ...run,
        word: "cancel",
        method: "DELETE",
        path: "/v2/workflows/runs/",
        meaning: "cancels a workflow run",
        done: "cancelled",
      },
    ],
  },
];

export const messagingRows: readonly CommandRow[] = resources.flatMap(rowsOf);

function rowsOf({ word, items, list, actions }: Resource): readonly CommandRow[] {
  const shared = { group: "Messaging", defaults: "serve" } as const;
  const listWords = actions.length === 0 ? word : `${word} list`;
  const listRow = (of: ItemList): CommandRow => ({
    ...shared,
    words: listWords,
    operands: [],
    options: [count, user, devOption, jsonOption],
    meaning: `lists the ${items} of a messaging user of the running server`,
    example: `larder ${listWords}`,
    async run({ run, options, print }) {
      const { listItems } = await import("./messaging.ts");
      for (const line of await listItems(run, of, options)) print(line);
      return 0;
    },
  });
  return [
    ...(list === undefined ? [] : [listRow(list)]),
    ...actions.map(
      (action): CommandRow => ({
        ...shared,
        words: `${word} ${action.word}`,
        operands: [action.operand],
        options: [user, devOption, jsonOption],
        meaning: action.meaning,
        example: `larder ${word} ${action.word} ${action.exampleId}`,
        async run({ run, operands: [id = ""], options, print }) {
          const { actOnItem } = await import("./messaging.ts");
          for (const line of await actOnItem(run, { action, id, options })) print(line);
          return 0;
        },
      }),
    ),
  ];
}
