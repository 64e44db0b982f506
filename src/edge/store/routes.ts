/**
 * Area A, the store, over HTTP (docs/interface/store.md).
 *
 * Order of checks: method, token, rate, format of the answer, route. Failures
 * before a command runs are answered in JSON, whatever format was requested.
 *
 * A route turns a request into one call on `Database` and prints the replies.
 * If the replies are available at once, so is the answer, without an await.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { CommandError, type Database, type Reply, TransactionDiscarded } from "../../store/mod.ts";
import { errorReply } from "../../store/reply/mod.ts";
import { type Grant, type TokenOwner, type TokenTable, tokenOwnerOf } from "../auth.ts";
import {
  emptyCommand,
  emptyPipeline,
  emptyTransaction,
  malformedCommand,
  malformedPipeline,
  malformedTransaction,
  methodNotAllowed,
  RequestFailure,
  unauthorized,
  wordOfWrongType,
} from "../errors.ts";
import type { Handler, HttpReply, HttpRequest, HttpService, HttpStream, RequestHead } from "../handler.ts";
import { corsHeaders, isPreflight, preflightReply } from "../http/cors.ts";
import { EventStreams, type StreamLimits } from "../http/event-streams.ts";
import { lateTurn } from "../limits/in-turn.ts";
import type { RateLimiter } from "../limits/rate-limit.ts";
import { hasRespBody, parseRespBatch } from "../resp/body-commands.ts";
import { failureReply } from "../respond.ts";
import { type Route, routeName } from "../route.ts";
import { parseBatch, parseCommand } from "./json-commands.ts";
import { type BatchCommand, InvalidCommand } from "./json-reader.ts";
import { LONG_BODY_BYTES_MIN, readCommandWithValue } from "./long/value-request.ts";
import { appendQueryWords, findTokenParameter, pathWords, splitTarget, type Target } from "./path-command.ts";
import { type Answer, BatchPrinter, CommandPrinter, lateFailureOf } from "./reply-printers.ts";
import {
  chooseFormat,
  HttpCaller,
  jsonFormat,
  type ReplyFormat,
  resp2Format,
  type StoreHead,
  storeHeadOf,
  userOf,
} from "./request.ts";
import { monitorStream, type OpenStream, patternStream, subscribeStream } from "./streams.ts";
import { type SyncTokens, syncTokenHeader } from "./sync-token.ts";

/** 10 MB, as in the plans of the original (A.limits.request). */
export const REQUEST_BYTES_MAX = 10 * 1024 * 1024;
/** Enough for a value of 100 MB in base64; far below the longest string of V8. */
export const REPLY_BYTES_MAX = 256 * 1024 * 1024;

export interface StoreAreaOptions {
  readonly store: { database(name: string): Database };
  readonly tokens: TokenTable;
  readonly syncTokens: SyncTokens;
  /** If absent, requests per second are not limited. */
  readonly limiter?: RateLimiter;
  /** Whether pages of other origins may send requests. */
  readonly cors: boolean;
  /** Whether `_token` in the query is accepted. URLs appear in logs of others, so it can be disabled. */
  readonly queryToken: boolean;
  readonly requestBytesMax: number;
  readonly replyBytesMax: number;
  /** The clock of heartbeats and slow readers of event streams. */
  readonly clock: Clock;
  /** Missing limits are those of `defaultStreamLimits`. */
  readonly streams?: Partial<StreamLimits>;
}

interface StoreCall {
  readonly request: HttpRequest;
  readonly target: Target;
  /** The decoded path. */
  readonly words: Bytes[];
  readonly caller: HttpCaller;
  readonly database: Database;
  readonly format: ReplyFormat;
  readonly replyBytesMax: number;
}

export type StoreRoute<Id extends string = string> = Route<StoreCall, Answer | OpenStream | Promise<Answer>> & {
  /** The operation in the OpenAPI document, which has a description for each id (openapi/store.ts). */
  readonly id: Id;
  readonly summary: string;
};

/** A row with its id as a type, so that an id without a description does not compile. */
function storeRoute<Id extends string>(row: StoreRoute<Id>): StoreRoute<Id> {
  return row;
}

const commandRoute = storeRoute({
  id: "command",
  rule: "A1",
  template: "/:command/*",
  summary: "runs the command in the path",
  run: runPathCommand,
});
const bodyRoute = storeRoute({
  id: "runCommand",
  rule: "A2",
  template: "/",
  summary: "runs the command in the body",
  run: runBodyCommand,
});

export const storeRoutes = [
  commandRoute,
  bodyRoute,
  storeRoute({
    id: "runPipeline",
    rule: "A3",
    template: "/pipeline",
    summary: "runs commands in order; other commands may run in between",
    run: runPipeline,
  }),
  storeRoute({
    id: "runTransaction",
    rule: "A4",
    template: "/multi-exec",
    summary: "runs commands as a transaction; a command that cannot run refuses all",
    run: runTransaction,
  }),
  storeRoute({
    id: "monitor",
    rule: "A5",
    template: "/monitor",
    summary: "streams the commands that run on the database",
    run: monitorStream,
  }),
  storeRoute({
    id: "subscribe",
    rule: "A6",
    template: "/subscribe/*",
    summary: "streams the messages of channels",
    run: subscribeStream,
  }),
  storeRoute({
    id: "subscribeToPatterns",
    rule: "A6",
    template: "/psubscribe/*",
    summary: "streams the messages of channels that match patterns",
    run: patternStream,
  }),
];

export type StoreOperationId = (typeof storeRoutes)[number]["id"];

/** The fixed first segment of a route's path; any other first segment is the name of a command. */
export function segmentOf({ template }: Pick<StoreRoute, "template">): string | undefined {
  return /^\/([\w-]+)/.exec(template)?.[1];
}

const routeBySegment = new Map<string | undefined, StoreRoute>(storeRoutes.map((route) => [segmentOf(route), route]));
const nameByRoute = new Map<StoreRoute, string>(storeRoutes.map((route) => [route, routeName(route)]));
const REFUSED = "A refused";

const methods: readonly string[] = ["POST", "GET", "PUT", "HEAD"];

/** The last header prevents nginx and similar proxies from buffering events. */
const streamHeaders: readonly string[] = [
  "Content-Type",
  "text/event-stream",
  "Cache-Control",
  "no-cache",
  "X-Accel-Buffering",
  "no",
];

export class StoreArea implements HttpService {
  readonly streams: EventStreams;
  readonly #options: StoreAreaOptions;

  constructor(options: StoreAreaOptions) {
    this.#options = options;
    this.streams = new EventStreams(options.clock.real, options.streams);
    options.tokens.onRemoved((grant) => this.streams.revoke(grant));
  }

  bodyBytesMax(): number {
    return this.#options.requestBytesMax;
  }

  refuseEarly(request: RequestHead): HttpReply | undefined {
    const head = storeHeadOf(request);
    try {
      if (!methods.includes(request.method)) throw methodNotAllowed(request.method);
      const grant = this.#authenticate(head, splitTarget(request.target));
      const overShare = request.claim?.(this.#options.store.database(grant.tenant));
      if (overShare !== undefined) throw overShare;
      return undefined;
    } catch (thrown) {
      return this.#refusal(thrown, head);
    }
  }

  readonly handle = (request: HttpRequest): HttpReply | HttpStream | Promise<HttpReply | HttpStream> => {
    const head = storeHeadOf(request);
    try {
      if (head.hasOrigin && this.#options.cors && isPreflight(request)) return preflightReply(request);
      if (!methods.includes(request.method)) throw methodNotAllowed(request.method);
      const target = splitTarget(request.target);
      const grant = this.#authenticate(head, target);
      const overRate = this.#options.limiter?.take(grant);
      if (overRate !== undefined) throw overRate;
      const database = this.#options.store.database(grant.tenant);
      const overShare = request.claim?.(database);
      if (overShare !== undefined) throw overShare;
      const { turn } = database;
      request.payer = turn;
      if (turn.mayRun) return this.#run(request, { head, target, grant, database });
      return lateTurn(request, turn.next(), () => this.#runLate(request, head, target));
    } catch (thrown) {
      return this.#refusal(thrown, head);
    }
  };

  /** A request that waited for its turn: its token may be revoked, and the database may be another one. */
  #runLate(request: HttpRequest, head: StoreHead, target: Target): ReturnType<Handler> {
    try {
      const grant = this.#authenticate(head, target);
      const database = this.#options.store.database(grant.tenant);
      return this.#run(request, { head, target, grant, database });
    } catch (thrown) {
      return this.#refusal(thrown, head);
    }
  }

  #run(
    request: HttpRequest,
    { head, target, grant, database }: { head: StoreHead; target: Target; grant: Grant; database: Database },
  ): HttpReply | HttpStream | Promise<HttpReply> {
    const user = userOf(grant, database);
    // A token outlives its user only during the command that deletes the user.
    if (user === undefined) throw unauthorized;
    const format = chooseFormat(head);
    const words = pathWords(target);
    const route = words.length === 0 ? bodyRoute : (routeBySegment.get(words[0]) ?? commandRoute);
    const name = nameByRoute.get(route) ?? REFUSED;
    database.activity.addInput(request.body.length);
    const { replyBytesMax } = this.#options;
    const answer = route.run({
      request,
      target,
      words,
      caller: new HttpCaller(user, request),
      database,
      format,
      replyBytesMax: Math.min(replyBytesMax, request.replyBytesMax ?? replyBytesMax),
    });
    if (typeof answer === "function") return this.#stream(answer, { grant, head, route: name });
    const { activity } = database;
    if (!(answer instanceof Promise)) return this.#reply(answer, head, { route: name, activity });
    return answer.then(
      (late) => this.#reply(late, head, { route: name, activity }),
      (thrown: unknown) => this.#refusal(thrown, head),
    );
  }

  /** Whose token a request has, among those of a table. */
  tokenOwner(request: RequestHead, tokens: TokenTable): TokenOwner {
    const { authorization } = storeHeadOf(request);
    if (authorization !== undefined) return tokenOwnerOf(tokens.findByHeader(authorization));
    const token = this.#options.queryToken ? findTokenParameter(splitTarget(request.target)) : undefined;
    return token === undefined ? { kind: "none" } : tokenOwnerOf(tokens.find(token));
  }

  /** `_token` is used only if there is no Authorization header. */
  #authenticate({ authorization }: StoreHead, target: Target): Grant {
    const { tokens, queryToken } = this.#options;
    let grant: Grant | undefined;
    if (authorization !== undefined) grant = tokens.findByHeader(authorization);
    else if (queryToken) {
      const token = findTokenParameter(target);
      grant = token === undefined ? undefined : tokens.find(token);
    }
    if (grant === undefined) throw unauthorized;
    return grant;
  }

  #reply(
    { status, contentType, body, failure }: Answer,
    head: StoreHead,
    { route, activity }: { readonly route: string; readonly activity: Database["activity"] },
  ): HttpReply {
    if (failure !== undefined) return this.#refusal(failure, head);
    activity.addOutput(body.length);
    const headers = ["Content-Type", contentType, ...this.#headers(head)];
    return { status, headers, body, bodyIsBytes: true, route };
  }

  #stream(open: OpenStream, { grant, head, route }: { grant: Grant; head: StoreHead; route: string }): HttpStream {
    const headers = [...streamHeaders, ...this.#headers(head)];
    return this.streams.reply({ grant, headers, route, open });
  }

  /** A failure of the request as a reply. Rethrows anything else, which is a bug of larder. */
  #refusal(thrown: unknown, head: StoreHead): HttpReply {
    const failure = thrown instanceof TransactionDiscarded ? failureOfTransaction(thrown) : thrown;
    if (!(failure instanceof RequestFailure)) throw failure;
    return { ...failureReply(failure, this.#headers(head)), route: REFUSED };
  }

  #headers(head: StoreHead): string[] {
    const headers = [syncTokenHeader(head.syncTokenHeader), this.#options.syncTokens.next()];
    if (head.hasOrigin && this.#options.cors) headers.push(...corsHeaders);
    return headers;
  }
}

function failureOfTransaction({ error }: TransactionDiscarded): RequestFailure {
  return lateFailureOf(error) ?? new RequestFailure("bad request", error.text);
}

/** A1 and A7: path, then body, then query (A1.path, A1.body, A1.query). */
function runPathCommand(call: StoreCall): Answer | Promise<Answer> {
  const { request, target, words } = call;
  if (request.body.length > 0 && hasBodyForm(request)) words.push(request.body.latin1Slice());
  appendQueryWords(words, target);
  return runCommand(call, words);
}

/** A2 */
function runBodyCommand(call: StoreCall): Answer | Promise<Answer> {
  const { body } = call.request;
  if (body.length >= LONG_BODY_BYTES_MIN) {
    const command = readCommandWithValue(body);
    if (command !== undefined) {
      const printer = new CommandPrinter(call);
      return printer.answer(call.database.printWithValue(call.caller, command, printer));
    }
  }
  const words = parseCommand(body, malformedCommand);
  if (words.length === 0) throw emptyCommand;
  return runCommand(call, words);
}

function runCommand(call: StoreCall, words: readonly Bytes[]): Answer | Promise<Answer> {
  const printer = new CommandPrinter(call);
  return printer.answer(call.database.printCommand(call.caller, words, printer));
}

const emptyPipelineCommand = errorReply(new CommandError("ERR empty pipeline command"));
const emptyTransactionCommand = new RequestFailure("bad request", "ERR empty transaction command");

/** A3 */
function runPipeline(call: StoreCall): Answer | Promise<Answer> {
  const commands = readBatch(call, { malformed: malformedPipeline, empty: emptyPipeline });
  const printer = new BatchPrinter(call);
  if (commands.every(isRunnable))
    return printer.answerAfter(call.database.printPipeline(call.caller, commands, printer));
  let next = 0;
  const addRefused = (): void => {
    for (let command = commands[next]; command !== undefined && !isRunnable(command); command = commands[next]) {
      printer.printDone(pipelineRefusalOf(command));
      next += 1;
    }
  };
  const printed = (bytes: number): number => {
    next += 1;
    addRefused();
    return bytes;
  };
  addRefused();
  const end = call.database.printPipeline(call.caller, commands.filter(isRunnable), {
    get bytesMax() {
      return printer.bytesMax;
    },
    print: (reply) => printed(printer.print(reply)),
    printDone: (reply) => printed(printer.printDone(reply)),
  });
  return printer.answerAfter(end);
}

function isRunnable(command: BatchCommand): command is readonly Bytes[] {
  return !(command instanceof InvalidCommand) && command.length > 0;
}

/** The refusal of a command without words, or with a word that is null. */
function pipelineRefusalOf(command: BatchCommand): Reply {
  if (!(command instanceof InvalidCommand)) return emptyPipelineCommand;
  return errorReply(new CommandError(wordOfWrongType(malformedCommand, command.wordIndex).text));
}

/** A4: always JSON (A.response-format). A refused command refuses the transaction with its error. */
function runTransaction(call: StoreCall): Answer | Promise<Answer> {
  const commands = readBatch(call, { malformed: malformedTransaction, empty: emptyTransaction });
  if (!commands.every(isRunnable)) throw transactionRefusalOf(commands);
  const format = call.format === resp2Format ? jsonFormat : call.format;
  const printer = new BatchPrinter({ ...call, format });
  const answer = call.database.printTransaction(call.caller, commands, (replies) => {
    for (const reply of replies) printer.print(reply);
    return printer.answer();
  });
  if (answer instanceof Promise) printer.late();
  return answer;
}

/** The refusal of a transaction with commands that cannot run: that of the first such command. */
function transactionRefusalOf(commands: readonly BatchCommand[]): RequestFailure {
  const first = commands.find((command) => !isRunnable(command));
  return first instanceof InvalidCommand
    ? wordOfWrongType(malformedTransaction, first.wordIndex)
    : emptyTransactionCommand;
}

function readBatch(
  { request }: StoreCall,
  { malformed, empty }: { malformed: RequestFailure; empty: RequestFailure },
): readonly BatchCommand[] {
  if (!hasBodyForm(request)) throw malformed;
  const { body } = request;
  const commands = hasRespBody(request) ? parseRespBatch(body, malformed) : parseBatch(body, malformed);
  if (commands.length === 0) throw empty;
  return commands;
}

/** PUT is the same as POST; a body of GET or HEAD is ignored (A.methods, A1.body). */
function hasBodyForm(request: HttpRequest): boolean {
  return request.method === "POST" || request.method === "PUT";
}
