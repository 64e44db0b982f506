/** The commands in blocks of pages, split into words as a shell splits them, as far as the pages need it. */
import type { Snippet } from "./page-snippets.ts";

export interface PageLine {
  readonly snippet: Snippet;
  /** As on the page, without a comment at its end. */
  readonly text: string;
  /** Without assignments before the command and redirections. */
  readonly words: readonly string[];
}

/** Those of blocks of commands; an indented block has none. */
export const languagesOfCommands: readonly string[] = ["", "sh", "bash"];

/** The commands of a block in their order: between pipes, `&&` and `;` too. */
export function linesOf(snippet: Snippet): readonly PageLine[] {
  if (!languagesOfCommands.includes(snippet.language)) return [];
  const all = snippet.text.split("\n");
  // Where commands have a prompt, the rest is what they print.
  const hasPrompts = all.some((line) => line.startsWith("$ "));
  const shown = hasPrompts ? all.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)) : all;
  return commandsIn(shown.join("\n")).map(({ text, words }) => ({ snippet, text, words }));
}

/** Quoted texts, a line that goes on after a backslash, comments, what ends a command, redirections, and words. */
const TOKEN =
  /(?<quoted>'[^']*'|"(?:[^"\\]|\\.)*")|(?<joined>\\\n)|(?<comment>(?<=^|\s)#.*)|(?<end>\n|&&|\|\|?|;|&)|(?<redirect>\d?>>?(?:&\d|\s*\S+)|<\(?)|(?<space>[^\S\n]+)|(?<plain>\\.|[^\s'"|;&<>\\]+|.)/gy;

function commandsIn(text: string): { readonly text: string; readonly words: readonly string[] }[] {
  const commands: { text: string; words: string[] }[] = [];
  let words: string[] = [];
  let source = "";
  let word: string | undefined;
  const endWord = (): void => {
    const isAssignment = words.length === 0 && word !== undefined && /^\w+=/.test(word);
    if (word !== undefined && !isAssignment) words.push(word);
    word = undefined;
  };
  const endCommand = (): void => {
    endWord();
    if (words.length > 0) commands.push({ text: source.trim(), words });
    words = [];
    source = "";
  };
  for (const { 0: token, groups = {} } of text.matchAll(TOKEN)) {
    if (groups["end"] !== undefined) {
      endCommand();
      continue;
    }
    if (groups["comment"] === undefined) source += token;
    if (groups["quoted"] !== undefined) word = (word ?? "") + token.slice(1, -1);
    else if (groups["plain"] !== undefined) word = (word ?? "") + token;
    else endWord();
  }
  endCommand();
  return commands;
}
