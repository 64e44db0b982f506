/** A value of any size and content: as text, with JSON indented, or in hex. */
import { useMemo, useState } from "preact/hooks";
import { Button } from "../../../parts/button.tsx";
import { Code } from "../../../parts/code.tsx";
import { countText } from "../../../parts/format.ts";
import { type Bytes, hexOfBytes, textOfBytes, textOfPart } from "./bytes.ts";

export interface BytesViewProps {
  readonly label: string;
  readonly bytes: Bytes;
  /** Where the bytes are in the whole value; absent: they are the whole. */
  readonly offset?: number;
  readonly isPart?: boolean;
}

export function BytesView({ label, bytes, offset = 0, isPart = false }: BytesViewProps) {
  const text = useMemo(() => (isPart ? textOfPart(bytes) : textOfBytes(bytes)), [bytes, isPart]);
  const [isHexWanted, setHexWanted] = useState(false);
  const isHex = isHexWanted || text === undefined;
  return (
    <div>
      <div class="actions choice" role="group" aria-label={`Form of ${label}`}>
        <Button aria-pressed={!isHex} disabled={text === undefined} onClick={() => setHexWanted(false)}>
          Text
        </Button>
        <Button aria-pressed={isHex} onClick={() => setHexWanted(true)}>
          Hex
        </Button>
        {text === undefined && <span class="hint">These bytes are not UTF-8.</span>}
      </div>
      {isHex ? <HexDump label={label} bytes={bytes} offset={offset} /> : <Code label={label} text={text} />}
    </div>
  );
}

const HEX_BYTES = 1_024;
const LINE_BYTES = 16;

/** 1 KB at a time. */
function HexDump({ label, bytes, offset }: { label: string; bytes: Bytes; offset: number }) {
  const [start, setStart] = useState(0);
  const first = Math.min(start, Math.max(0, Math.floor((bytes.length - 1) / HEX_BYTES) * HEX_BYTES));
  const end = Math.min(bytes.length, first + HEX_BYTES);
  const lines: string[] = [];
  for (let at = first; at < end; at += LINE_BYTES)
    lines.push(hexLine(bytes.slice(at, Math.min(end, at + LINE_BYTES)), offset + at));
  return (
    <div class="code">
      <pre class="hex" tabIndex={0} role="region" aria-label={`${label} in hex`}>
        {lines.join("\n")}
      </pre>
      {bytes.length > HEX_BYTES && (
        <div class="actions">
          <Button disabled={first === 0} onClick={() => setStart(first - HEX_BYTES)}>
            Before
          </Button>
          <span>
            {countText(offset + first)} to {countText(offset + end - 1)}
          </span>
          <Button disabled={end >= bytes.length} onClick={() => setStart(first + HEX_BYTES)}>
            After
          </Button>
        </div>
      )}
    </div>
  );
}

function hexLine(part: Bytes, at: number): string {
  const pairs = hexOfBytes(part).match(/../g) ?? [];
  const hex = `${pairs.slice(0, 8).join(" ")}  ${pairs.slice(8).join(" ")}`;
  return `${at.toString(16).padStart(8, "0")}  ${hex.padEnd(49)} ${part.replace(/[^ -~]/g, ".")}`;
}
