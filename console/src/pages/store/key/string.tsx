/** A string: as text or JSON, in hex, as a bitmap, or as a HyperLogLog. Long ones come in windows of GETRANGE. */
import { useState } from "preact/hooks";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Button } from "../../../parts/button.tsx";
import { bytesText, countText } from "../../../parts/format.ts";
import { ErrorBox, Loading } from "../../../parts/states.tsx";
import { arrayOfBytes, type Bytes, shownBytes, textOfPart } from "../values/bytes.ts";
import { BytesDialog } from "../values/bytes-dialog.tsx";
import { BytesView } from "../values/bytes-view.tsx";
import { ask, bytesOf, isFailure, numberOf, run } from "../values/run.ts";
import { Bits } from "./bits.tsx";
import { HyperLogLog } from "./hyperloglog.tsx";
import type { ValueViewProps } from "./value-view.ts";

const WINDOW_BYTES = 64 * 1_024;
const DOWNLOAD_PART_BYTES = 4 * 1_024 * 1_024;

type Form = "bytes" | "bits" | "hyperloglog";

export function StringView(props: ValueViewProps) {
  const { database, keyName, length, version, changed } = props;
  const [start, setStart] = useState(0);
  const [chosenForm, setForm] = useState<Form>();
  const [editing, setEditing] = useState<Bytes>();
  const part = useLoad(
    async (signal) => {
      const words = ["GETRANGE", keyName, start, start + WINDOW_BYTES - 1];
      const [bytes = "", distinct = null] = await run(database, [words, ["PFCOUNT", keyName]], signal);
      // PFCOUNT answers 0 for an empty string.
      const isHyperLogLog = start === 0 && bytesOf(bytes).startsWith("HYLL") && !isFailure(distinct);
      return { bytes: bytesOf(bytes), isHyperLogLog };
    },
    [database, keyName, start, version],
  );
  if (part.error !== undefined) return <ErrorBox error={part.error} onRetry={part.reload} />;
  if (part.value === undefined) return <Loading />;
  const { bytes, isHyperLogLog } = part.value;
  const form = chosenForm ?? (isHyperLogLog ? "hyperloglog" : isBitmap(bytes) ? "bits" : "bytes");
  const isPart = length > WINDOW_BYTES;
  return (
    <>
      <div class="actions choice" role="group" aria-label="Show as">
        <Button aria-pressed={form === "bytes"} onClick={() => setForm("bytes")}>
          Bytes
        </Button>
        <Button aria-pressed={form === "bits"} onClick={() => setForm("bits")}>
          Bitmap
        </Button>
        {isHyperLogLog && (
          <Button aria-pressed={form === "hyperloglog"} onClick={() => setForm("hyperloglog")}>
            HyperLogLog
          </Button>
        )}
        <span class="spring" />
        <Action
          run={async () => {
            setEditing(length > WINDOW_BYTES ? "" : bytesOf(await ask(database, ["GET", keyName])));
          }}
        >
          {isPart ? "Replace" : "Edit"}
        </Action>
        <Action run={() => download(database, keyName, length)}>Download</Action>
      </div>
      {form === "bits" && <Bits {...props} />}
      {form === "hyperloglog" && <HyperLogLog {...props} />}
      {form === "bytes" && (
        <>
          {isPart && <WindowChoice start={start} length={length} onChange={setStart} />}
          <BytesView key={start} label="Value" bytes={bytes} offset={start} isPart={isPart} />
        </>
      )}
      {editing !== undefined && (
        <BytesDialog
          title={isPart ? "Replace the value" : "Edit the value"}
          action="Save"
          fields={[{ label: "Value", start: editing, isLong: true }]}
          submit={async ([value = ""]) => {
            if ((await ask(database, ["SET", keyName, value, "XX", "KEEPTTL"])) === null)
              throw new Error("The key does not exist any more");
            changed();
          }}
          onClose={() => setEditing(undefined)}
        />
      )}
    </>
  );
}

interface WindowChoiceProps {
  readonly start: number;
  readonly length: number;
  readonly onChange: (start: number) => void;
}

function WindowChoice({ start, length, onChange }: WindowChoiceProps) {
  const last = Math.floor((length - 1) / WINDOW_BYTES) * WINDOW_BYTES;
  return (
    <div class="below">
      <Button disabled={start === 0} onClick={() => onChange(0)}>
        Start
      </Button>
      <Button disabled={start === 0} onClick={() => onChange(start - WINDOW_BYTES)}>
        Before
      </Button>
      <span>
        Bytes {countText(start)} to {countText(Math.min(length, start + WINDOW_BYTES) - 1)} of {bytesText(length)}
      </span>
      <Button disabled={start >= last} onClick={() => onChange(start + WINDOW_BYTES)}>
        After
      </Button>
      <Button disabled={start >= last} onClick={() => onChange(last)}>
        End
      </Button>
    </div>
  );
}

/** A bitmap is a string like any other: bytes that are not text, and mostly zero, are taken for one. */
function isBitmap(bytes: Bytes): boolean {
  const zeros = bytes.split("\0").length - 1;
  const text = textOfPart(bytes)?.replace(/[\t\n\r]/g, "");
  const isText = text !== undefined && !/\p{Cc}/u.test(text);
  return !isText && zeros * 2 >= bytes.length;
}

/** In parts, so that no answer is larger than a few MB. */
async function download(database: string, keyName: Bytes, length: number): Promise<void> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < length; at += DOWNLOAD_PART_BYTES)
    parts.push(arrayOfBytes(bytesOf(await ask(database, ["GETRANGE", keyName, at, at + DOWNLOAD_PART_BYTES - 1]))));
  const got = parts.reduce((sum, part) => sum + part.length, 0);
  if (got !== numberOf(await ask(database, ["STRLEN", keyName]))) throw new Error("The value has changed meanwhile");
  const url = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = shownBytes(keyName, 80).replace(/[^\w.-]+/g, "_") || "value";
  link.click();
  URL.revokeObjectURL(url);
}
