/** A string as a bitmap: its bits, 512 at a time, each of which can be changed. */
import { useState } from "preact/hooks";
import { textOf, useLoad } from "../../../api/load.ts";
import { Button } from "../../../parts/button.tsx";
import { countText } from "../../../parts/format.ts";
import { ErrorBox, Loading } from "../../../parts/states.tsx";
import { toast } from "../../../parts/toast.tsx";
import { BytesDialog } from "../values/bytes-dialog.tsx";
import { ask, askAll, bytesOf, numberOf } from "../values/run.ts";
import type { ValueViewProps } from "./value-view.ts";

const SHOWN_BYTES = 64;

export function Bits({ database, keyName, length, version, changed }: ValueViewProps) {
  const [start, setStart] = useState(0);
  const [isSetting, setSetting] = useState(false);
  const bits = useLoad(
    async (signal) => {
      const [part, count] = await askAll(
        database,
        [
          ["GETRANGE", keyName, start, start + SHOWN_BYTES - 1],
          ["BITCOUNT", keyName],
        ],
        signal,
      );
      return { part: bytesOf(part), count: numberOf(count) };
    },
    [database, keyName, start, version],
  );
  if (bits.error !== undefined) return <ErrorBox error={bits.error} onRetry={bits.reload} />;
  if (bits.value === undefined) return <Loading />;
  const { part, count } = bits.value;
  const setBit = async (bit: string, value: string): Promise<void> => {
    await ask(database, ["SETBIT", keyName, bit, value]);
    changed();
  };
  const showNext = async (): Promise<void> => {
    const bit = numberOf(await ask(database, ["BITPOS", keyName, 1, start + SHOWN_BYTES]));
    if (bit < 0) toast("No bit is set after these");
    else setStart(Math.floor(bit / 8 / SHOWN_BYTES) * SHOWN_BYTES);
  };
  const fail = (error: unknown): void => toast(textOf(error), { isError: true });
  return (
    <>
      <p>
        {countText(count)} of {countText(length * 8)} bits are set.
      </p>
      <div class="below">
        <Button disabled={start === 0} onClick={() => setStart(start - SHOWN_BYTES)}>
          Before
        </Button>
        <span>
          Bits {countText(start * 8)} to {countText((start + part.length) * 8 - 1)}
        </span>
        <Button disabled={start + SHOWN_BYTES >= length} onClick={() => setStart(start + SHOWN_BYTES)}>
          After
        </Button>
        <Button disabled={start + SHOWN_BYTES >= length} onClick={() => void showNext().catch(fail)}>
          Next set bit
        </Button>
        <Button onClick={() => setSetting(true)}>Set a bit</Button>
      </div>
      <div class="bits" role="group" aria-label="Bits">
        {Array.from({ length: part.length * 8 }, (_, index) => {
          const bit = start * 8 + index;
          const isSet = ((part.charCodeAt(index >> 3) >> (7 - (index & 7))) & 1) === 1;
          return (
            <button
              key={bit}
              type="button"
              aria-pressed={isSet}
              aria-label={`Bit ${bit} is ${isSet ? "1" : "0"}`}
              title={`Bit ${bit}`}
              onClick={() => void setBit(`${bit}`, isSet ? "0" : "1").catch(fail)}
            >
              {isSet ? "1" : "0"}
            </button>
          );
        })}
      </div>
      {isSetting && (
        <BytesDialog
          title="Set a bit"
          action="Set"
          fields={[{ label: "Bit" }, { label: "Value", start: "1", hint: "0 or 1" }]}
          submit={([bit = "", value = ""]) => setBit(bit, value)}
          onClose={() => setSetting(false)}
        />
      )}
    </>
  );
}
