/** `larder service …` on a machine that is a folder, whose programs are noted and not run. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { missingProgram } from "../../../../test/harness/required-programs.ts";
import { StartRefusal } from "../../refusal.ts";
import { readSettings } from "../../settings/read-settings.ts";
import { installService, planService } from "./install.ts";
import type { Machine } from "./machine.ts";
import { uninstallService } from "./uninstall.ts";
import { printUnit } from "./unit.ts";

const UNIT = "/etc/systemd/system/larder.service";
const ENVIRONMENT = "/etc/larder/larder.env";

interface NotedMachine extends Machine {
  /** The programs that were run since the last look. */
  readonly ran: () => readonly string[];
}

function machineIn(context: TestContext, changes: Partial<Machine> = {}): NotedMachine {
  const root = mkdtempSync(join(tmpdir(), "larder-service-"));
  context.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "run/systemd/system"), { recursive: true });
  const noted: string[] = [];
  return {
    root,
    isOfUser: false,
    userId: 0,
    home: { config: "/home/ada/.config", state: "/home/ada/.local/state" },
    node: "/usr/bin/node",
    program: "/usr/lib/node_modules/larderd/bin/larder.cjs",
    runProgram(program, words) {
      noted.push([program, ...words].join(" ").replace(root, ""));
      const id = words[0] === "-u" ? process.getuid?.() : process.getgid?.();
      return { status: 0, stdout: program === "id" ? `${id}\n` : "", stderr: "" };
    },
    ran: () => noted.splice(0),
    ...changes,
  };
}

function plan(machine: Machine, words = "", environment: Readonly<Record<string, string>> = {}, file = "{}") {
  const given = ["service", "install", ...words.split(" ").filter((word) => word !== "")];
  const reading = readSettings({ arguments: given, environment, readFile: () => file });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  return planService(reading.run, machine);
}

function refusalOf(action: () => unknown): string {
  try {
    action();
  } catch (fault) {
    assert.ok(fault instanceof StartRefusal, String(fault));
    return fault.message;
  }
  assert.fail("it was not refused");
}

function write(machine: Machine, path: string, text: string): void {
  mkdirSync(dirname(join(machine.root, path)), { recursive: true });
  writeFileSync(join(machine.root, path), text);
}

test("an installation writes the unit, its user and a closed file for secrets, and starts the service once", (context) => {
  const machine = machineIn(context);
  const lines = installService(plan(machine, "--host 0.0.0.0"), machine);
  assert.deepEqual(lines, [
    "/etc/systemd/system/larder.service is written, and the service has been started",
    "state:   systemctl status larder",
    "log:     journalctl -u larder",
    "tokens:  sudo -u larder larder env --data-dir /var/lib/larder",
    "secrets: /etc/larder/larder.env; after a change: systemctl restart larder",
  ]);
  assert.deepEqual(machine.ran(), [
    "systemd-sysusers /etc/sysusers.d/larder.conf",
    "systemctl daemon-reload",
    "systemctl enable larder.service",
    "systemctl restart larder.service",
  ]);
  const unit = readFileSync(join(machine.root, UNIT), "utf8");
  assert.match(
    unit,
    /^ExecStart=\/usr\/bin\/node --disable-sigusr1 \/usr\/lib\/node_modules\/larderd\/bin\/larder\.cjs serve --data-dir \/var\/lib\/larder --host 0\.0\.0\.0$/m,
  );
  for (const line of [
    "User=larder",
    "StateDirectory=larder",
    "TimeoutStopSec=45",
    "EnvironmentFile=/etc/larder/larder.env",
  ])
    assert.ok(unit.includes(`\n${line}\n`), line);
  assert.equal(statSync(join(machine.root, ENVIRONMENT)).mode & 0o777, 0o600);
  assert.match(readFileSync(join(machine.root, ENVIRONMENT), "utf8"), /^#LARDER_STORE_TOKEN=$/m);

  assert.match(installService(plan(machine, "--host 0.0.0.0"), machine)[0] ?? "", / is up to date, /);
  assert.ok(machine.ran().includes("systemctl start larder.service"));
  installService(plan(machine, "--shutdown-grace 20s"), machine);
  assert.ok(machine.ran().includes("systemctl restart larder.service"));
  assert.match(readFileSync(join(machine.root, UNIT), "utf8"), /^TimeoutStopSec=75$/m);
});

test("a removal keeps the data, the user and secrets that were set, and may be repeated", (context) => {
  const machine = machineIn(context);
  installService(plan(machine), machine);
  assert.deepEqual(uninstallService(machine), [
    "The service has been stopped, and /etc/systemd/system/larder.service removed",
    "Kept: the data directory /var/lib/larder, the user larder",
  ]);
  assert.ok(machine.ran().includes("systemctl disable --now larder.service"));
  for (const path of [UNIT, ENVIRONMENT, "/etc/sysusers.d/larder.conf"])
    assert.equal(existsSync(join(machine.root, path)), false, path);
  assert.deepEqual(uninstallService(machine), ["There is no /etc/systemd/system/larder.service: nothing was changed"]);

  installService(plan(machine), machine);
  writeFileSync(join(machine.root, ENVIRONMENT), "LARDER_ADMIN_TOKEN=secret\n");
  assert.match(uninstallService(machine)[1] ?? "", /^Kept: .*, \/etc\/larder\/larder\.env, /);
});

test("an installation changes nothing on a machine that does not allow it", (context) => {
  const machine = machineIn(context);
  const foreign = machineIn(context);
  write(foreign, UNIT, "[Service]\n");
  const packaged = machineIn(context);
  write(packaged, "/usr/lib/systemd/system/larder.service", "[Service]\n");
  const without = machineIn(context);
  rmSync(join(without.root, "run"), { recursive: true });
  for (const [refusing, sentence] of [
    [without, /^systemd does not run on this machine: .*--print prints$/],
    [{ ...machine, userId: 1000 }, /^A service of the machine needs root: .*--user/],
    [{ ...machine, isOfUser: true }, /^--user is for a service of your own, and this is root/],
    [foreign, /^\/etc\/systemd\/system\/larder\.service is not from larder service install/],
    [packaged, /^\/usr\/lib\/systemd\/system\/larder\.service is not from larder service install/],
  ] as const) {
    const service = plan(refusing);
    assert.match(
      refusalOf(() => installService(service, refusing)),
      sentence,
    );
    assert.match(
      refusalOf(() => uninstallService(refusing)),
      sentence,
    );
    assert.equal(existsSync(join(refusing.root, ENVIRONMENT)), false);
  }
  assert.deepEqual([...machine.ran(), ...foreign.ran(), ...packaged.ran(), ...without.ran()], []);
  const failing = machineIn(context, { runProgram: () => ({ status: 1, stdout: "", stderr: "no bus\n" }) });
  assert.equal(
    refusalOf(() => installService(plan(failing), failing)),
    `systemd-sysusers ${failing.root}/etc/sysusers.d/larder.conf failed: no bus`,
  );
});

test("settings that the service would not have, or could not read, are refused by name", (context) => {
  const machine = machineIn(context);
  for (const [words, environment, sentence] of [
    ["", { LARDER_HOST: "::1" }, /^LARDER_HOST is set here, .*: unset it, and use --host, or set it in \/etc\/larder/],
    [
      "",
      { LARDER_ADMIN_TOKEN: "secret" },
      /^LARDER_ADMIN_TOKEN is set here, .*: unset it, and set it in \/etc\/larder/,
    ],
    ["--data-dir /home/ada/data", {}, /^--data-dir: \/home\/ada\/data is in \/home, which a service of the machine/],
    ["--config /tmp/larder.json", {}, /^--config: \/tmp\/larder\.json is in \/tmp, /],
    ["--replicate file:///root/copy", {}, /^--replicate: \/root\/copy is in \/root, /],
    ["--cluster postgres://db1/larder --cluster-node a", {}, /^--cluster: the command installs a single server/],
    ["--data-dir /srv/a\nUser=root", {}, /^"\/srv\/a\\nUser=root" has a control character/],
  ] as const)
    assert.match(
      refusalOf(() => plan(machine, words, environment)),
      sentence,
      words,
    );
  const relative = JSON.stringify({ tlsCert: "/etc/cert.pem", tlsKey: "key.pem" });
  assert.match(
    refusalOf(() => plan(machine, "--config /etc/larder.json", {}, relative)),
    /^tlsKey in \/etc\/larder\.json:1: key\.pem must be an absolute path for a service: \//,
  );
  const cached = { ...machine, program: "/root/.npm/_npx/0a/node_modules/larderd/bin/larder.cjs" };
  assert.match(
    refusalOf(() => plan(cached)),
    /^npx removes its packages/,
  );
});

test("a data directory outside of /var/lib is made for the user, and one of somebody else is refused", (context) => {
  const machine = machineIn(context);
  const words = "--data-dir /srv/larder --replicate file:///mnt/copy";
  assert.equal(
    refusalOf(() => installService(plan(machine, words), machine)),
    "/mnt/copy does not exist: create it, or mount its disk",
  );
  mkdirSync(join(machine.root, "/mnt/copy"), { recursive: true });
  installService(plan(machine, words), machine);
  assert.equal(statSync(join(machine.root, "/srv/larder")).mode & 0o777, 0o700);
  const unit = readFileSync(join(machine.root, UNIT), "utf8");
  assert.match(unit, /^RequiresMountsFor=\/srv\/larder \/mnt\/copy$/m);
  assert.match(unit, /^ReadWritePaths=\/srv\/larder \/mnt\/copy$/m);
  assert.doesNotMatch(unit, /^StateDirectory=/m);

  const other = machineIn(context, { runProgram: () => ({ status: 0, stdout: "4711\n", stderr: "" }) });
  mkdirSync(join(other.root, "/srv/larder"), { recursive: true });
  assert.match(
    refusalOf(() => installService(plan(other, "--data-dir /srv/larder"), other)),
    /^\/srv\/larder does not belong to the user larder: run chown -R larder: \/srv\/larder, /,
  );
  assert.equal(existsSync(join(other.root, UNIT)), false);
});

test("a service of a user has its files at home, and no part that only root can set up", (context) => {
  const machine = machineIn(context, { isOfUser: true, userId: 1000, program: "/home/ada/larder/bin/larder.cjs" });
  const lines = installService(plan(machine), machine);
  assert.equal(lines[3], "tokens:  larder env --data-dir /home/ada/.local/state/larder");
  assert.deepEqual(machine.ran()[0], "systemctl --user daemon-reload");
  const unit = readFileSync(join(machine.root, "/home/ada/.config/systemd/user/larder.service"), "utf8");
  assert.doesNotMatch(unit, /^(?:User|Protect|Private|StateDirectory|Capability)/m);
  assert.match(unit, /^EnvironmentFile=\/home\/ada\/\.config\/larder\/larder\.env$/m);
});

test("systemd reads the units without a complaint, with any path, and rates that of the machine as safe", {
  skip: missingProgram("systemd-analyze"),
}, (context) => {
  const machine = machineIn(context, { node: process.execPath, program: "/srv/a b/larder.cjs" });
  const strange = plan(machine, "--port 443");
  const words = [...strange.words, "--config", '/srv/"%h" $HOME\\n'];
  const unit = printUnit({ ...strange, words, writes: ["/srv/%h b"] })
    .replace(/^User=larder\n/m, "")
    .replace(/^EnvironmentFile=.*\n/m, "");
  assert.match(unit, / "\/srv\/a b\/larder\.cjs" serve .* --config "\/srv\/\\"%%h\\" \$\$HOME\\\\n"$/m);
  assert.match(unit, /^AmbientCapabilities=CAP_NET_BIND_SERVICE$/m);
  const own = { ...machine, isOfUser: true };
  const env = { ...process.env, XDG_RUNTIME_DIR: machine.root };
  for (const [scope, text] of [
    ["--system", unit],
    ["--user", printUnit(plan(own)).replace(/^EnvironmentFile=.*\n/m, "")],
  ] as const) {
    const path = join(machine.root, "larder.service");
    writeFileSync(path, text);
    const words = ["verify", scope, "--man=no", "--recursive-errors=no", path];
    const { status, stdout, stderr } = spawnSync("systemd-analyze", words, { encoding: "utf8", env });
    assert.deepEqual([status, stdout, stderr], [0, "", ""], scope);
  }
  writeFileSync(join(machine.root, "larder.service"), printUnit(plan(machine)));
  const rating = spawnSync(
    "systemd-analyze",
    ["security", "--offline=true", "--threshold=25", "--no-pager", join(machine.root, "larder.service")],
    { encoding: "utf8" },
  );
  assert.equal(rating.status, 0, rating.stdout.split("\n").slice(-3).join("\n"));
});
