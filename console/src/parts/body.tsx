/** A body of unknown content: as text if it is text, and in any case as a file to save. */
import { Action } from "./action.tsx";
import { saveBytes, textFromBytes } from "./bytes.ts";
import { Code } from "./code.tsx";
import { bytesText } from "./format.ts";

export interface BodyProps {
  readonly label: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** These are only its first bytes. */
  readonly isCut?: boolean;
  readonly fileName: string;
  /** Absent: `bytes` are all of it. */
  readonly loadWhole?: () => Promise<Uint8Array<ArrayBuffer>>;
}

/** Bytes that are not text are shown up to here. */
const SHOWN_BYTES = 256;

export function Body({ label, bytes, isCut = false, fileName, loadWhole }: BodyProps) {
  if (bytes.length === 0) return <p class="hint">Empty</p>;
  const text = textFromBytes(bytes, { isCut });
  return (
    <div>
      {text === undefined ? (
        <>
          <p class="hint">
            {isCut ? "Binary data, of which this is the start" : `Binary data, ${bytesText(bytes.length)}`}
          </p>
          <Code label={label} text={hexText(bytes.subarray(0, SHOWN_BYTES))} />
        </>
      ) : (
        <Code label={label} text={text} />
      )}
      <div class="actions">
        <Action kind="quiet" run={async () => saveBytes(loadWhole === undefined ? bytes : await loadWhole(), fileName)}>
          Download
        </Action>
        {isCut && <span class="hint">The first {bytesText(bytes.length)}: download it to see all of it</span>}
      </div>
    </div>
  );
}

function hexText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
