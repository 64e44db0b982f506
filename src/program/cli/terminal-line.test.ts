/** Texts that remain visible on a narrow terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { lineWriter, rewrite, WIPE } from "./terminal-line.ts";

const CLEAR_ROW = "\u001b[2K";
const NO_WRAP = "\u001b[?7l";
const WRAP = "\u001b[?7h";
const SEQUENCES = [CLEAR_ROW, NO_WRAP, WRAP];

/** Obeys only the sequences that larder sends; long texts wrap to the next row unless wrapping is off. */
class Screen {
  readonly rows = [""];
  readonly #columns: number;
  #column = 0;
  #wraps = true;

  constructor(columns: number) {
    this.#columns = columns;
  }

  readonly write = (text: string): void => {
    for (let at = 0; at < text.length; ) {
      const part = SEQUENCES.find((sequence) => text.startsWith(sequence, at)) ?? text.charAt(at);
      this.#obey(part);
      at += part.length;
    }
  };

  #obey(part: string): void {
    if (part === "\r") this.#column = 0;
    else if (part === "\n") this.#nextRow();
    else if (part === CLEAR_ROW) this.rows[this.rows.length - 1] = "";
    else if (part === NO_WRAP) this.#wraps = false;
    else if (part === WRAP) this.#wraps = true;
    else if (part < " ") throw new Error(`an unknown control: ${JSON.stringify(part)}`);
    else this.#print(part);
  }

  #print(char: string): void {
    if (this.#column === this.#columns && this.#wraps) this.#nextRow();
    this.#column = Math.min(this.#column, this.#columns - 1);
    const row = this.rows.at(-1)?.padEnd(this.#column) ?? "";
    this.rows[this.rows.length - 1] = row.slice(0, this.#column) + char + row.slice(this.#column + 1);
    this.#column += 1;
  }

  #nextRow(): void {
    this.rows.push("");
    this.#column = 0;
  }
}

test("log lines replace the open line, which continues below them", () => {
  const screen = new Screen(80);
  const log = createLog({ level: "info", format: "text", clock: new VirtualClock(0), sink: lineWriter(screen.write) });

  screen.write(rewrite("store: replaying 41 %"));
  log.info("recovered", { area: "vector" });
  assert.deepEqual(screen.rows, ["1970-01-01T00:00:00.000Z info  recovered area=vector", ""]);

  screen.write(rewrite("store: replaying 42 %"));
  screen.write(rewrite("store: 9 %"));
  assert.deepEqual(screen.rows, ["1970-01-01T00:00:00.000Z info  recovered area=vector", "store: 9 %"]);

  screen.write(WIPE);
  log.info("serving");
  assert.deepEqual(screen.rows, [
    "1970-01-01T00:00:00.000Z info  recovered area=vector",
    "1970-01-01T00:00:00.000Z info  serving",
    "",
  ]);
});

test("an open line wider than the terminal takes one row and is cleared completely", () => {
  const screen = new Screen(10);

  screen.write(rewrite("store: replaying 41 %, 210 MB/s"));
  assert.deepEqual(screen.rows.length, 1);
  assert.equal(screen.rows[0]?.slice(0, 9), "store: re");

  screen.write(WIPE);
  screen.write("0123456789ab");
  assert.deepEqual(screen.rows, ["0123456789", "ab"]);
});
