/** `larder config …`, as rows of the table of commands. */
import { type CommandOption, type CommandRow, devOption } from "../command-row.ts";

const asInDev: CommandOption = { ...devOption, meaning: "reads the settings as larder dev does, with its defaults" };

export const configRows: readonly CommandRow[] = [
  {
    words: "config check",
    group: "Configuration",
    operands: [],
    options: [asInDev],
    meaning: "checks flags, variables and the configuration file as serve would, and prints each problem with its line",
    example: "larder config check --config larder.json",
    mainSettings: ["config"],
    defaults: "serve",
    async run({ run, print }) {
      const { checkConfig } = await import("./check.ts");
      return checkConfig(run, print);
    },
    refused(problems, print) {
      for (const problem of problems) print(problem);
      return 1;
    },
  },
  {
    words: "config print",
    group: "Configuration",
    operands: [],
    options: [
      { name: "json", flag: "--json", meaning: "prints one line of JSON" },
      {
        name: "running",
        flag: "--running",
        meaning: "asks the running server for the settings that it was started with",
      },
      asInDev,
    ],
    meaning: "prints each setting that serve would have, and its source; of secrets only whether they are set",
    example: "larder config print --config larder.json",
    mainSettings: ["config"],
    defaults: "serve",
    async run({ run, options, print }) {
      const { configJson, configLines, settingLines } = await import("./print.ts");
      if (options.has("running")) {
        const { callServer } = await import("../running-server.ts");
        const { askForSettings } = await import("../../../edge/admin/client.ts");
        const settings = await callServer(run, askForSettings);
        if (options.has("json")) print(JSON.stringify({ settings }));
        else for (const line of settingLines(settings)) print(line);
        return 0;
      }
      if (options.has("json")) print(configJson(run));
      else for (const line of configLines(run)) print(line);
      return 0;
    },
  },
  {
    words: "config example",
    group: "Configuration",
    operands: [],
    options: [],
    meaning: "prints a configuration file that has every setting with its default, as comments",
    example: "larder config example",
    ignoresSettings: true,
    defaults: "serve",
    async run({ version, print }) {
      const { configExample } = await import("./example.ts");
      print(configExample(version).trimEnd());
      return 0;
    },
  },
];
