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
import { errorReply, findError } from "../../store/reply/mod.ts";
import type { Grant, TokenTable } from "../auth.ts";
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
import { COMMAND_FAILED_STATUS, failureReply } from "../respond.ts";
import { type Route, routeName } from "../route.ts";
import { parseBatch, parseCommand } from "./json-commands.ts";
import { type BatchCommand, InvalidCommand } from "./json-reader.ts";
import { appendQueryWords, findTokenParameter, pathWords, splitTarget, type Target } from "./path-command.ts";
import {
  chooseFormat,
  HttpCaller,
  jsonFormat,
  type ReplyFormat,
  readStoreHead,
  resp2Format,
  type StoreHead,
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

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Bytes;
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
    const head = readStoreHead(request.rawHeaders);
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
    const head = readStoreHead(request.rawHeaders);
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
    const { activity } = database;
    if (!(answer instanceof Promise)) return this.#reply(answer, head, { route: name, activity });
    return answer.then(
      (late) => this.#reply(late, head, { route: name, activity }),
      (thrown: unknown) => this.#refusal(thrown, head),
    );
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
    { status, contentType, body }: Answer,
    head: StoreHead,
    { route, activity }: { readonly route: string; readonly activity: Database["activity"] },
  ): HttpReply {
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

/** A1 and A7: path, then body, then query (A1.path, A1.body, A1.query). */
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
  return holding(call, (print) => call.database.command(call.caller, words, print), commandAnswer);
}

/** Runs something and prints its answer. A printed answer that waits for the journal is counted while it waits. */
function holding<Made>(
  call: StoreCall,
  run: (print: (made: Made) => Answer) => Answer | Promise<Answer>,
  print: (call: StoreCall, made: Made) => Answer,
): Answer | Promise<Answer> {
  let isLate = false;
  let bytes = 0;
  const answer = run((made) => {
    const printed = print(call, made);
    bytes = printed.body.length;
    if (isLate) call.request.holdReply?.(bytes);
    return printed;
  });
  if (answer instanceof Promise) {
    isLate = true;
    call.request.holdReply?.(bytes);
  }
  return answer;
}

function commandAnswer({ format, replyBytesMax }: StoreCall, reply: Reply): Answer {
  const { contentType } = format;
  let error = findError(reply);
  if (error === undefined) {
    try {
      return { status: 200, contentType, body: format.finish(format.result(reply, replyBytesMax), replyBytesMax) };
    } catch (thrown) {
      if (!(thrown instanceof CommandError)) throw thrown;
      error = thrown;
    }
  }
  return {
    status: COMMAND_FAILED_STATUS,
    contentType,
    body: format.finish(format.error(error), Number.POSITIVE_INFINITY),
  };
}

const emptyPipelineCommand = errorReply(new CommandError("ERR empty pipeline command"));
const emptyTransactionCommand = new RequestFailure("bad request", "ERR empty transaction command");

/** A3 */
function runPipeline(call: StoreCall): Answer | Promise<Answer> {
  const commands = readBatch(call, { malformed: malformedPipeline, empty: emptyPipeline });
  const { request } = call;
  const printer = new BatchPrinter(call.format, call.replyBytesMax, (bytes) => request.holdReply?.(bytes));
  printer.onFailure = request.commandFailed;
  if (commands.every(isRunnable)) {
    const end = call.database.printPipeline(call.caller, commands, (reply) => printer.add(reply));
    return printer.answerAfter(end);
  }
  let next = 0;
  const addRefused = (): void => {
    for (let command = commands[next]; command !== undefined && !isRunnable(command); command = commands[next]) {
      printer.add(pipelineRefusalOf(command));
      next += 1;
    }
  };
  addRefused();
  const end = call.database.printPipeline(call.caller, commands.filter(isRunnable), (reply) => {
    const bytes = printer.add(reply);
    next += 1;
    addRefused();
    return bytes;
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
  const print = ({ replyBytesMax }: StoreCall, replies: readonly Reply[]): Answer => {
    const printer = new BatchPrinter(format, replyBytesMax);
    printer.onFailure = call.request.commandFailed;
    for (const reply of replies) printer.add(reply);
    return printer.answer();
  };
  return holding(call, (printed) => call.database.transaction(call.caller, commands, printed), print);
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

/** Text is finished in parts of this size, so that the end of a large answer is not one long unit of work. */
const FINISHED_BYTES = 64 * 1024;

/** Prints replies in order. A reply that exceeds the rest of the budget becomes an error (threats A-15). */
class BatchPrinter {
  /** Gets the text of each failed command. */
  onFailure: ((text: string) => void) | undefined;
  readonly #format: ReplyFormat;
  readonly #bytesMax: number;
  #finished: Bytes = "";
  #text: Bytes;
  #count = 0;
  readonly #hold: (bytes: number) => void;
  /** The bytes that were printed before the answer had to wait. */
  #printedBytes = 0;
  #isLate = false;

  /** `hold` gets the number of bytes that wait for the journal or for turns of other requests. */
  constructor(format: ReplyFormat, bytesMax: number, hold: (bytes: number) => void = () => {}) {
    this.#hold = hold;
    this.#format = format;
    this.#bytesMax = bytesMax;
    this.#text = format.open;
  }

  /** Returns the number of printed bytes. */
  add(reply: Reply): number {
    const format = this.#format;
    const before = this.#bytes;
    const failure = this.onFailure === undefined ? undefined : findError(reply);
    if (failure !== undefined) this.onFailure?.(failure.text);
    if (this.#count > 0) this.#text += format.separator;
    this.#count += 1;
    try {
      const text = format.result(reply, this.#bytesMax - this.#bytes);
      if (text.length < FINISHED_BYTES) this.#text += text;
      else this.#addLong(text);
    } catch (thrown) {
      if (!(thrown instanceof CommandError)) throw thrown;
      this.#text += format.error(thrown);
    }
    const bytes = this.#bytes - before;
    if (this.#isLate) this.#hold(bytes);
    else this.#printedBytes += bytes;
    if (this.#text.length >= FINISHED_BYTES) this.#finish();
    return bytes;
  }

  /** The answer after `end`. */
  answerAfter(end: Promise<undefined> | undefined): Answer | Promise<Answer> {
    if (end === undefined) return this.answer();
    this.#isLate = true;
    this.#hold(this.#printedBytes);
    return end.then(() => this.answer());
  }

  answer(): Answer {
    this.#text += this.#format.close;
    this.#finish();
    return { status: 200, contentType: this.#format.contentType, body: this.#finished };
  }

  get #bytes(): number {
    return this.#finished.length + this.#text.length;
  }

  /** A finished long reply must fit the budget. Short replies are finished together and may exceed it slightly. */
  #addLong(text: Bytes): void {
    this.#finish();
    this.#finished += this.#format.finish(text, this.#bytesMax - this.#bytes);
  }

  /** The text between replies is ASCII, so it may be split there. */
  #finish(): void {
    this.#finished += this.#format.finish(this.#text, Number.POSITIVE_INFINITY);
    this.#text = "";
  }
}

/** PUT is the same as POST; a body of GET or HEAD is ignored (A.methods, A1.body). */
function hasBodyForm(request: HttpRequest): boolean {
  return request.method === "POST" || request.method === "PUT";
}
