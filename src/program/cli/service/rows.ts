/** `larder service install` and `larder service uninstall`, as rows of the table. */
import type { CommandOption, CommandRow } from "../command-row.ts";

const userOption: CommandOption = {
  name: "user",
  flag: "--user",
  meaning: "a service of this user, who needs no other rights; otherwise one of the machine, which needs root",
};

export const serviceRows: readonly CommandRow[] = [
  {
    words: "service install",
    group: "Servers",
    operands: [],
    options: [{ name: "print", flag: "--print", meaning: "prints the unit, and changes nothing" }, userOption],
    meaning:
      "makes larder serve with the given flags a service of systemd, and starts it; the data directory is /var/lib/larder unless set",
    example: "larder service install --print",
    mainSettings: ["dataDirectory", "config", "host", "storePort", "messagingPort", "vectorPort", "adminPort"],
    defaults: "serve",
    async run({ run, options, print }) {
      const { installService, planService } = await import("./install.ts");
      const { machineOf } = await import("./machine.ts");
      const { printUnit } = await import("./unit.ts");
      const machine = machineOf({ isOfUser: options.has("user") });
      const service = planService(run, machine);
      if (options.has("print")) print(printUnit(service).trimEnd());
      else for (const line of installService(service, machine)) print(line);
      return 0;
    },
  },
  {
    words: "service uninstall",
    group: "Servers",
    operands: [],
    options: [userOption],
    meaning: "stops the service that larder service install made, and removes its unit; the data directory stays",
    example: "larder service uninstall",
    ignoresSettings: true,
    defaults: "serve",
    async run({ options, print }) {
      const { uninstallService } = await import("./uninstall.ts");
      const { machineOf } = await import("./machine.ts");
      for (const line of uninstallService(machineOf({ isOfUser: options.has("user") }))) print(line);
      return 0;
    },
  },
];
