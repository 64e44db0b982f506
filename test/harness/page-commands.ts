/** The commands of a section of a page, which a test runs as a reader does: word by word, in one shell. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { assert } from "../../src/kernel/assert.ts";

/** The indented blocks below a heading of Markdown, up to the next heading of its level or above. */
export function blocksOf(page: string, heading: string): readonly string[] {
  const lines = page.split("\n");
  const start = lines.indexOf(heading);
  assert(start >= 0, `the page has the heading ${heading}`);
  const level = heading.indexOf(" ");
  const isEnd = (line: string): boolean => /^#+ /.test(line) && line.indexOf(" ") <= level;
  const length = lines.slice(start + 1).findIndex(isEnd);
  const section = lines.slice(start + 1, length === -1 ? undefined : start + 1 + length);
  const blocks: string[][] = [];
  let isInside = false;
  for (const line of section) {
    const isCode = line.startsWith("    ");
    if (isCode && isInside) blocks.at(-1)?.push(line.slice(4));
    else if (isCode) blocks.push([line.slice(4)]);
    isInside = isCode;
  }
  return blocks.map((block) => block.join("\n"));
}

export interface BlockEnd {
  /** Of its last command. */
  readonly code: number;
  readonly stdout: string;
}

const MARK = "end-of-block";

/** A shell that reads its commands from a pipe, as a terminal gives them. Commands in the background have no input. */
export class PageShell {
  readonly #child: ChildProcess;
  readonly #hasEnded: Promise<unknown>;
  #stdout = "";
  /** Everything printed on stderr so far. */
  stderr = "";
  #wake = (): void => {};

  constructor(options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> }) {
    // In its own group, so that nothing that it started stays.
    this.#child = spawn("bash", [], { ...options, stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      this.#wake();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    // A shell that has ended reads nothing more.
    this.#child.stdin?.on("error", () => {});
    this.#hasEnded = once(this.#child, "exit").then(() => this.#wake());
  }

  /** Runs a block to its end, and returns what it has printed. Rejects if the shell ends. */
  async run(block: string): Promise<BlockEnd> {
    this.#child.stdin?.write(`${block}\nprintf '\\n${MARK} %d\\n' $?\n`);
    const pattern = new RegExp(`\n${MARK} (\\d+)\n`);
    for (;;) {
      const found = pattern.exec(this.#stdout);
      if (found !== null) {
        const stdout = this.#stdout.slice(0, found.index);
        this.#stdout = this.#stdout.slice(found.index + found[0].length);
        return { code: Number(found[1]), stdout };
      }
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`the shell has ended in:\n${block}\n${this.#stdout}\n${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Ends the shell and everything that it started and that still runs. */
  async stop(): Promise<void> {
    const { pid } = this.#child;
    assert(pid !== undefined, "the shell was started");
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // The group has already ended.
    }
    await this.#hasEnded;
  }
}
