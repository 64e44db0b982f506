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
  const shown = useRef<{ set: (text: string) => void; focus: () => void; destroy: () => void }>(undefined);
  // The editor is made once; its text follows below.
  useEffect(() => {
    let isGone = false;
    void import("./editor-view.ts").then(({ openEditor }) => {
      if (isGone || box.current === null) return;
      shown.current = openEditor({
        parent: box.current,
        label,
        value,
        language,
        onChange: (text) => changed.current(text),
      });
      if (isFirst) shown.current.focus();
    });
    return () => {
      isGone = true;
      shown.current?.destroy();
    };
  }, [language]);
  useEffect(() => shown.current?.set(value), [value]);
  return <div class="editor" ref={box} />;
}
