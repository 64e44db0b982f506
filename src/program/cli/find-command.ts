/** Finds the command that the arguments name, or says why they name none. */
import { type CommandRow, commandForm } from "./command-row.ts";
import { suggestionFor } from "./help/suggestion.ts";

/** The row with the longest words that the arguments begin with. */
export function findCommand(commands: readonly CommandRow[], words: readonly string[]): CommandRow | undefined {
  const isCalled = ({ words: own }: CommandRow): boolean =>
    own.split(" ").every((word, index) => word === words[index]);
  return commands
    .filter(isCalled)
    .reduce<CommandRow | undefined>(
      (longest, row) => (row.words.length > (longest?.words.length ?? 0) ? row : longest),
      undefined,
    );
}

/** The sentence about arguments that begin with no command. */
export function unknownCommand(commands: readonly CommandRow[], words: readonly string[]): string {
  const [first = "", second] = words;
  const known = findCommand(commands, words);
  if (known !== undefined) {
    const extra = words[known.words.split(" ").length] ?? "";
    return `Unknown argument ${JSON.stringify(extra)} after larder ${known.words}`;
  }
  const parts = commands.filter((row) => row.words.startsWith(`${first} `));
  if (parts.length === 0) {
    const all = [...new Set(commands.map((row) => row.words.split(" ", 1)[0] ?? ""))];
    const suggestion = suggestionFor(first, all) || ": larder help lists the commands";
    return `Unknown command ${JSON.stringify(first)}${suggestion}`;
  }
  const next = parts.map((row) => row.words.slice(first.length + 1));
  const suggestion = second === undefined ? "" : suggestionFor(second, next);
  if (suggestion !== "") return `Unknown command ${JSON.stringify(`${first} ${second}`)}${suggestion}`;
  return `Incomplete command: use ${parts.map(commandForm).join(" or ")}`;
}
