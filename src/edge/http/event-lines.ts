/**
 * The lines of an event stream (A.streams.lines; the format
 * is that of the HTML standard, server-sent events).
 *
 * A text with line ends in it becomes several `data:` lines of one event, so no
 * payload can end its event, begin another or name another field (threats A-17).
 */
import { type Bytes, bytesFromText, textFromBytes } from "../../kernel/bytes.ts";
import type { Push } from "../../store/mod.ts";

/** A comment: clients pass it over, and what lies between us and them sees that the connection lives. */
export const HEARTBEAT = ": ping\n\n";

const LINE_ENDS = /\r\n|\r|\n/g;

/** The first event of `/monitor`: the text `OK`, quoted. */
export const MONITOR_BEGINS = eventOf('"OK"');

/** One event with this text, as bytes; what is no UTF-8 becomes U+FFFD. */
export function eventOf(text: Bytes): Bytes {
  return `data: ${bytesFromText(textFromBytes(text)).replace(LINE_ENDS, "\ndata: ")}\n\n`;
}

/** `subscribe,news,1` */
export function subscribedEvent(kind: "subscribe" | "psubscribe", name: Bytes, count: number): Bytes {
  return eventOf(`${kind},${name},${count}`);
}

/** Never encoded in base64, whatever the request asked for: clients ask for it everywhere and do not decode it here. */
export function pushEvent(push: Push): Bytes {
  switch (push.kind) {
    case "message":
      return eventOf(`message,${push.channel},${push.payload}`);
    case "pmessage":
      return eventOf(`pmessage,${push.pattern},${push.channel},${push.payload}`);
    case "monitor":
      return eventOf(push.line);
    default: {
      const never: never = push;
      return never;
    }
  }
}
