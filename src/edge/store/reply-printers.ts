/**
 * Prints the replies of a request as its answer, within the unit of work that made
 * them: so a command is undone whose reply has no room (threats ).
 *
 * (1) The bytes of an answer are counted while the command can still be undone: as
 *     soon as they are many, or if the answer has to wait. So the listener never
 *     refuses the answer of a command that has changed something.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { CommandError, databaseIsMoving, type Reply, StoppedUnit } from "../../store/mod.ts";
import { findError, type ReplyPrinter } from "../../store/reply/mod.ts";
import { busy, type RequestFailure, storeMoves } from "../errors.ts";
import type { HttpRequest } from "../handler.ts";
import { BUDGETED_REPLY_BYTES_MIN } from "../limits/held-bytes.ts";
import { COMMAND_FAILED_STATUS, statusOf } from "../respond.ts";
import type { ReplyFormat } from "./request.ts";

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Bytes | Buffer;
  /** In place of the body: the request was refused, and has changed nothing. */
  readonly failure?: RequestFailure;
}

interface PrintedCall {
  readonly request: Pick<HttpRequest, "takeReply" | "holdReply" | "commandFailed">;
  readonly format: ReplyFormat;
  readonly replyBytesMax: number;
}

const serverBusy = new CommandError(busy.text);

/**
 * The refusal of a request whose only command, or whose transaction, can succeed later as it is: its reply has no room now,
 * or its database moves. Undefined for all other errors.
 */
export function lateFailureOf(error: CommandError): RequestFailure | undefined {
  if (error === databaseIsMoving) return storeMoves;
  const isBusy = error === serverBusy || (error instanceof StoppedUnit && error.reason === serverBusy);
  return isBusy ? busy : undefined;
}

/** Counts bytes of a reply that can still be refused. */
function takeRoom({ request }: PrintedCall, bytes: number): void {
  if (request.takeReply?.(bytes) === false) throw serverBusy;
}

/** Prints the reply of a single command. */
export class CommandPrinter implements ReplyPrinter<Answer> {
  readonly bytesMax: number;
  readonly #call: PrintedCall;
  #unheldBytes = 0;
  #isLate = false;

  constructor(call: PrintedCall) {
    this.#call = call;
    this.bytesMax = call.replyBytesMax;
  }

  print(reply: Reply): Answer {
    const error = findError(reply);
    if (error !== undefined) return this.#failed(error);
    const answer = this.#printed(reply);
    const { length } = answer.body;
    if (this.#isLate || length >= BUDGETED_REPLY_BYTES_MIN) takeRoom(this.#call, length);
    else this.#unheldBytes = length;
    return answer;
  }

  printDone(reply: Reply): Answer {
    const error = findError(reply);
    if (error !== undefined) return this.#failed(error);
    try {
      return this.#held(this.#printed(reply));
    } catch (thrown) {
      if (!(thrown instanceof CommandError)) throw thrown;
      return this.#failed(thrown);
    }
  }

  /** The answer. If it has to wait, its bytes are counted meanwhile. */
  answer(answer: Answer | Promise<Answer>): Answer | Promise<Answer> {
    if (!(answer instanceof Promise)) return answer;
    this.#isLate = true;
    if (this.#unheldBytes > 0) this.#call.request.holdReply?.(this.#unheldBytes);
    return answer;
  }

  #printed(reply: Reply): Answer {
    const { format, replyBytesMax } = this.#call;
    return { status: 200, contentType: format.contentType, body: format.body(reply, replyBytesMax) };
  }

  #failed(error: CommandError): Answer {
    const { format } = this.#call;
    const failure = lateFailureOf(error);
    if (failure !== undefined)
      return { status: statusOf(failure.kind), contentType: format.contentType, body: "", failure };
    const body = format.finish(format.error(error), Number.POSITIVE_INFINITY);
    return this.#held({ status: COMMAND_FAILED_STATUS, contentType: format.contentType, body });
  }

  #held(answer: Answer): Answer {
    const { length } = answer.body;
    if (this.#isLate || length >= BUDGETED_REPLY_BYTES_MIN) this.#call.request.holdReply?.(length);
    else this.#unheldBytes = length;
    return answer;
  }
}

/** Text is finished in parts of this size, so that the end of a large answer is not one long unit of work. */
const FINISHED_BYTES = 64 * 1024;

/** Prints replies in order. Returns the number of printed bytes of each. */
export class BatchPrinter implements ReplyPrinter<number> {
  readonly #call: PrintedCall;
  readonly #format: ReplyFormat;
  #finished: Bytes = "";
  #text: Bytes;
  /** The length of both. */
  #bytes: number;
  #count = 0;
  #heldBytes = 0;
  #isLate = false;

  constructor(call: PrintedCall) {
    this.#call = call;
    this.#format = call.format;
    this.#text = call.format.open;
    this.#bytes = this.#text.length;
  }

  /** What is left for further replies. */
  get bytesMax(): number {
    return Math.max(0, this.#call.replyBytesMax - this.#bytes);
  }

  print(reply: Reply): number {
    const error = findError(reply);
    if (error !== undefined) return this.#addError(error);
    const text = this.#printed(reply);
    const bytes = this.#bytes + text.length - this.#heldBytes;
    if (this.#isLate || bytes >= BUDGETED_REPLY_BYTES_MIN) {
      takeRoom(this.#call, bytes);
      this.#heldBytes += bytes;
    }
    return this.#add(text);
  }

  printDone(reply: Reply): number {
    const error = findError(reply);
    if (error !== undefined) return this.#addError(error);
    try {
      const printed = this.#add(this.#printed(reply));
      this.#hold();
      return printed;
    } catch (thrown) {
      if (!(thrown instanceof CommandError)) throw thrown;
      return this.#addError(thrown);
    }
  }

  /** The answer after `end`. */
  answerAfter(end: Promise<undefined> | undefined): Answer | Promise<Answer> {
    if (end === undefined) return this.answer();
    this.late();
    return end.then(() => this.answer());
  }

  answer(): Answer {
    this.#text += this.#format.close;
    this.#bytes += this.#format.close.length;
    this.#finish();
    this.#hold();
    return { status: 200, contentType: this.#format.contentType, body: this.#finished };
  }

  /** The answer has to wait: from now on all its bytes are counted. */
  late(): void {
    this.#isLate = true;
    this.#hold();
  }

  /** A long reply is finished, so that it surely fits. Short replies are finished together and may exceed it slightly. */
  #printed(reply: Reply): Bytes {
    const text = this.#format.result(reply, this.bytesMax);
    return text.length < FINISHED_BYTES ? text : this.#format.finish(text, this.bytesMax);
  }

  #addError(error: CommandError): number {
    this.#call.request.commandFailed?.(error.text);
    const printed = this.#add(this.#format.error(error));
    this.#hold();
    return printed;
  }

  #add(text: Bytes): number {
    const separator = this.#count > 0 ? this.#format.separator : "";
    const bytes = separator.length + text.length;
    this.#count += 1;
    this.#bytes += bytes;
    this.#text += separator;
    if (text.length < FINISHED_BYTES) this.#text += text;
    else {
      this.#finish();
      this.#finished += text;
    }
    if (this.#text.length >= FINISHED_BYTES) this.#finish();
    return bytes;
  }

  /** Counts what is printed and not counted, without refusing it. Few bytes are not counted unless the answer waits. */
  #hold(): void {
    const bytes = this.#bytes - this.#heldBytes;
    if (bytes < BUDGETED_REPLY_BYTES_MIN && !this.#isLate && this.#heldBytes === 0) return;
    if (bytes <= 0) return;
    this.#call.request.holdReply?.(bytes);
    this.#heldBytes += bytes;
  }

  /** The text between replies is ASCII, so it may be split there. */
  #finish(): void {
    const finished = this.#format.finish(this.#text, Number.POSITIVE_INFINITY);
    this.#bytes += finished.length - this.#text.length;
    this.#finished += finished;
    this.#text = "";
  }
}
