/** An editor for JSON or plain text. CodeMirror comes when the first editor appears. */
import { useEffect, useRef } from "preact/hooks";

export interface EditorProps {
  readonly label: string;
  readonly value: string;
  readonly language?: "json" | "text";
  /** Whether it gets the keyboard when it appears. */
  readonly isFirst?: boolean;
  readonly onChange: (value: string) => void;
}

export function Editor({ label, value, language = "text", isFirst = false, onChange }: EditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const latest = useRef(value);
  latest.current = value;
  /** Texts that were typed, and that have not come back as `value`. */
  const typed = useRef<string[]>([]);
  const shown = useRef<{ set: (text: string) => void; focus: () => void; destroy: () => void }>(undefined);
  // The editor is made once; its text follows below.
  useEffect(() => {
    let isGone = false;
    void import("./editor-view.ts").then(({ openEditor }) => {
      if (isGone || box.current === null) return;
      shown.current = openEditor({
        parent: box.current,
        label,
        value: latest.current,
        language,
        onChange(text) {
          typed.current.push(text);
          changed.current(text);
        },
      });
      if (isFirst) shown.current.focus();
    });
    return () => {
      isGone = true;
      shown.current?.destroy();
    };
  }, [language]);
  // What was typed comes back late if more is typed meanwhile: it must not replace that.
  useEffect(() => {
    const at = typed.current.indexOf(value);
    typed.current.splice(0, at < 0 ? typed.current.length : at + 1);
    if (at < 0) shown.current?.set(value);
  }, [value]);
  return <div class="editor" ref={box} />;
}
