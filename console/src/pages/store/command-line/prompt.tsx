/** The field for commands: completion by Tab, history by the arrow keys, several lines as a pipeline. */
import { useRef, useState } from "preact/hooks";
import { useLoad } from "../../../api/load.ts";
import { Button } from "../../../parts/button.tsx";
import { type CommandRow, commandOfLine, completions, readCommandFacts } from "./command-table.ts";

export interface PromptProps {
  readonly database: string;
  readonly table: readonly CommandRow[];
  readonly history: readonly string[];
  readonly isBusy: boolean;
  readonly run: (text: string) => void;
}

const SHOWN_COMPLETIONS = 8;

export function Prompt({ database, table, history, isBusy, run }: PromptProps) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [isHidden, setHidden] = useState(false);
  /** How far back in the history; 0: what is being typed. */
  const [back, setBack] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  const lines = text.split("\n");
  const line = lines.at(-1) ?? "";
  const found = isHidden || back > 0 ? [] : completions(table, line, SHOWN_COMPLETIONS);
  const type = (next: string): void => {
    setText(next);
    setChosen(0);
    setHidden(false);
    setBack(0);
  };
  const complete = (row: CommandRow | undefined): void => {
    if (row === undefined) return;
    type([...lines.slice(0, -1), `${row.name} `].join("\n"));
    field.current?.focus();
  };
  const submit = (): void => {
    if (text.trim() === "" || isBusy) return;
    run(text);
    type("");
  };
  const remember = (next: number): void => {
    if (next < 0 || next > history.length) return;
    setBack(next);
    setText(next === 0 ? "" : (history[history.length - next] ?? ""));
  };
  const keys: Readonly<Record<string, (() => void) | undefined>> = {
    Enter: submit,
    Escape: () => setHidden(true),
    Tab: found.length > 0 ? () => complete(found[chosen]) : undefined,
    ArrowUp: () => (found.length > 0 ? setChosen(Math.max(0, chosen - 1)) : remember(back + 1)),
    ArrowDown: () => (found.length > 0 ? setChosen(Math.min(found.length - 1, chosen + 1)) : remember(back - 1)),
  };
  const canMove = lines.length === 1 || back > 0;
  return (
    <div class="prompt">
      <label for="command">Command</label>
      <div class="prompt-row">
        <textarea
          id="command"
          ref={field}
          rows={Math.min(8, lines.length)}
          value={text}
          spellcheck={false}
          autocomplete="off"
          aria-controls="completions"
          aria-autocomplete="list"
          aria-activedescendant={found.length > 0 ? `completion-${chosen}` : undefined}
          aria-describedby="command-help"
          placeholder="GET key"
          onInput={({ currentTarget }) => type(currentTarget.value)}
          onKeyDown={(event) => {
            const act = keys[event.key];
            if (act === undefined || event.shiftKey || event.isComposing) return;
            if (event.key.startsWith("Arrow") && !canMove) return;
            event.preventDefault();
            act();
          }}
        />
        <Button kind="main" disabled={isBusy || text.trim() === ""} onClick={submit}>
          Run
        </Button>
      </div>
      <div id="completions" role="listbox" aria-label="Commands" hidden={found.length === 0}>
        {found.map((row, index) => (
          <button
            key={row.name}
            id={`completion-${index}`}
            type="button"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => complete(row)}
          >
            <code>{row.name}</code> <span class="hint">{row.summary}</span>
          </button>
        ))}
      </div>
      <div id="command-help">
        <Help database={database} row={found.length > 0 ? found[chosen] : commandOfLine(table, line)} />
      </div>
    </div>
  );
}

function Help({ database, row }: { database: string; row: CommandRow | undefined }) {
  const facts = useLoad(
    async (signal) => (row === undefined ? undefined : await readCommandFacts(database, row.name, signal)),
    [database, row?.name],
  );
  if (row === undefined)
    return <p class="hint">Enter runs, Shift+Enter adds a line, the arrow keys go through what you have run.</p>;
  const { value } = facts;
  return (
    <p class="hint">
      <strong>{row.name}</strong> {row.summary}. Group {row.group}
      {value !== undefined && `, ${arityText(value.arity, row.name)}, flags ${value.flags.join(", ") || "none"}`}.
    </p>
  );
}

function arityText(arity: number, name: string): string {
  const count = Math.abs(arity) - name.split(" ").length;
  const noun = count === 1 ? "argument" : "arguments";
  if (arity < 0 && count === 0) return "any number of arguments";
  return arity < 0 ? `at least ${count} ${noun}` : `${count === 0 ? "no" : count} ${noun}`;
}
