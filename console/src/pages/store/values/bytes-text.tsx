import { type Bytes, shownBytes, textOfBytes } from "./bytes.ts";

/** Bytes on one line, cut where they are long. */
export function BytesText({ bytes, lengthMax = 300 }: { bytes: Bytes; lengthMax?: number }) {
  if (bytes === "") return <span class="hint">(empty)</span>;
  const shown = shownBytes(bytes, lengthMax);
  const isText = bytes.length > lengthMax || textOfBytes(bytes) !== undefined;
  return (
    <bdi class="bytes" {...(!isText && { title: "These bytes are not UTF-8" })}>
      {shown}
    </bdi>
  );
}
