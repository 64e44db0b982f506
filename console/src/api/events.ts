/** Event streams of the store: MONITOR and subscriptions. Read with `fetch`, because `EventSource` connects again by itself. */
import { send } from "./client.ts";

/**
 * Calls `onEvent` with the data of each event until the signal aborts or the server ends the stream. A text with line ends is
 * several `data:` lines of one event. Throws `ApiError`.
 */
export async function readEvents(path: string, onEvent: (data: string) => void, signal: AbortSignal): Promise<void> {
  const response = await send(path, { headers: { accept: "text/event-stream" }, signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = "";
  let data: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.map((one) => one.replace(/\r$/, ""))) {
      if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      if (line !== "" || data.length === 0) continue;
      onEvent(data.join("\n"));
      data = [];
    }
  }
}
