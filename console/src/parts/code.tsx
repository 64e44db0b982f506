/** Text of unknown content: never as HTML, cut where it is long, JSON indented if it is JSON. */
import { useMemo, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { Copy } from "./copy.tsx";
import { bytesText } from "./format.ts";
import { indentJson } from "./json-text.ts";

/** More is shown only on demand: a browser needs seconds for megabytes of wrapped text. */
const SHOWN_LENGTH = 20_000;
/** Longer JSON is not indented. */
const JSON_LENGTH_MAX = 1_000_000;

export function Code({ text, label }: { text: string; label: string }) {
  const [shownLength, setShownLength] = useState(SHOWN_LENGTH);
  const whole = useMemo(() => indented(text), [text]);
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        <bdi>{whole.slice(0, shownLength)}</bdi>
      </pre>
      <div class="actions">
        <Copy text={text} />
        {whole.length > shownLength && (
          <Button kind="quiet" onClick={() => setShownLength(shownLength * 10)}>
            Show more of {bytesText(whole.length)}
          </Button>
        )}
      </div>
    </div>
  );
}

function indented(text: string): string {
  const first = text.trimStart()[0];
  if (text.length > JSON_LENGTH_MAX || (first !== "{" && first !== "[")) return text;
  return indentJson(text) ?? text;
}
