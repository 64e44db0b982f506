/**
 * `larder completions`: a script for bash, zsh or fish that completes commands,
 * flags, values and files. The tables of commands and settings are in the
 * script, so that pressing tab starts no process.
 *
 * Each script first joins the words between `larder` and the first flag. The
 * joined words select the next words and the flags; the flag before the cursor
 * selects its values.
 */
import type { Setting } from "../../settings/setting.ts";
import { settingList } from "../../settings/settings.ts";
import { parsePath } from "../../settings/values.ts";
import type { CommandRow } from "../command-row.ts";
import { SETTINGS_TOPIC } from "./help-text.ts";
import type { Shell } from "./rows.ts";

/** What a shell offers at a place. */
interface Offer {
  readonly words: readonly string[];
  readonly files: boolean;
}

/** The joined words before a place, and the offer there. */
interface Place extends Offer {
  readonly before: string;
}

interface CommandFlags {
  readonly words: string;
  readonly flags: readonly string[];
}

interface FlagValues extends Offer {
  readonly flag: string;
}

export function completionScript(commands: readonly CommandRow[], shell: Shell): string {
  return printers[shell](commands);
}

type Commands = readonly CommandRow[];

const printers: Readonly<Record<Shell, (commands: Commands) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function bashScript(commands: Commands): string {
  const offer = ({ words, files }: Offer): string => {
    const parts = words.length === 0 ? [] : [`COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$current"))`];
    // `-o filenames` marks directories with a slash and escapes spaces.
    if (files) parts.push(`_larder_files "$current"`);
    return parts.length === 0 ? ":" : parts.join("; ");
  };
  return `# Completions of larder for bash. In ~/.bashrc: source <(larder completions bash)
_larder_files() {
  compopt -o filenames 2>/dev/null
  local file
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$1")
}
_larder() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" before="" word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && break
    before="$before\${before:+ }$word"
  done
  case "$previous" in
${flagValues(commands)
  .map((row) => `    ${row.flag}) ${offer(row)}; return ;;`)
  .join("\n")}
  esac
  if [[ $current == -* ]]; then
    case "$before" in
${commandFlags(commands)
  .map(({ words, flags }) => `      "${words}"|"${words} "*) ${offer({ words: flags, files: false })} ;;`)
  .join("\n")}
      *) ${offer({ words: ["--help", "--version"], files: false })} ;;
    esac
    return
  fi
  case "$before" in
${places(commands)
  .map((place) => `    "${place.before}") ${offer(place)} ;;`)
  .join("\n")}
  esac
}
complete -F _larder larder larderd
`;
}

function zshScript(commands: Commands): string {
  const offer = ({ words, files }: Offer): string => {
    const parts = words.length === 0 ? [] : [`compadd -- ${words.join(" ")}`];
    if (files) parts.push("_files");
    return parts.length === 0 ? ":" : parts.join("; ");
  };
  return `#compdef larder larderd
# Completions of larder for zsh. In ~/.zshrc, after compinit: source <(larder completions zsh)
_larder() {
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}" before="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && break
    before="$before\${before:+ }$word"
  done
  case "$previous" in
${flagValues(commands)
  .map((row) => `    (${row.flag}) ${offer(row)}; return ;;`)
  .join("\n")}
  esac
  if [[ $current == -* ]]; then
    case "$before" in
${commandFlags(commands)
  .map(({ words, flags }) => `      ("${words}"|"${words} "*) ${offer({ words: flags, files: false })} ;;`)
  .join("\n")}
      (*) ${offer({ words: ["--help", "--version"], files: false })} ;;
    esac
    return
  fi
  case "$before" in
${places(commands)
  .map((place) => `    ("${place.before}") ${offer(place)} ;;`)
  .join("\n")}
  esac
}
if [[ $funcstack[1] == _larder ]]; then _larder "$@"; else compdef _larder larder larderd; fi
`;
}

function fishScript(commands: Commands): string {
  const offer = ({ words, files }: Offer): string => {
    const parts = words.length === 0 ? [] : [`string join \\n -- ${words.join(" ")}`];
    if (files) parts.push("__fish_complete_path $current");
    return parts.length === 0 ? "true" : parts.join("; ");
  };
  return `# Completions of larder for fish. larder completions fish > ~/.config/fish/completions/larder.fish
function __larder_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l previous $words[-1]
  set -l before
  for word in $words[2..-1]
    string match -q -- '-*' $word; and break
    set -a before $word
  end
  set before (string join ' ' -- $before)
  switch "$previous"
${flagValues(commands)
  .map((row) => `    case ${row.flag}\n      ${offer(row)}\n      return`)
  .join("\n")}
  end
  if string match -q -- '-*' $current
    switch "$before"
${commandFlags(commands)
  .map(({ words, flags }) => `      case '${words}' '${words} *'\n        ${offer({ words: flags, files: false })}`)
  .join("\n")}
      case '*'
        ${offer({ words: ["--help", "--version"], files: false })}
    end
    return
  end
  switch "$before"
${places(commands)
  .map((place) => `    case '${place.before}'\n      ${offer(place)}`)
  .join("\n")}
  end
end
complete -c larder -c larderd -f -a '(__larder_complete)'
`;
}

/** The offer after each sequence of words that begins a command, and after each command with operands. */
function places(commands: Commands): readonly Place[] {
  const names = commands.map(({ words }) => words);
  const befores = new Set(["", ...names.flatMap(prefixesOf)]);
  const list = [...befores].map((before) => ({
    before,
    words: [...nextWords(before, names), ...operandWords(commands, before)],
    files: commands.some((row) => row.words === before && row.operandValues === "files"),
  }));
  const described = commands.filter((row) => row.operandValues === "commands");
  const longer = described.flatMap(({ words }) =>
    [...befores]
      .filter((before) => nextWords(before, names).length > 0 && before !== "")
      .map((before) => ({ before: `${words} ${before}`, words: nextWords(before, names), files: false })),
  );
  return [...list, ...longer].filter(({ words, files }) => files || words.length > 0);
}

/** The words that a command has as operands. */
function operandWords(commands: Commands, before: string): readonly string[] {
  const values = commands.find(({ words }) => words === before)?.operandValues;
  if (values === undefined || values === "files") return [];
  if (values !== "commands") return values;
  const names = commands.map(({ words }) => words);
  return [...nextWords("", names), SETTINGS_TOPIC];
}

/** `token` and `token reset` of `token reset`. */
function prefixesOf(words: string): readonly string[] {
  const list = words.split(" ");
  return list.map((_, index) => list.slice(0, index + 1).join(" "));
}

/** The words that may follow, so that a command results. */
function nextWords(before: string, names: readonly string[]): readonly string[] {
  const start = before === "" ? "" : `${before} `;
  const rests = names.filter((words) => words.startsWith(start)).map((words) => words.slice(start.length));
  return [...new Set(rests.map((rest) => rest.split(" ", 1)[0] ?? ""))];
}

/** The flags of each command; longer commands first, because `import` also begins `import vector`. */
function commandFlags(commands: Commands): readonly CommandFlags[] {
  const settings = settingList.map(([, row]) => row.flag);
  const flagsOf = (row: CommandRow): readonly string[] => {
    const own = row.options.map(({ flag }) => flag);
    return [...own, ...(row.ignoresSettings ? [] : settings), "--help"].filter((flag) => flag !== undefined);
  };
  return commands
    .map((row) => ({ words: row.words, flags: flagsOf(row) }))
    .sort((left, right) => right.words.length - left.words.length);
}

/** Flags with a value, and the offered values. */
function flagValues(commands: Commands): readonly FlagValues[] {
  const options = commands.flatMap((row) => row.options);
  const own = options.flatMap(({ flag, argument }) =>
    flag === undefined || argument === undefined ? [] : [{ flag, words: choicesOf(argument), files: false }],
  );
  const settings = settingList.flatMap(([, row]) => (row.flag === undefined ? [] : [valuesOf(row.flag, row)]));
  const byFlag = new Map([...own, ...settings].map((values) => [values.flag, values]));
  return [...byFlag.values()];
}

function valuesOf(flag: string, { argument, parse }: Setting<unknown>): FlagValues {
  const { enum: values = [] } = parse.schema;
  const words = values.filter((value) => typeof value === "string");
  return { flag, words: words.length > 0 ? words : choicesOf(argument), files: parse === parsePath };
}

/** The words of `always|everysec|no`, and `off` of `<port>|off`. */
function choicesOf(argument: string): readonly string[] {
  return argument.split("|").filter((choice) => /^[A-Za-z][A-Za-z_-]*$/.test(choice));
}
