/**
 * The lines of an event stream (A.streams.lines), in the format of server-sent
 * events of the HTML standard.
 *
 * A text with line ends becomes several `data:` lines of one event, so a payload
 * cannot end its event, begin another one or name another field (threats A-17).
 * Only the first of them has the optional space: clients exist that take each line
 * which begins with `data: ` for a message, and the line of a payload could be one
 * of another channel.
 */
import { type Bytes, bytesFromText, textFromBytes } from "../../kernel/bytes.ts";
import type { Push } from "../../store/mod.ts";

/** A comment. Clients ignore it, and proxies see that the connection is alive. */
export const HEARTBEAT = ": ping\n\n";

/** With a space that follows: clients remove one, so it is written twice. */
const LINE_ENDS = /(?:\r\n|\r|\n)( ?)/g;

/** The first event of `/monitor`: the text `OK`, quoted. */
export const MONITOR_BEGINS = eventOf('"OK"');

/** One event with this text, as bytes; invalid UTF-8 becomes U+FFFD. */
export function eventOf(text: Bytes): Bytes {
  return `data: ${bytesFromText(textFromBytes(text)).replace(LINE_ENDS, "\ndata:$1$1")}\n\n`;
}

/** `subscribe,news,1` */
export function subscribedEvent(kind: "subscribe" | "psubscribe", name: Bytes, count: number): Bytes {
  return eventOf(`${kind},${name},${count}`);
}

/** Never in base64, even if the request asks for it: clients always ask for it and do not decode it here. */
export function pushEvent(push: Push): Bytes {
  switch (push.kind) {
    case "message":
      return eventOf(`message,${push.channel},${push.payload}`);
    case "pmessage":
      return eventOf(`pmessage,${push.pattern},${push.channel},${push.payload}`);
    case "smessage":
      return eventOf(`smessage,${push.channel},${push.payload}`);
    case "monitor":
      return eventOf(push.line);
    case "invalidate":
    case "tracking-redir-broken":
      throw new TypeError("An event stream tracks no keys");
    default: {
      const never: never = push;
      return never;
    }
  }
}
