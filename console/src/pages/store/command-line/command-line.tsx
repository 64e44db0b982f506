/** A command line for the database, as redis-cli. Lines that are run together go to the store as a pipeline. */
import "../store.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { textOf, useLoad } from "../../../api/load.ts";
import { Button } from "../../../parts/button.tsx";
import { Code } from "../../../parts/code.tsx";
import { durationText } from "../../../parts/format.ts";
import { PageHead } from "../../../parts/page.tsx";
import type { PageProps } from "../../pages.ts";
import { type Bytes, textOfBytes } from "../values/bytes.ts";
import { run } from "../values/run.ts";
import { type CommandRow, readCommandTable } from "./command-table.ts";
import { printedText } from "./print.ts";
import { Prompt } from "./prompt.tsx";
import { wordsOfLine } from "./words.ts";

interface Entry {
  readonly id: number;
  readonly line: string;
  readonly output: string;
  readonly isError: boolean;
}

const ENTRIES_MAX = 200;
const HISTORY_MAX = 500;
/** Of this window, and not longer: commands may contain secrets. */
const history: string[] = [];
let nextId = 1;

export default function CommandLine({ params: { tenant: database = "" } }: PageProps) {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [isBusy, setBusy] = useState(false);
  const table = useLoad((signal) => readCommandTable(database, signal), [database]);
  const commands = table.value ?? [];
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [entries]);
  const submit = async (text: string): Promise<void> => {
    history.push(text);
    if (history.length > HISTORY_MAX) history.shift();
    if (text.trim().toLowerCase() === "clear") {
      setEntries([]);
      return;
    }
    setBusy(true);
    const added = await runLines(database, text, commands);
    setEntries((old) => [...old, ...added].slice(-ENTRIES_MAX));
    setBusy(false);
  };
  return (
    <>
      <PageHead
        title="Command line"
        lead="Quotes and escapes as in redis-cli. Type help and a command for help; clear empties this page."
        actions={entries.length > 0 && <Button onClick={() => setEntries([])}>Clear</Button>}
      />
      <div class="console-log" role="log" aria-label="Replies">
        {entries.map(({ id, line, output, isError }) => (
          <div key={id} class={isError ? "entry failed" : "entry"}>
            <p>
              <span aria-hidden="true">&gt; </span>
              <bdi>{line}</bdi>
            </p>
            <Code label={`Reply to ${line.slice(0, 60)}`} text={output} />
          </div>
        ))}
        <div ref={end} />
      </div>
      <Prompt
        database={database}
        table={commands}
        history={history}
        isBusy={isBusy}
        run={(text) => void submit(text)}
      />
    </>
  );
}

/** Runs the lines of a text as a pipeline. If a line cannot be read, none is run. */
async function runLines(database: string, text: string, table: readonly CommandRow[]): Promise<Entry[]> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const [first = ""] = lines;
  if (/^\s*help(\s|$)/i.test(first)) return [entryOf(first, { output: helpText(table, first) })];
  const commands: Bytes[][] = [];
  for (const line of lines) {
    const words = wordsOfLine(line);
    if (words === undefined) return [entryOf(line, { output: "Invalid argument(s)", isError: true })];
    commands.push(words);
  }
  const startMs = performance.now();
  try {
    const replies = await run(database, commands);
    const took = `(${durationText(performance.now() - startMs)})`;
    return lines.map((line, index) => {
      const reply = replies[index] ?? null;
      const output = printedText(reply, typeof reply === "string" ? textOfBytes(reply) : undefined);
      const isLast = index === lines.length - 1;
      return entryOf(line, { output: isLast ? `${output}\n${took}` : output, isError: output.startsWith("(error)") });
    });
  } catch (error) {
    return [entryOf(lines.join("\n"), { output: `(error) ${textOf(error)}`, isError: true })];
  }
}

function entryOf(line: string, { output, isError = false }: { output: string; isError?: boolean }): Entry {
  return { id: nextId++, line, output, isError };
}

function helpText(table: readonly CommandRow[], line: string): string {
  const wanted = line
    .trim()
    .replace(/^help\s*/i, "")
    .toUpperCase();
  if (wanted === "") {
    const groups = [...new Set(table.map(({ group }) => group))].map((group) => `@${group}`);
    return `help <command>, or help @<group>. Groups: ${groups.join(" ")}`;
  }
  const found = table.filter(({ name, group }) =>
    wanted.startsWith("@") ? group === wanted.slice(1).toLowerCase() : name === wanted || name.startsWith(`${wanted} `),
  );
  if (found.length === 0) return `There is no command ${wanted}`;
  const width = Math.max(...found.map(({ name }) => name.length));
  return found.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}`).join("\n");
}
