/**
 * The streams of the store: A5 `/monitor`, A6 `/subscribe/<channel>…`, and
 * `/psubscribe/<pattern>…` (A.streams). They ignore the body, and the query except
 * for the token.
 */
import { type Bytes, bufferFrom } from "../../kernel/bytes.ts";
import { type Caller, CommandError, type Database, type Push, type Subscriber } from "../../store/mod.ts";
import { wrongArity } from "../../store/reply/mod.ts";
import { RequestFailure, streamMethodRefused, streamNotAccepted, tooManyChannels } from "../errors.ts";
import type { HttpRequest } from "../handler.ts";
import { MONITOR_BEGINS, pushEvent, subscribedEvent } from "../http/event-lines.ts";
import type { EventStream } from "../http/event-streams.ts";

/** Channels or patterns of one stream. */
export const CHANNELS_PER_STREAM_MAX = 1_000;

export interface StreamCall {
  readonly request: HttpRequest;
  /** The decoded path: the kind of stream, then channels or patterns. */
  readonly words: readonly Bytes[];
  readonly caller: Caller;
  readonly database: Database;
}

/** Called after the headers are written. Returns a function to call after the end of the stream. */
export type OpenStream = (stream: EventStream) => () => void;

/** A5: every command of the database. */
export function monitorStream(call: StreamCall): OpenStream {
  check(call);
  if (call.words.length > 1) throw failureOf(wrongArity("monitor"));
  return listening(call, ["monitor"], (subscriber, stream) => {
    stream.send(MONITOR_BEGINS);
    call.database.monitors.add(subscriber);
  });
}

/** A6: every message of the channels. */
export function subscribeStream(call: StreamCall): OpenStream {
  const channels = namesOf(call, "subscribe");
  return listening(call, ["subscribe", ...channels], (subscriber, stream) => {
    for (const channel of channels) {
      const count = call.database.pubsub.subscribe(subscriber, channel);
      stream.send(bufferFrom(subscribedEvent("subscribe", channel, count)));
    }
  });
}

/** Every message of the channels that match the patterns. */
export function patternStream(call: StreamCall): OpenStream {
  const patterns = namesOf(call, "psubscribe");
  return listening(call, ["psubscribe", ...patterns], (subscriber, stream) => {
    for (const pattern of patterns) {
      const count = call.database.pubsub.subscribePattern(subscriber, pattern);
      stream.send(bufferFrom(subscribedEvent("psubscribe", pattern, count)));
    }
  });
}

function namesOf(call: StreamCall, command: string): readonly Bytes[] {
  check(call);
  const names = call.words.slice(1);
  if (names.length === 0) throw failureOf(wrongArity(command));
  if (names.length > CHANNELS_PER_STREAM_MAX) throw tooManyChannels(CHANNELS_PER_STREAM_MAX);
  return names;
}

/** A browser's EventSource can only GET, so GET works like POST (A.streams.accept). */
function check({ request }: StreamCall): void {
  if (request.method === "HEAD") throw streamMethodRefused;
  if (!/text\/event-stream/i.test(request.header("accept") ?? "")) throw streamNotAccepted;
}

/** Checks the caller's rights now, and subscribes when the stream opens. */
function listening(
  { database, caller }: StreamCall,
  words: readonly Bytes[],
  begin: (subscriber: Subscriber, stream: EventStream) => void,
): OpenStream {
  try {
    database.checkListening(caller, words);
  } catch (thrown) {
    throw thrown instanceof CommandError ? failureOf(thrown) : thrown;
  }
  return (stream) => {
    const subscriber = database.pubsub.open({
      receive: (push) => {
        // Checked before printing, which may turn one byte into seven.
        if (!stream.cutIfTooLong(lengthOf(push))) stream.send(bytesOf(push));
      },
      drop: (reason) => stream.end(reason),
    });
    begin(subscriber, stream);
    return () => database.closeSubscriber(subscriber);
  };
}

function failureOf({ text }: CommandError): RequestFailure {
  return new RequestFailure("bad request", text);
}

function lengthOf(push: Push): number {
  if (push.kind === "monitor") return push.line.length;
  return "payload" in push ? push.payload.length : 0;
}

/** A push to many streams is printed once. */
const printed = new WeakMap<Push, Buffer>();

function bytesOf(push: Push): Buffer {
  let bytes = printed.get(push);
  if (bytes === undefined) {
    bytes = bufferFrom(pushEvent(push));
    printed.set(push, bytes);
  }
  return bytes;
}
