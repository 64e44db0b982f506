/**
 * Reads settings from arguments, environment and configuration file.
 *
 * A flag overrides the environment, which overrides the file, which overrides
 * the default. Every unknown or invalid value is reported by name, all at once,
 * so that three mistakes do not take three starts to find.
 */

import { NoText } from "../../persistence/disk/text-file.ts";
import { type CommandRow, commandForm } from "../cli/command-row.ts";
import { commandRows } from "../cli/commands.ts";
import { findCommand, unknownCommand } from "../cli/find-command.ts";
import { suggestionFor } from "../cli/help/suggestion.ts";
import { type Combination, clusterCombinations, isClustered } from "../cluster/setting-rules.ts";
import { TEST_RUN_VARIABLE } from "../facts.ts";
import { copyCombinations } from "../services/objects/copy-rules.ts";
import { type Configuration, emptyConfiguration, parseConfiguration, placeIn } from "./config.ts";
import type { Position } from "./config-text.ts";
import type { ProviderEnvironment } from "./embedding-settings.ts";
import type { Origin, RunSettings, Source } from "./run-settings.ts";
import type { Command, Setting } from "./setting.ts";
import { type SettingName, type Settings, settingList, settingRows } from "./settings.ts";
import { BadValue, isAddress, isLoopback } from "./values.ts";

export interface SettingsInput {
  /** The arguments after the program's name. */
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The whole text of a file; throws as `readTextFile` does. */
  readonly readFile: (path: string) => string;
  /** Whether problems of the configuration file name their lines; false for a text that no person wrote. */
  readonly hasLines?: boolean;
  /** Whether an optional package can be imported; the default tries to resolve it. */
  readonly hasPackage?: (name: string) => boolean;
}

export type SettingsReading =
  | {
      readonly kind: "run";
      readonly command: CommandRow;
      readonly run: RunSettings;
      readonly operands: readonly string[];
      /** The words after `--`; undefined: there was none. */
      readonly trailing: readonly string[] | undefined;
      /** By the name of the command's option. */
      readonly options: ReadonlyMap<string, string>;
    }
  /** The topic: the words of a command, or none. */
  | { readonly kind: "help"; readonly topic: readonly string[] }
  | { readonly kind: "version" }
  /** One sentence for each problem. The command is absent if the arguments name none. */
  | { readonly kind: "refused"; readonly problems: readonly string[]; readonly command?: CommandRow };

export function readSettings(input: SettingsInput): SettingsReading {
  const { words, trailing } = splitTrailing(input.arguments);
  if (words.includes("--help") || words.includes("-h")) return { kind: "help", topic: topicOf(words) };
  if (words.includes("--version") || words.includes("-v")) return { kind: "version" };
  if (words[0] === undefined || words[0].startsWith("-"))
    return refused("Missing command: use larder serve, larder dev or larder check (larder help lists the commands)");
  const command = findCommand(commandRows, words);
  if (command === undefined) return refused(unknownCommand(commandRows, wordsBeforeFlags(words)));
  const rest = words.slice(command.words.split(" ").length);
  const found = collect(input, command, rest);
  const { operands } = found;
  const { run, problems } = decide(commandOf(command, found.options), found);
  const all = [...checkOperands(command, operands), ...found.problems, ...problems];
  if (trailing?.length === 0) all.push(`-- needs a command: ${commandForm(command)}`);
  return all.length > 0
    ? { kind: "refused", command, problems: all }
    : { kind: "run", command, run, operands, trailing, options: found.options };
}

/** The command whose defaults the settings have. */
function commandOf(command: CommandRow, options: ReadonlyMap<string, string>): Command {
  const option = command.options.find(({ name, defaults }) => defaults !== undefined && options.has(name));
  return option?.defaults ?? command.defaults;
}

/** The words up to `--`, if the command takes one, and the words after it. */
function splitTrailing(words: readonly string[]): {
  readonly words: readonly string[];
  readonly trailing: readonly string[] | undefined;
} {
  const index = findCommand(commandRows, words)?.trailing === undefined ? -1 : words.indexOf("--");
  return index < 0
    ? { words, trailing: undefined }
    : { words: words.slice(0, index), trailing: words.slice(index + 1) };
}

function wordsBeforeFlags(words: readonly string[]): readonly string[] {
  const count = words.findIndex((word) => word.startsWith("--"));
  return words.slice(0, count < 0 ? undefined : count);
}

/** The command that `--help` asks about; if the words begin with none, the words. */
function topicOf(words: readonly string[]): readonly string[] {
  const command = findCommand(commandRows, words);
  const count = words.findIndex((word) => word.startsWith("-"));
  return command === undefined ? words.slice(0, count) : command.words.split(" ");
}

function checkOperands(command: CommandRow, operands: readonly string[]): readonly string[] {
  const extra = operands.slice(command.operands.length);
  if (extra.length > 0)
    return extra.map((word) => `Unknown argument ${JSON.stringify(word)}: pass settings as --name value`);
  // An empty path would be the current directory, and an empty variable of a shell is the usual reason.
  const empty = command.operands.find((_, index) => operands[index] === "");
  if (empty !== undefined) return [`${empty} is empty: ${commandForm(command)}`];
  const address = operands.find((word, index) => isAddress(word) && PATH.test(command.operands[index] ?? ""));
  if (address !== undefined) return [`${JSON.stringify(address)} is an address, not a path: ${commandForm(command)}`];
  const missing = command.operands[operands.length];
  if (missing === undefined || missing.startsWith("[")) return [];
  return [`${missing} is missing: ${commandForm(command)}`];
}

/** An operand that is a path and nothing else. */
const PATH = /^\[?<(?:file|directory|data directory)\b/;

/** The text of each setting from its best source, and the configuration. */
interface Found {
  readonly texts: Map<SettingName, GivenText>;
  readonly configuration: Configuration;
  /** By the name of the command's option. */
  readonly options: ReadonlyMap<string, string>;
  /** The words that are neither flags nor their values. */
  readonly operands: readonly string[];
  readonly problems: string[];
  /** Settings whose intended value is unknown: their absence proves nothing. */
  readonly spoilt: Set<SettingName>;
}

interface GivenText extends Origin {
  readonly text: string;
  /** How a problem of the value begins, unless with the place. */
  readonly problemStart?: string;
}

function collect(input: SettingsInput, command: CommandRow, words: readonly string[]): Found {
  const problems: string[] = [];
  const options = new Map<string, string>();
  const operands: string[] = [];
  const texts = new Map<SettingName, GivenText>();
  const spoilt = new Set<SettingName>();
  const reading = { command, options, operands, problems, spoilt };
  const note = (name: SettingName, given: GivenText): void => {
    if (!texts.has(name)) texts.set(name, given);
  };
  for (const [name, given] of readFlags(words, reading)) note(name, given);
  const found = { texts, options, operands, problems, spoilt };
  if (command.ignoresSettings) return { ...found, configuration: emptyConfiguration };
  for (const [name, given] of readEnvironment(input, reading)) note(name, given);
  const path = texts.get("config")?.text;
  if (path === undefined) return { ...found, configuration: emptyConfiguration };

  const configuration = readConfigurationFile(input, path, problems);
  const isUnreadable = configuration === emptyConfiguration;
  for (const [name, row] of settingList) {
    if (isUnreadable && row.fileKey !== undefined) spoilt.add(name);
    const text = row.fileKey === undefined ? undefined : configuration.settings.get(row.fileKey);
    if (row.fileKey === undefined || text === undefined) continue;
    const place = placeIn(path, configuration, row.fileKey);
    const position = configuration.positionOf?.(row.fileKey);
    note(name, {
      text,
      source: "file",
      place,
      ...(position && { problemStart: `${at(path, position)} ${row.fileKey}` }),
    });
  }
  if (configuration.adminToken !== undefined) {
    const place = placeIn(path, configuration, "admin.token");
    note("adminToken", { text: configuration.adminToken, source: "file", place });
  }
  return { ...found, configuration };
}

/** Values go to the settings, or to the options of the command. */
interface Reading {
  readonly command: CommandRow;
  readonly options: Map<string, string>;
  readonly operands: string[];
  readonly problems: string[];
  readonly spoilt: Set<SettingName>;
}

function readFlags(
  words: readonly string[],
  { command, options, operands, problems, spoilt }: Reading,
): Map<SettingName, GivenText> {
  const given = new Map<SettingName, GivenText>();
  const byFlag = new Map(settingList.map(([name, row]) => [row.flag, name]));
  const optionsByFlag = new Map(command.options.map((option) => [option.flag, option]));
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    if (!word.startsWith("--")) {
      operands.push(word);
      continue;
    }
    const [flag = "", inline] = splitOnce(word, "=");
    const name = byFlag.get(flag as `--${string}`);
    const option = optionsByFlag.get(flag as `--${string}`);
    if (name === undefined && option === undefined) {
      problems.push(unknownFlag(flag, command));
      // The word after an unknown flag is its value, not another mistake.
      if (inline === undefined && words[index + 1]?.startsWith("--") === false) index += 1;
      continue;
    }
    const argument = name === undefined ? option?.argument : settingRows[name].argument;
    if (inline !== undefined && argument === undefined) {
      // A switch that counted as given would do the opposite of --replace=off.
      problems.push(`${flag} takes no value: leave out ${JSON.stringify(`=${inline}`)}`);
      continue;
    }
    if (inline === undefined && argument !== undefined) index += 1;
    const text = inline ?? (argument === undefined ? "on" : words[index]);
    if (text === undefined || (inline === undefined && text.startsWith("--"))) {
      problems.push(`${flag} needs a value: ${flag} ${argument}`);
      if (text !== undefined) index -= 1;
      if (name !== undefined) spoilt.add(name);
    } else if (name === undefined ? options.has(option?.name ?? "") : given.has(name)) {
      problems.push(`${flag} is given twice`);
    } else if (name !== undefined) {
      given.set(name, { text, source: "flag", place: flag });
    } else if (option !== undefined) {
      options.set(option.name, text);
    }
  }
  return given;
}

function unknownFlag(flag: string, command: CommandRow): string {
  const owners = commandRows.filter((row) => row.options.some((option) => option.flag === flag));
  if (owners.length > OWNERS_NAMED_MAX) return `larder ${command.words} has no ${flag}, which other commands have`;
  if (owners.length > 0) return `${flag} belongs to ${owners.map(({ words }) => `larder ${words}`).join(" and ")}`;
  const own = command.options.map((option) => option.flag);
  const known = [...own, ...settingList.map(([, row]) => row.flag)].filter((each) => each !== undefined);
  return `Unknown flag ${flag}${suggestionFor(flag, known) || SETTINGS_REMEDY}`;
}

/** A longer list of commands helps nobody. */
const OWNERS_NAMED_MAX = 4;

const SETTINGS_REMEDY = ": larder help settings lists the settings";

const PREFIX = "LARDER_";
const FILE_SUFFIX = "_FILE";

/**
 * Variables that Kubernetes sets in every pod for a service whose name begins with `larder`. They would otherwise count
 * as misspelt settings, or as a bad value of `LARDER_PORT`.
 */
function isServiceLink(variable: string, value: string): boolean {
  return /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP)(_|$)/.test(variable) || /^(tcp|udp):\/\//.test(value);
}

function readEnvironment(input: SettingsInput, { command, options, problems }: Reading): Map<SettingName, GivenText> {
  const given = new Map<SettingName, GivenText>();
  // All commands may share an environment, so it may have variables of other commands, and a test may start a server.
  const known = new Set([TEST_RUN_VARIABLE, ...commandRows.flatMap((row) => row.options.flatMap(variablesOf))]);
  for (const option of command.options) {
    const found = readVariable(input, option.environment, { isSecret: true, problems });
    if (found !== undefined && !options.has(option.name)) options.set(option.name, found.text);
  }
  const isDev = commandOf(command, options) === "dev";
  for (const [name, row] of settingList) {
    for (const variable of row.environment) {
      if (isDev && row.devIgnores?.includes(variable)) continue;
      const isSecret = row.secret === true;
      for (const each of variablesOf({ environment: variable, isSecret })) known.add(each);
      const found = readVariable(input, variable, { isSecret, problems });
      if (found !== undefined && !given.has(name)) given.set(name, { ...found, source: "environment" });
    }
  }
  for (const [variable, value] of Object.entries(input.environment)) {
    if (!variable.startsWith(PREFIX) || known.has(variable) || isServiceLink(variable, value ?? "")) continue;
    problems.push(`Unknown environment variable ${variable}${suggestionFor(variable, known) || SETTINGS_REMEDY}`);
  }
  return given;
}

function variablesOf({
  environment,
  isSecret = true,
}: {
  environment?: string;
  isSecret?: boolean;
}): readonly string[] {
  if (environment === undefined) return [];
  return isSecret ? [environment, `${environment}${FILE_SUFFIX}`] : [environment];
}

/** The value of a variable, or the content of the file that its `_FILE` variable names. */
function readVariable(
  input: SettingsInput,
  variable: string | undefined,
  { isSecret, problems }: { isSecret: boolean; problems: string[] },
): { text: string; place: string } | undefined {
  if (variable === undefined) return undefined;
  const text = findVariable(input, variable);
  const fileVariable = `${variable}${FILE_SUFFIX}`;
  const path = isSecret ? findVariable(input, fileVariable) : undefined;
  if (path === undefined) return text === undefined ? undefined : { text, place: variable };
  if (text !== undefined) problems.push(`${variable} and ${fileVariable} are both set: keep one of them`);
  const fileText = readSecretFile(input, { variable: fileVariable, path, problems });
  return fileText === undefined ? undefined : { text: fileText, place: fileVariable };
}

/** An empty variable counts as not set: compose files and CI write it that way. */
function findVariable(input: SettingsInput, variable: string): string | undefined {
  const value = input.environment[variable];
  return value === undefined || value === "" || isServiceLink(variable, value) ? undefined : value;
}

function readSecretFile(
  input: SettingsInput,
  { variable, path, problems }: { variable: string; path: string; problems: string[] },
): string | undefined {
  try {
    return input.readFile(path).trim();
  } catch (fault) {
    problems.push(`${variable}: ${describeFileFault(fault, path)}`);
    return undefined;
  }
}

function readConfigurationFile(input: SettingsInput, path: string, problems: string[]): Configuration {
  let text: string;
  try {
    text = input.readFile(path);
  } catch (fault) {
    problems.push(`Configuration file: ${describeFileFault(fault, path)}`);
    return emptyConfiguration;
  }
  const fileKeys = new Set(settingList.flatMap(([, row]) => (row.fileKey === undefined ? [] : [row.fileKey])));
  const { configuration, problems: found } = parseConfiguration(text, fileKeys, providerEnvironment(input));
  const hasLines = input.hasLines ?? true;
  problems.push(...found.map((problem) => `${hasLines ? at(path, problem.position) : `${path}:`} ${problem.text}`));
  return hasLines || configuration === emptyConfiguration ? configuration : { ...configuration, positionOf: undefined };
}

/** The start of a line about a place in a file, in the form that editors and terminals link: `larder.json:3:7:`. */
function at(path: string, { line, column }: Position): string {
  return `${path}:${line}:${column}:`;
}

/** The things that the file may refer to: other files, variables, packages. */
function providerEnvironment(input: SettingsInput): ProviderEnvironment {
  return {
    readFile: (path) => {
      try {
        return input.readFile(path);
      } catch (fault) {
        throw new BadValue(describeFileFault(fault, path), { cause: fault });
      }
    },
    findVariable: (name) => findVariable(input, name),
    hasPackage: input.hasPackage ?? isInstalled,
  };
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

function describeFileFault(fault: unknown, path: string): string {
  const code = fault instanceof Error && "code" in fault ? fault.code : undefined;
  if (fault instanceof NoText) return fault.message;
  if (code === "ENOENT") return `there is no file ${path}`;
  if (code === "EACCES") return `no permission to read ${path}`;
  if (code === "ELOOP") return `${path} is a symbolic link that leads back to itself`;
  return `${path} cannot be read (${String(code ?? fault)})`;
}

/** The settings and their problems. If there are problems, the settings must not be used. */
function decide(command: Command, found: Found): { readonly run: RunSettings; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const values: [SettingName, unknown][] = [];
  const origins: [SettingName, Origin][] = [];
  const texts = new Map<SettingName, string>();
  const spoilt = new Set(found.spoilt);
  for (const [name, row] of settingList) {
    const given = found.texts.get(name);
    const text = given?.text ?? defaultText(row, command);
    const place = given?.place ?? row.flag ?? row.environment[0] ?? name;
    origins.push([name, { source: given?.source ?? "default", place }]);
    if (text !== undefined && row.secret !== true) texts.set(name, text);
    try {
      values.push([name, text === undefined ? undefined : row.parse(text)]);
    } catch (fault) {
      if (!(fault instanceof BadValue)) throw fault;
      problems.push(`${given?.problemStart ?? place}: ${fault.message}`);
      spoilt.add(name);
    }
  }
  // The parser of its row made each value.
  const run: RunSettings = {
    command,
    settings: Object.fromEntries(values) as unknown as Settings,
    origins: Object.fromEntries(origins) as Record<SettingName, Origin>,
    texts,
    configuration: found.configuration,
  };
  for (const { reads, problemsOf } of combinations)
    if (!reads.some((name) => spoilt.has(name))) problems.push(...problemsOf(run));
  return { run: problems.length > 0 ? run : settle(run), problems };
}

function defaultText(row: Setting<unknown>, command: Command): string | undefined {
  return command === "dev" && "devDefault" in row ? row.devDefault : row.default;
}

const AREA_PORTS = ["storePort", "messagingPort", "vectorPort"] as const;

const combinations: readonly Combination[] = [
  ...clusterCombinations,
  ...copyCombinations,
  pairOf("tlsCertificatePath", "tlsKeyPath"),
  pairOf("respCertificatePath", "respKeyPath"),
  {
    reads: ["http2", "tlsCertificatePath", "tlsKeyPath"],
    problemsOf({ settings, origins }) {
      if (!settings.http2 || settings.tlsCertificatePath !== undefined || settings.tlsKeyPath !== undefined) return [];
      return [
        `${origins.http2.place} needs TLS: set ${origins.tlsCertificatePath.place} and ${origins.tlsKeyPath.place} as well, or leave it out`,
      ];
    },
  },
  {
    reads: ["redisCompat", "host"],
    problemsOf({ settings, origins }) {
      if (!settings.redisCompat || isLoopback(settings.host)) return [];
      return [
        `${origins.redisCompat.place} accepts clients without a password, and other machines may reach ${settings.host}: set ${origins.host.place} 127.0.0.1, or turn it off`,
      ];
    },
  },
  {
    // These settings only have an effect with the RESP port.
    reads: ["respPort", "redisCompat", "respCertificatePath"],
    problemsOf({ settings, origins }) {
      if (settings.respPort !== undefined) return [];
      const idle = [
        ...(settings.redisCompat ? [origins.redisCompat] : []),
        ...(settings.respCertificatePath === undefined ? [] : [origins.respCertificatePath]),
      ];
      return idle.map(
        ({ place }) => `${place} has no effect without the RESP port: set --resp-port as well, or leave it out`,
      );
    },
  },
  {
    reads: ["port", ...AREA_PORTS],
    problemsOf(run) {
      const { origins } = run;
      if (onePortOf(run) === undefined) return [];
      return AREA_PORTS.filter((name) => origins[name].source === origins.port.source).map(
        (name) => `${origins.port.place} and ${origins[name].place} cannot both be set: one port serves all areas`,
      );
    },
  },
  {
    reads: ["port", "threads", ...AREA_PORTS],
    problemsOf(run) {
      const { settings, origins } = run;
      const isRefused =
        onePortOf(run) !== undefined && settings.threads === "per-area" && origins.threads.source !== "default";
      if (!isRefused) return [];
      return [
        `${origins.threads.place} per-area and ${origins.port.place} cannot both be set: one port is served by one thread`,
      ];
    },
  },
  {
    reads: ["port", "threads", "heapBytesMax", ...AREA_PORTS],
    problemsOf(run) {
      const { settings, origins } = run;
      const isOneThread = onePortOf(run) !== undefined || settings.threads === "one";
      if (!isOneThread || settings.heapBytesMax === undefined) return [];
      return [
        `${origins.heapBytesMax.place} needs a thread per area: with one thread, set NODE_OPTIONS=--max-old-space-size=<MB>`,
      ];
    },
  },
  {
    reads: ["port", "threads", "engineThreads", ...AREA_PORTS],
    problemsOf(run) {
      const { settings, origins } = run;
      const { place } = onePortOf(run) === undefined ? origins.threads : origins.port;
      const isOneThread = onePortOf(run) !== undefined || settings.threads === "one";
      if (!isOneThread || settings.engineThreads === 1) return [];
      return [
        `${origins.engineThreads.place} needs a thread per area, and ${place} runs all areas in one: keep one of them`,
      ];
    },
  },
];

/** A certificate needs its key. */
function pairOf(
  certificate: "tlsCertificatePath" | "respCertificatePath",
  key: "tlsKeyPath" | "respKeyPath",
): Combination {
  return {
    reads: [certificate, key],
    problemsOf({ settings, origins }) {
      if ((settings[certificate] === undefined) === (settings[key] === undefined)) return [];
      const [given, missing] = settings[key] === undefined ? [certificate, key] : [key, certificate];
      return [`${origins[given].place} needs ${origins[missing].place} as well: TLS needs a certificate and its key`];
    },
  };
}

/** `--port` replaces the three ports, unless one of them comes from a source of higher precedence. */
function onePortOf({ settings, origins }: RunSettings): number | undefined {
  const portRank = SOURCE_RANK[origins.port.source];
  return AREA_PORTS.some((name) => SOURCE_RANK[origins[name].source] > portRank) ? undefined : settings.port;
}

/** Applies the settings that follow from others. */
function settle(run: RunSettings): RunSettings {
  const port = onePortOf(run);
  const threads = port === undefined ? run.settings.threads : "one";
  // The journal of a cluster is in PostgreSQL, and what was not committed is lost with the node.
  const isSafer = isClustered(run) && run.origins.fsync.source === "default";
  const fsync = isSafer ? "always" : run.settings.fsync;
  const texts = new Map([
    ...run.texts,
    ["port", String(port ?? "off")],
    ["threads", threads],
    ["fsync", fsync],
  ] as const);
  return { ...run, texts, settings: { ...run.settings, port, threads, fsync } };
}

const SOURCE_RANK: Readonly<Record<Source, number>> = { default: 0, file: 1, environment: 2, flag: 3 };

function refused(...problems: readonly string[]): SettingsReading {
  return { kind: "refused", problems };
}

function splitOnce(text: string, separator: string): readonly [string, string | undefined] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}
