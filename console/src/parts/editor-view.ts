import { json, jsonParseLinter } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter } from "@codemirror/lint";
import { tags } from "@lezer/highlight";
import { basicSetup, EditorView } from "codemirror";

export interface EditorOptions {
  readonly parent: HTMLElement;
  readonly label: string;
  readonly value: string;
  readonly language: "json" | "text";
  /** What was typed, not what was set. */
  readonly onChange: (value: string) => void;
}

/** In the page's colours: variables are inherited into the shadow tree. */
const colours = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)" },
  ".cm-content": { caretColor: "var(--text)", fontFamily: "var(--mono)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters, .cm-panels": { backgroundColor: "var(--raised)", color: "var(--quiet)", borderColor: "var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--raised)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent) !important",
  },
});

/** The colours that come with CodeMirror are for light pages only. */
const words = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--busy)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: tags.number, color: "var(--series-3)" },
  { tag: [tags.bool, tags.null], color: "var(--series-4)" },
]);

/** The editor is in a shadow tree: there its styles are style sheets made by script, which the policy of the page allows. */
export function openEditor({ parent, label, value, language, onChange }: EditorOptions) {
  let isSetting = false;
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const view = new EditorView({
    parent: root,
    root,
    doc: value,
    extensions: [
      basicSetup,
      colours,
      syntaxHighlighting(words),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !isSetting) onChange(update.state.doc.toString());
      }),
      language === "json" ? [json(), linter(jsonParseLinter())] : [],
    ],
  });
  return {
    set(text: string): void {
      if (text === view.state.doc.toString()) return;
      isSetting = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isSetting = false;
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
