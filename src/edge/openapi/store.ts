/**
 * The parameters, bodies and answers of the routes of the store, for its OpenAPI
 * document: an entry for each row of `storeRoutes`, by its id.
 */
import { commands, findCommand } from "../../store/mod.ts";
import { type StoreOperationId, type StoreRoute, segmentOf, storeRoutes } from "../store/routes.ts";
import {
  type Answer,
  type AreaDescription,
  answer,
  bytesBody,
  capitalized,
  JSON_TYPE,
  jsonBody,
  type Operation,
  type OperationExample,
  type OperationMethod,
  openApiPath,
  type Parameter,
  type RequestBody,
  type Tag,
  TRANSPORT,
} from "./operation.ts";
import {
  anything,
  described,
  either,
  flag,
  integer,
  list,
  named,
  number,
  object,
  orNull,
  type Schema,
  text,
  words,
} from "./schema.ts";

type Described = Omit<Operation, "rule" | "summary" | "answers" | "token" | "isQueryTokenTaken"> & {
  readonly answers: readonly Answer[];
};

const RESP2 = "application/octet-stream";
const EVENTS = "text/event-stream";

const tags: readonly Tag[] = [
  { name: "Batches", description: "Several commands in one request", paths: ["/pipeline", "/multi-exec"] },
  {
    name: "Pub/Sub and MONITOR",
    description: "Messages of channels, and the commands that run, as streams of events",
    paths: ["/publish", "/subscribe", "/psubscribe", "/monitor"],
  },
  { name: "Commands", description: "One command in the path or in the body", paths: ["/"] },
];

/** Headers that select the format of the answer. */
export const storeHeaders: readonly Parameter[] = [
  {
    name: "Service-Encoding",
    in: "header",
    schema: words("base64"),
    description:
      "`base64`: every string of the answer is in base64, except an `OK` that is the whole reply. Other values are ignored. Alias: `Upstash-Encoding`",
  },
  {
    name: "Service-Response-Format",
    in: "header",
    schema: words("json", "resp2"),
    description:
      "`resp2`: the bytes of RESP2, not combined with base64; a transaction is always answered in JSON. Alias: `Upstash-Response-Format`",
  },
];

const command: Parameter = {
  name: "command",
  in: "path",
  schema: text,
  description: `The name of a command in upper or lower case: ${commands
    .filter(({ isAvailableOverHttp }) => isAvailableOverHttp)
    .map(({ fullName }) => fullName.toUpperCase())
    .join(", ")}`,
};
/** A command whose arguments may be in the path or the body. */
const commandWithArguments: Parameter = { ...command, example: "mget" };
const firstArguments: Parameter = {
  name: "arguments",
  in: "path",
  schema: text,
  description:
    "The first argument, percent-encoded; further arguments are further segments. The body and then the query are appended: `NAME=value` is two arguments, `NAME` one",
};
const channel: Parameter = {
  name: "channel",
  in: "path",
  schema: text,
  description: "A channel; further channels are further segments",
};
const accept: Parameter = { name: "Accept", in: "header", schema: words(EVENTS), isRequired: true };

const word = either(text, number, flag);
const oneCommand = list(word, { minItems: 1, description: "The name of a command and its arguments" });
const result: Answer = {
  status: 200,
  meaning: "The reply of the command",
  content: { [JSON_TYPE]: named("Result"), [RESP2]: anything },
};
const results: Answer = {
  status: 200,
  meaning: "A reply or error for each command, in order",
  content: { [JSON_TYPE]: list(either(named("Result"), named("Error")), { minItems: 1 }), [RESP2]: anything },
};
const stream: Answer = {
  status: 200,
  meaning: "A stream of events until one side closes it",
  content: { [EVENTS]: anything },
};
const refused: Answer = {
  status: 400,
  meaning: "The request or the command is refused; in the requested format",
  content: { [JSON_TYPE]: named("Error"), [RESP2]: anything },
};

/** The operations of one route. */
type Describe = (row: StoreRoute) => readonly Described[];

const pathMethods: readonly OperationMethod[] = ["get", "head", "post", "put"];

/** The replies of PING and MGET, which are the examples. */
const replies: Readonly<
  Record<string, { readonly plain: unknown; readonly withBody: unknown; readonly body: string }>
> = {
  Command: { plain: "PONG", withBody: "hello", body: "hello" },
  CommandWithArguments: { plain: ["hello"], withBody: ["hello", "Ann"], body: "name" },
};

/** The operations of a path command, without arguments or with some. */
function pathCommand(template: string, id: string, parameters: readonly Parameter[]): readonly Described[] {
  const replyOf = replies[id];
  return pathMethods.map((method) => ({
    id: `${method}${id}`,
    method,
    path: openApiPath(template, firstArguments.name),
    parameters: [...parameters, ...storeHeaders],
    ...((method === "post" || method === "put") && {
      body: bytesBody("One argument more, after those of the path"),
      example: { request: replyOf?.body, answer: { result: replyOf?.withBody } },
    }),
    ...(method === "get" && { example: { answer: { result: replyOf?.plain } } }),
    answers:
      method === "head"
        ? [
            { ...result, content: {} },
            { ...refused, content: {} },
          ]
        : [result, refused],
  }));
}

/** Commands in a body. */
function bodyCommands(body: RequestBody, success: Answer, example: OperationExample): Describe {
  return ({ id, template: path }) => [
    { id, method: "post", path, parameters: storeHeaders, body, answers: [success, refused], example },
  ];
}

const batch = bodyCommands(
  {
    ...jsonBody(list(oneCommand, { minItems: 1 })),
    otherTypes: ["application/x-resp2"],
    description: "Commands in JSON or in RESP",
  },
  results,
  {
    request: [
      ["INCR", "visits"],
      ["HSET", "user:1", "name", "Ann"],
    ],
    answer: [{ result: 1 }, { result: 1 }],
  },
);

function events(firstEvent: string, ...parameters: readonly Parameter[]): Describe {
  return ({ id, template }) =>
    (["post", "get"] as const).map((method) => ({
      id: method === "post" ? id : `${id}ByGet`,
      method,
      path: openApiPath(template, parameters[0]?.name),
      parameters: [...parameters, accept],
      answers: [stream, refused],
      example: { answer: `data: ${firstEvent}\n\n` },
    }));
}

/** A route without a description does not compile, nor does a description without a route. */
const descriptions: Readonly<Record<StoreOperationId, Describe>> = {
  command: ({ template }) => [
    ...pathCommand(template.replace("/*", ""), "Command", [command]),
    ...pathCommand(template, "CommandWithArguments", [commandWithArguments, firstArguments]),
  ],
  runCommand: bodyCommands(jsonBody(oneCommand), result, {
    request: ["SET", "greeting", "hello", "EX", 60],
    answer: { result: "OK" },
  }),
  runPipeline: batch,
  runTransaction: batch,
  monitor: events('"OK"'),
  subscribe: events("subscribe,news,1", channel),
  subscribeToPatterns: events("psubscribe,news.*,1", {
    ...channel,
    name: "pattern",
    description: "A pattern; further patterns are further segments",
  }),
};

/** PUBLISH is a path command like any other, but has a rule of its own (A7). */
const publish: Operation = {
  id: "publishToChannel",
  rule: "A7",
  method: "post",
  path: "/publish/{channel}/{message}",
  summary: "Publishes a message on a channel",
  parameters: [
    { ...channel, description: "The channel" },
    { name: "message", in: "path", schema: text },
    ...storeHeaders,
  ],
  answers: [result, refused, ...refusals()],
  token: tokenOf("publish"),
  example: { answer: { result: 2 } },
  isQueryTokenTaken: true,
};

/** The weakest token that a path with this command accepts. Paths for any command depend on the command. */
function tokenOf(name: string | undefined): Operation["token"] {
  const command = name === undefined ? undefined : findCommand(name);
  return command === undefined || command.isForReadOnlyToken ? "read-only" : "standard";
}

function operationsOf(row: StoreRoute<StoreOperationId>): readonly Operation[] {
  const describe: Describe = descriptions[row.id];
  return describe(row).map((described) => ({
    ...described,
    rule: row.rule,
    summary: capitalized(row.summary),
    answers: [...described.answers, ...refusals(described.method === "head")],
    // A stream is the command of its name; a segment such as `pipeline` is no command.
    token: tokenOf(segmentOf(row)),
    isQueryTokenTaken: true,
  }));
}

export function describeStore(): AreaDescription {
  return {
    title: "larder: the store",
    description: [
      "Commands of Redis over HTTP. Every header with the prefix `Service-` may have the prefix `Upstash-` instead.",
      "PUT does the same as POST on every path.",
      TRANSPORT,
    ].join("\n\n"),
    tags,
    operations: [...storeRoutes.flatMap(operationsOf), publish],
    schemas: { Result: resultShape, Reply: reply, Element: element, Error: errorShape },
    tokenParameter: "_token",
  };
}

/**
 * As in RESP2: maps and sets are flat lists, doubles are strings. A reply has replies in it, but generators of types
 * accept a schema that contains itself only in objects.
 */
const reply: Schema = described(
  orNull(either(text, integer, list(named("Element")))),
  "Integers beyond 2^53 and doubles are strings; maps are flat lists",
);
const element: Schema = orNull(either(text, integer, list(described(anything, "An element again"))));
const resultShape = object({ result: named("Reply") });
const errorShape = object({ error: described(text, "Starts with a code such as ERR, WRONGTYPE or NOPERM") });

function refusals(isHead = false): readonly Answer[] {
  const all = [
    answer(401, "The token is missing or invalid", named("Error")),
    answer(429, "The limit of requests per second is exceeded", named("Error")),
    answer(500, "Internal error; the log of the server has the cause", named("Error")),
    answer(503, "The area is starting or stopping, or temporarily refuses writes", named("Error")),
  ];
  return isHead ? all.map((each) => ({ ...each, content: {} })) : all;
}
