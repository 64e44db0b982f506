/** The requests and event streams that a shard answers, so that its service can end while that of others goes on. */

import type { RequestFailure } from "../../../edge/errors.ts";
import type {
  HttpReply,
  HttpRequest,
  HttpService,
  HttpStream,
  RequestHead,
  StreamSink,
} from "../../../edge/handler.ts";
import { refusalOf } from "../../../edge/respond.ts";
import type { Clock } from "../../../kernel/clock.ts";

/** How often to look whether the requests have ended. */
const LOOK_MS = 5;

export class ServedRequests implements HttpService {
  readonly #area: HttpService;
  readonly #clock: Pick<Clock, "monotonicMs" | "after">;
  #underWayCount = 0;
  readonly #streams = new Set<StreamSink>();

  constructor(area: HttpService, clock: Pick<Clock, "monotonicMs" | "after">) {
    this.#area = area;
    this.#clock = clock;
  }

  readonly handle = (request: HttpRequest): HttpReply | HttpStream | Promise<HttpReply | HttpStream> => {
    const reply = this.#area.handle(request);
    if (!(reply instanceof Promise)) return this.#noted(reply);
    this.#underWayCount += 1;
    return reply
      .then((late) => this.#noted(late))
      .finally(() => {
        this.#underWayCount -= 1;
      });
  };

  bodyBytesMax(target: string): number {
    return this.#area.bodyBytesMax(target);
  }

  refuseEarly(head: RequestHead): HttpReply | undefined {
    return this.#area.refuseEarly?.(head);
  }

  refusal(failure: RequestFailure, target: string): HttpReply {
    return refusalOf(this.#area, failure, target);
  }

  /** Ends the event streams. Resolves when the requests under way are answered, or after `graceMs`. */
  async end(graceMs: number): Promise<void> {
    for (const sink of [...this.#streams]) sink.end();
    const endMs = this.#clock.monotonicMs() + graceMs;
    while (this.#underWayCount > 0 && this.#clock.monotonicMs() < endMs)
      await new Promise<void>((resolve) => this.#clock.after(LOOK_MS, resolve));
  }

  #noted(reply: HttpReply | HttpStream): HttpReply | HttpStream {
    if (!("open" in reply)) return reply;
    return {
      ...reply,
      open: (sink) => {
        this.#streams.add(sink);
        const closed = reply.open(sink);
        return () => {
          this.#streams.delete(sink);
          closed();
        };
      },
    };
  }
}
