/**
 * Area A, the store, over HTTP (service.md A1-A7; spec: store 1.1-1.6, 1.8).
 *
 * In order: method, token, rate, form of the answer, route. What fails before a
 * command has run is answered in JSON whatever form was asked for.
 *
 * A route turns a request into one call on `Database` and prints the replies.
 * When the replies are there at once, so is the answer: nothing awaits.
 */
import type { Bytes } from "../kernel/bytes.ts";
import type { Clock } from "../kernel/clock.ts";
import { CommandError, type Database, type Reply, TransactionDiscarded } from "../store/mod.ts";
import { errorReply, findError } from "../store/reply.ts";
import type { Grant, TokenTable } from "./auth.ts";
import { corsHeaders, isPreflight, preflightReply } from "./cors.ts";
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
} from "./errors.ts";
import { EventStreams, type StreamLimits } from "./event-streams.ts";
import type { Area, HttpReply, HttpRequest, HttpStream, RequestHead } from "./handler.ts";
import { parseBatch, parseCommand } from "./json-commands.ts";
import { type BatchCommand, SpoiltCommand } from "./json-reader.ts";
import { appendQueryWords, findTokenParameter, pathWords, splitTarget, type Target } from "./path-command.ts";
import type { RateLimiter } from "./rate-limit.ts";
import { hasRespBody, parseRespBatch } from "./resp-commands.ts";
import { COMMAND_FAILED_STATUS, failureReply } from "./respond.ts";
import { type Route, routeName } from "./route.ts";
import {
  chooseFormat,
  HttpCaller,
  jsonFormat,
  type ReplyFormat,
  readStoreHead,
  resp2Format,
  type StoreHead,
  userOf,
} from "./store-request.ts";
import { monitorStream, type OpenStream, patternStream, subscribeStream } from "./store-streams.ts";
import { type SyncTokens, syncTokenHeader } from "./sync-token.ts";

/** 10 MB, as the plans of the original (spec: store 1.9). */
export const REQUEST_BYTES_MAX = 10 * 1024 * 1024;
/** Room for a value of 100 MB in base64, with some left; far below V8's longest string. */
export const REPLY_BYTES_MAX = 256 * 1024 * 1024;

export interface StoreAreaOptions {
  readonly store: { database(name: string): Database };
  readonly tokens: TokenTable;
  readonly syncTokens: SyncTokens;
  /** Absent: requests per second are not limited. */
  readonly limiter?: RateLimiter;
  /** Whether pages of other origins may ask. */
  readonly cors: boolean;
  /** Whether `_token` in the query counts. URLs end up in other people's logs, so it can be turned off. */
  readonly queryToken: boolean;
  readonly requestBytesMax: number;
  readonly replyBytesMax: number;
  /** Times heartbeats and slow readers of event streams. */
  readonly clock: Clock;
  /** What is absent is as in `defaultStreamLimits`. */
  readonly streams?: Partial<StreamLimits>;
}

interface StoreCall {
  readonly request: HttpRequest;
  readonly target: Target;
  /** The path, decoded. */
  readonly words: Bytes[];
  readonly caller: HttpCaller;
  readonly database: Database;
  readonly format: ReplyFormat;
  readonly replyBytesMax: number;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Bytes;
}

type StoreRoute = Route<StoreCall, Answer | OpenStream | Promise<Answer>> & {
  /** The first segment that leads here; every other is the name of a command. */
  readonly segment?: string;
};

const commandRoute: StoreRoute = { rule: "A1", template: "/:command/*", run: runPathCommand };
const bodyRoute: StoreRoute = { rule: "A2", template: "/", run: runBodyCommand };

export const storeRoutes: readonly StoreRoute[] = [
  commandRoute,
  bodyRoute,
  { rule: "A3", template: "/pipeline", segment: "pipeline", run: runPipeline },
  { rule: "A4", template: "/multi-exec", segment: "multi-exec", run: runTransaction },
  { rule: "A5", template: "/monitor", segment: "monitor", run: monitorStream },
  { rule: "A6", template: "/subscribe/*", segment: "subscribe", run: subscribeStream },
  { rule: "A6", template: "/psubscribe/*", segment: "psubscribe", run: patternStream },
];

const routeBySegment = new Map(storeRoutes.map((route) => [route.segment, route]));
const nameByRoute = new Map(storeRoutes.map((route) => [route, routeName(route)]));
const REFUSED = "A refused";

const methods: readonly string[] = ["POST", "GET", "PUT", "HEAD"];

export class StoreArea implements Area {
  readonly streams: EventStreams;
  readonly #options: StoreAreaOptions;

  constructor(options: StoreAreaOptions) {
    this.#options = options;
    this.streams = new EventStreams(options.clock, options.streams);
    options.tokens.onRemoved((grant) => this.streams.revoke(grant));
  }

  bodyBytesMax(): number {
    return this.#options.requestBytesMax;
  }

  refuseEarly(request: RequestHead): HttpReply | undefined {
    const head = readStoreHead(request.rawHeaders);
    try {
      if (!methods.includes(request.method)) throw methodNotAllowed(request.method);
      this.#authenticate(head, splitTarget(request.target));
      return undefined;
    } catch (thrown) {
      return this.#refusal(thrown, head);
    }
  }

  readonly handle = (request: HttpRequest): HttpReply | HttpStream | Promise<HttpReply> => {
    const head = readStoreHead(request.rawHeaders);
    try {
      if (head.hasOrigin && this.#options.cors && isPreflight(request)) return preflightReply(request);
      if (!methods.includes(request.method)) throw methodNotAllowed(request.method);
      const target = splitTarget(request.target);
      const grant = this.#authenticate(head, target);
      const database = this.#options.store.database(grant.tenant);
      const user = userOf(grant, database);
      // The token outlives its user by nothing but the command that is deleting it.
      if (user === undefined) throw unauthorized;
      const overRate = this.#options.limiter?.take(grant);
      if (overRate !== undefined) throw overRate;
      const format = chooseFormat(head);
      const words = pathWords(target);
      const route = words.length === 0 ? bodyRoute : (routeBySegment.get(words[0]) ?? commandRoute);
      const name = nameByRoute.get(route) ?? REFUSED;
      const answer = route.run({
        request,
        target,
        words,
        caller: new HttpCaller(user, request),
        database,
        format,
        replyBytesMax: this.#options.replyBytesMax,
      });
      if (typeof answer === "function") return this.#stream(answer, { grant, head, route: name });
      if (!(answer instanceof Promise)) return this.#reply(answer, head, name);
      return answer.then(
        (late) => this.#reply(late, head, name),
        (thrown: unknown) => this.#refusal(thrown, head),
      );
    } catch (thrown) {
      return this.#refusal(thrown, head);
    }
  };

  /** A header decides if there is one; `_token` only counts without it. */
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

  #reply({ status, contentType, body }: Answer, head: StoreHead, route: string): HttpReply {
    const headers = ["Content-Type", contentType, ...this.#headers(head)];
    return { status, headers, body, bodyIsBytes: true, route };
  }

  #stream(open: OpenStream, { grant, head, route }: { grant: Grant; head: StoreHead; route: string }): HttpStream {
    const headers = ["Content-Type", "text/event-stream", "Cache-Control", "no-cache", ...this.#headers(head)];
    return this.streams.reply({ grant, headers, route, open });
  }

  /** A failure of the request as a reply; whatever else was thrown is our bug and goes on. */
  #refusal(thrown: unknown, head: StoreHead): HttpReply {
    const failure =
      thrown instanceof TransactionDiscarded ? new RequestFailure("bad request", thrown.error.text) : thrown;
    if (!(failure instanceof RequestFailure)) throw failure;
    return { ...failureReply(failure, this.#headers(head)), route: REFUSED };
  }

  #headers(head: StoreHead): string[] {
    const headers = [syncTokenHeader(head.syncTokenHeader), this.#options.syncTokens.next()];
    if (head.hasOrigin && this.#options.cors) headers.push(...corsHeaders);
    return headers;
  }
}

/** A1 and A7: path, then body, then query (service.md rules 1 and 2). */
function runPathCommand(call: StoreCall): Answer | Promise<Answer> {
  const { request, target, words } = call;
  if (request.body.length > 0 && hasBodyForm(request)) words.push(request.body.latin1Slice());
  appendQueryWords(words, target);
  return runCommand(call, words);
}

/** A2 */
function runBodyCommand(call: StoreCall): Answer | Promise<Answer> {
  const words = parseCommand(call.request.body, malformedCommand);
  if (words.length === 0) throw emptyCommand;
  return runCommand(call, words);
}

function runCommand(call: StoreCall, words: readonly Bytes[]): Answer | Promise<Answer> {
  return settle(call.database.command(call.caller, words), (reply) => commandAnswer(call, reply));
}

function commandAnswer({ format, replyBytesMax }: StoreCall, reply: Reply): Answer {
  const { contentType } = format;
  let error = findError(reply);
  if (error === undefined) {
    try {
      return { status: 200, contentType, body: format.finish(format.result(reply, replyBytesMax)) };
    } catch (thrown) {
      if (!(thrown instanceof CommandError)) throw thrown;
      error = thrown;
    }
  }
  return { status: COMMAND_FAILED_STATUS, contentType, body: format.finish(format.error(error)) };
}

const emptyPipelineCommand = errorReply(new CommandError("ERR empty pipeline command"));
const emptyTransactionCommand = new RequestFailure("bad request", "ERR empty transaction command");

/** A3 */
function runPipeline(call: StoreCall): Answer | Promise<Answer> {
  const commands = readBatch(call, { malformed: malformedPipeline, empty: emptyPipeline });
  if (commands.every(isRunnable))
    return settle(call.database.pipeline(call.caller, commands), (replies) => batchAnswer(call, call.format, replies));
  return settle(call.database.pipeline(call.caller, commands.filter(isRunnable)), (replies) => {
    let next = 0;
    const all = commands.map((command) =>
      isRunnable(command) ? (replies[next++] as Reply) : pipelineRefusalOf(command),
    );
    return batchAnswer(call, call.format, all);
  });
}

function isRunnable(command: BatchCommand): command is readonly Bytes[] {
  return !(command instanceof SpoiltCommand) && command.length > 0;
}

/** Of a command that has no words, or one that is null. */
function pipelineRefusalOf(command: BatchCommand): Reply {
  if (!(command instanceof SpoiltCommand)) return emptyPipelineCommand;
  return errorReply(new CommandError(wordOfWrongType(malformedCommand, command.wordIndex).text));
}

/** A4: always JSON (service.md rule 6). A refused command refuses all, with its own error alone. */
function runTransaction(call: StoreCall): Answer | Promise<Answer> {
  const commands = readBatch(call, { malformed: malformedTransaction, empty: emptyTransaction });
  if (!commands.every(isRunnable)) throw transactionRefusalOf(commands);
  const format = call.format === resp2Format ? jsonFormat : call.format;
  return settle(call.database.transaction(call.caller, commands), (replies) => batchAnswer(call, format, replies));
}

/** Why a transaction does not run in which some commands could not: the first of them says it. */
function transactionRefusalOf(commands: readonly BatchCommand[]): RequestFailure {
  const first = commands.find((command) => !isRunnable(command));
  return first instanceof SpoiltCommand
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

/** Each reply at its place. One that does not fit in what is left of the budget is an error there (threats A-15). */
function batchAnswer(call: StoreCall, format: ReplyFormat, replies: readonly Reply[]): Answer {
  let body = format.open;
  for (let i = 0; i < replies.length; i += 1) {
    if (i > 0) body += format.separator;
    try {
      body += format.result(replies[i] as Reply, call.replyBytesMax - body.length);
    } catch (thrown) {
      if (!(thrown instanceof CommandError)) throw thrown;
      body += format.error(thrown);
    }
  }
  return { status: 200, contentType: format.contentType, body: format.finish(body + format.close) };
}

/** PUT counts as POST; a body on GET or HEAD means nothing (spec: store 1.12). */
function hasBodyForm(request: HttpRequest): boolean {
  return request.method === "POST" || request.method === "PUT";
}

/** Goes on now if the value is there, and later if it is a promise. */
function settle<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
