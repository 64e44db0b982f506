/** ACL: rules and what they allow, reports of changed users, tokens and the log. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import {
  error,
  nil,
  ok,
  type Row,
  type Session,
  splitLine,
  startSession,
} from "../../../test/harness/store-harness.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";
import { map, type Reply, set, simple } from "../reply/reply.ts";

const HASH_OF_P = "148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940";

function ruleError(rule: string, reason: string): Reply {
  return error(`ERR Error in ACL SETUSER modifier '${rule}': ${reason}`);
}

/** The rules that ACL LIST prints after this user's name. */
function rulesOf(session: Session, name: string): string | undefined {
  const lines = session.run("ACL LIST") as readonly string[];
  return lines.find((line) => line.startsWith(`user ${name} `))?.slice(`user ${name} `.length);
}

/** Rules for ACL SETUSER, and how ACL LIST prints them: as Redis does, except for the order of command rules. */
const described: readonly (readonly [rules: string, described: string])[] = [
  ["", "off resetchannels -@all"],
  ["on", "on resetchannels -@all"],
  ["reset", "off sanitize-payload resetchannels -@all"],
  ["skip-sanitize-payload", "off skip-sanitize-payload resetchannels -@all"],
  ["on nopass allkeys allchannels allcommands", "on nopass ~* &* +@all"],
  ["ON NoPass ~* &* +@ALL", "on nopass ~* &* +@all"],
  [">p nopass", "off nopass resetchannels -@all"],
  ["nopass >p", `off #${HASH_OF_P} resetchannels -@all`],
  [`#${HASH_OF_P} >p`, `off #${HASH_OF_P} resetchannels -@all`],
  [">p <p", "off resetchannels -@all"],
  [`>p !${HASH_OF_P}`, "off resetchannels -@all"],
  [">p resetpass", "off resetchannels -@all"],
  ["~a ~b* ~a", "off ~a ~b* resetchannels -@all"],
  ["%R~a %w~a %W~b %RW~c %wr~d", "off ~a %W~b ~c ~d resetchannels -@all"],
  ["~a resetkeys ~b", "off ~b resetchannels -@all"],
  ["~a allkeys", "off ~* resetchannels -@all"],
  ["&a &b &a", "off resetchannels &a &b -@all"],
  ["&a allchannels", "off &* -@all"],
  ["allchannels resetchannels &a", "off resetchannels &a -@all"],
  ["+get +SET -get", "off resetchannels -@all +set -get"],
  ["+@all -@write +set", "off resetchannels +@all -@write +set"],
  ["+@read -@read +@read", "off resetchannels -@all +@read"],
  ["+@read +@all", "off resetchannels +@all"],
  ["+config|get -config", "off resetchannels -@all -config"],
  ["+config -config|set +CONFIG|set", "off resetchannels -@all +config +config|set"],
  ["+get|A +get|b +get|a", "off resetchannels -@all +get|b +get|a"],
  ["+get|a +get", "off resetchannels -@all +get"],
  ["+@json -json.del", "off resetchannels -@all +@json -json.del"],
  ["(+get ~a)", "off resetchannels -@all (~a resetchannels -@all +get)"],
  [
    "(+get ~a &b) ( +set %W~c )",
    "off resetchannels -@all (~a resetchannels &b -@all +get) (%W~c resetchannels -@all +set)",
  ],
  ["(+get) clearselectors (+set)", "off resetchannels -@all (resetchannels -@all +set)"],
  ["()", "off resetchannels -@all (resetchannels -@all)"],
  ["on >p ~a &b +get (+set) reset", "off sanitize-payload resetchannels -@all"],
];

test("ACL SETUSER accepts every rule, and ACL LIST prints it", () => {
  for (const [rules, expected] of described) {
    const session = startSession();
    assert.deepEqual(session.run(`ACL SETUSER ann ${rules}`), ok, rules);
    assert.equal(rulesOf(session, "ann"), expected, rules);
    assert.deepEqual(session.run(`ACL SETUSER bob ${expected}`), ok, expected);
    assert.equal(rulesOf(session, "bob"), expected, "ACL SETUSER accepts what ACL LIST prints");
  }
});

const SYNTAX = "Syntax error";
const UNKNOWN = "Unknown command or category name in ACL";
const MALFORMED_HASH =
  "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters";

/** Rules whose last one is wrong. */
const wrong: readonly (readonly [rules: string, reply: Reply])[] = [
  ["+get what", ruleError("what", SYNTAX)],
  ["+nope", ruleError("+nope", UNKNOWN)],
  ["-nope", ruleError("-nope", UNKNOWN)],
  ["+@nope", ruleError("+@nope", UNKNOWN)],
  ["-@nope", ruleError("-@nope", UNKNOWN)],
  ["+config|nope", ruleError("+config|nope", UNKNOWN)],
  ["-get|a", ruleError("-get|a", UNKNOWN)],
  ["+get|", ruleError("+get|", SYNTAX)],
  ["+config|get|a", ruleError("+config|get|a", "Allowing first-arg of a subcommand is not supported")],
  ['"~a b"', ruleError("~a b", SYNTAX)],
  ['"&a b"', ruleError("&a b", SYNTAX)],
  ["%~a", ruleError("%~a", SYNTAX)],
  ["%RR~a", ruleError("%RR~a", SYNTAX)],
  ["%X~a", ruleError("%X~a", SYNTAX)],
  ["#abc", ruleError("#abc", MALFORMED_HASH)],
  [`#${HASH_OF_P.toUpperCase()}`, ruleError(`#${HASH_OF_P.toUpperCase()}`, MALFORMED_HASH)],
  ["!abc", ruleError("!abc", MALFORMED_HASH)],
  ["<p", ruleError("<p", "The password you are trying to remove from the user does not exist")],
  [
    "allkeys ~a",
    ruleError(
      "~a",
      "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
    ),
  ],
  [
    "allchannels &a",
    ruleError(
      "&a",
      "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
    ),
  ],
  ["(+get nope)", ruleError("(+get nope)", SYNTAX)],
  ["(on)", ruleError("(on)", SYNTAX)],
  ["(>p)", ruleError("(>p)", SYNTAX)],
  ["(+get (+set))", ruleError("(+get (+set))", SYNTAX)],
  ["(+get", error("ERR Unmatched parenthesis in acl selector starting at '(+get'.")],
  ["on (+get ~a", error("ERR Unmatched parenthesis in acl selector starting at '(+get'.")],
];

test("ACL SETUSER names the wrong rule and changes nothing", () => {
  for (const [rules, reply] of wrong) {
    const session = startSession();
    session.expect([
      [`ACL SETUSER new on ${rules}`, reply],
      ["ACL GETUSER new", nil],
      ["ACL SETUSER ann on >q ~k &c +get", ok],
    ]);
    const before = session.run("ACL GETUSER ann");
    session.expect([[`ACL SETUSER ann off resetkeys resetchannels ${rules}`, reply]]);
    assert.deepEqual(session.run("ACL GETUSER ann"), before, rules);
  }
});

test("ACL SETUSER accepts names without spaces, except those of the tokens", () => {
  startSession().expect([
    ['ACL SETUSER "a b" on', error("ERR Usernames can't contain spaces or null characters")],
    ['ACL SETUSER "a\\x00" on', error("ERR Usernames can't contain spaces or null characters")],
    ["ACL SETUSER default off", error("ERR The 'default' user cannot be changed")],
    ["ACL SETUSER default_ro off", error("ERR The name 'default_ro' belongs to a token of the database")],
    [`ACL SETUSER ${"n".repeat(257)}`, error("ERR Usernames can't be longer than 256 bytes")],
    [`ACL SETUSER ${"n".repeat(256)}`, ok],
    ["ACL SETUSER", error("ERR wrong number of arguments for 'acl|setuser' command")],
  ]);
});

test("limits the passwords, rules and bytes of rules of a user", () => {
  const session = startSession();
  const numbered = (count: number, sign: string): string[] => Array.from({ length: count }, (_, i) => `${sign}${i}`);
  assert.deepEqual(session.call("ACL", "SETUSER", "ann", ...numbered(100, ">")), ok);
  session.expect([["ACL SETUSER ann >more", ruleError(">more", "The user has too many passwords")]]);
  assert.deepEqual(session.call("ACL", "SETUSER", "bob", ...numbered(1_000, "~")), ok);
  session.expect([["ACL SETUSER bob ~more", ruleError("~more", "The user has too many rules of this kind")]]);
  assert.deepEqual(session.call("ACL", "SETUSER", "cat", ...numbered(1_000, "&")), ok);
  session.expect([["ACL SETUSER cat &more", ruleError("&more", "The user has too many rules of this kind")]]);
  assert.deepEqual(session.call("ACL", "SETUSER", "dan", ...numbered(1_000, "+get|")), ok);
  session.expect([["ACL SETUSER dan +get|more", ruleError("+get|more", "The user has too many rules of this kind")]]);
  assert.deepEqual(
    session.call("ACL", "SETUSER", "eve", `~${"k".repeat(70_000)}`),
    error("ERR The rules of a user can't be longer than 65536 bytes"),
  );
});

test("ACL GETUSER, USERS and DELUSER", () => {
  const session = startSession();
  session.expect([
    ["ACL SETUSER ann on >p ~a %R~b &c +@all -get (+get ~z)", ok],
    ["ACL SETUSER Bob", ok],
    ["ACL USERS", ["Bob", "ann", "default"]],
    [
      "ACL GETUSER ann",
      map([
        ["flags", set(["on"])],
        ["passwords", [HASH_OF_P]],
        ["commands", "+@all -get"],
        ["keys", "~a %R~b"],
        ["channels", "&c"],
        [
          "selectors",
          [
            map([
              ["commands", "-@all +get"],
              ["keys", "~z"],
              ["channels", ""],
            ]),
          ],
        ],
      ]),
    ],
    [
      "ACL GETUSER default",
      map([
        ["flags", set(["on"])],
        ["passwords", []],
        ["commands", "+@all"],
        ["keys", "~*"],
        ["channels", "&*"],
        ["selectors", []],
      ]),
    ],
    ["ACL GETUSER nobody", nil],
    [
      "ACL LIST",
      [
        "user Bob off resetchannels -@all",
        `user ann on #${HASH_OF_P} ~a %R~b resetchannels &c +@all -get (~z resetchannels -@all +get)`,
        "user default on ~* &* +@all",
      ],
    ],
    ["ACL DELUSER nobody ann ann", 1],
    ["ACL GETUSER ann", nil],
    ["ACL DELUSER Bob default", error("ERR The 'default' user cannot be removed")],
    ["ACL DELUSER Bob default_ro", error("ERR The 'default_ro' user cannot be removed")],
    ["ACL USERS", ["Bob", "default"]],
    ["ACL WHOAMI", "default"],
    ["ACL SAVE", ok],
    ["ACL LOAD", ok],
    ["ACL USERS", ["Bob", "default"]],
    ["ACL", error("ERR wrong number of arguments for 'acl' command")],
    ["ACL NOPE", error("ERR unknown subcommand 'NOPE'. Try ACL HELP.")],
  ]);
  const help = session.run("ACL HELP") as readonly Reply[];
  assert.deepEqual(help[0], simple("ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
});

test("ACL CAT lists the categories of Redis, json and search, and the commands of each", () => {
  const session = startSession();
  const categories = session.run("ACL CAT") as readonly string[];
  assert.deepEqual(categories.slice(0, 3), ["keyspace", "read", "write"]);
  assert.deepEqual(categories.slice(-2), ["json", "search"]);
  for (const category of categories) {
    const names = session.run(`ACL CAT ${category}`) as readonly string[];
    assert.ok(Array.isArray(names), category);
    session.expect([
      [`ACL SETUSER ann reset +@${category}`, ok],
      [`ACL SETUSER ann reset +@all -@${category.toUpperCase()}`, ok],
    ]);
  }
  session.expect([
    ["ACL CAT hyperloglog", ["pfadd", "pfcount", "pfmerge"]],
    ["ACL CAT nope", error("ERR Unknown category 'nope'")],
    ["ACL CAT a b", error("ERR unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP.")],
  ]);
});

const allowed = ok;
const noCommand = (name: string): Reply => `This user has no permissions to run the '${name}' command`;
const noKey = (key: string): Reply => `This user has no permissions to access the '${key}' key`;
const noChannel = (channel: string): Reply => `This user has no permissions to access the '${channel}' channel`;

/** A user's rules, a command, and the reply of ACL DRYRUN. */
const dryRuns: readonly (readonly [rules: string, command: string, reply: Reply])[] = [
  ["", "GET k", noCommand("get")],
  ["+get", "GET k", noKey("k")],
  ["+get ~k", "GET k", allowed],
  ["+get ~k*", "get kk", allowed],
  ["+get ~k", "GET kk", noKey("kk")],
  ["+mget ~a ~b", "MGET a b c", noKey("c")],
  ["+@all -get ~*", "GET k", noCommand("get")],
  ["+@all -@read ~*", "GET k", noCommand("get")],
  ["+@all -@read +get ~*", "GET k", allowed],
  ["+ping", "PING", allowed],
  // Subcommands and first arguments.
  ["+config|get", "CONFIG GET x", allowed],
  ["+config|get", "CONFIG SET maxmemory 1", noCommand("config|set")],
  ["+config -config|set", "CONFIG SET maxmemory 1", noCommand("config|set")],
  ["+@all -config", "CONFIG GET x", noCommand("config|get")],
  ["+get|a ~*", "GET A", allowed],
  ["+get|a ~*", "GET b", noCommand("get")],
  ["+get|a +get|b ~*", "GET b", allowed],
  ["+get|a -get ~*", "GET a", noCommand("get")],
  // Reading and writing.
  ["+@all %R~k", "GET k", allowed],
  ["+@all %W~k", "GET k", noKey("k")],
  ["+@all %R~k", "SET k v", noKey("k")],
  ["+@all %W~k", "SET k v", allowed],
  ["+@all %W~k", "SET k v GET", noKey("k")],
  ["+@all %W~k", "SET k v IFEQ w", noKey("k")],
  ["+@all %RW~k", "SET k v GET", allowed],
  ["+@all %R~k %W~k", "SET k v GET", allowed],
  ["+@all %R~k* %W~*k", "SET k v GET", noKey("k")],
  ["+@all %W~k", "STRLEN k", allowed],
  ["+@all %W~k", "EXISTS k", allowed],
  ["+@all %W~k", "TYPE k", allowed],
  ["+@all %R~k", "DEL k", noKey("k")],
  ["+@all %W~k", "DEL k", allowed],
  ["+@all %W~k", "GETDEL k", noKey("k")],
  ["+@all %W~k", "LPUSH k v", allowed],
  ["+@all %W~k", "LPOP k", noKey("k")],
  ["+@all %R~k", "EXPIRE k 1", noKey("k")],
  ["+@all %W~k", "INCR k", noKey("k")],
  ["+@all %R~k", "BITFIELD k GET u8 0", allowed],
  ["+@all %R~k", "BITFIELD k GET u8 0 SET u8 0 1", noKey("k")],
  ["+@all %R~k", "BITFIELD k GET u8", noKey("k")],
  ["+@all %R~k", "BITFIELD k GET u8 0 OVERFLOW", noKey("k")],
  ["+@all %R~a %W~b", "COPY a b", allowed],
  ["+@all %R~a %W~b", "COPY b a", noKey("b")],
  ["+@all ~a %W~b", "RENAME a b", allowed],
  ["+@all %R~a %W~b", "RENAME a b", noKey("a")],
  ["+@all %R~a %W~b", "SUNIONSTORE b a a", allowed],
  ["+@all %R~a %W~b", "SUNIONSTORE a b", noKey("a")],
  ["+@all %R~a %W~b", "ZUNIONSTORE b 1 a", allowed],
  ["+@all %R~a %W~b", "ZUNIONSTORE b 2 a b", noKey("b")],
  ["+@all %R~a %W~b", "BITOP AND b a a", allowed],
  ["+@all %R~a", "SORT a", allowed],
  ["+@all %R~a %W~b", "SORT a STORE b", allowed],
  ["+@all %R~a %R~b", "SORT a STORE b", noKey("b")],
  ["+@all ~a ~limit", "SORT a STORE limit STORE b", noKey("b")],
  ["+@all %R~a %W~b", "GEORADIUS a 1 2 3 m STORE b", allowed],
  ["+@all %R~a %R~b", "GEORADIUS a 1 2 3 m STOREDIST b", noKey("b")],
  ["+@all ~a ~b", "GEORADIUS a 1 2 3 m STORE b STORE c", noKey("c")],
  ["+@all %R~a %W~b", "GEOSEARCHSTORE b a FROMLONLAT 1 2 BYRADIUS 1 m", allowed],
  ["+@all %R~a", "XREAD STREAMS a b 0 0", noKey("b")],
  ["+@all %R~a", "XREADGROUP GROUP g c STREAMS a >", allowed],
  ["+@all ~c ~STREAMS", "XREADGROUP GROUP STREAMS c STREAMS secret >", noKey("secret")],
  ["+@all ~a", "MSET a 1 b 2", noKey("b")],
  ["+@all ~a", "OBJECT ENCODING b", noKey("b")],
  ["+@all ~a", "MEMORY USAGE b", noKey("b")],
  ["+@all ~a", "LMPOP 2 a b LEFT", noKey("b")],
  ["+@all ~a", "JSON.MGET a b $", noKey("b")],
  ["+@all ~a", "JSON.MSET a $ 1 b $ 2", noKey("b")],
  ["+@all %W~a", "JSON.SET a $ 1", allowed],
  ["+@all %W~a", "JSON.GET a", noKey("a")],
  ["+@json ~a", "JSON.GET a", allowed],
  ["+@all -@json ~a", "JSON.GET a", noCommand("json.get")],
  ["+@read ~a", "JSON.GET a", allowed],
  ["+@read ~a", "JSON.DEL a", noCommand("json.del")],
  // Channels.
  ["+publish", "PUBLISH c m", noChannel("c")],
  ["+publish &c*", "PUBLISH cc m", allowed],
  ["+publish &d", "PUBLISH c m", noChannel("c")],
  ["+publish allchannels", "PUBLISH c m", allowed],
  // Selectors: one of them has to allow the whole command.
  ["+get ~a (+set ~b)", "GET a", allowed],
  ["+get ~a (+set ~b)", "SET b v", allowed],
  ["+get ~a (+set ~b)", "GET b", noKey("b")],
  ["+get ~a (+set ~b)", "SET a v", noKey("a")],
  ["+get ~a (+set ~b)", "DEL a", noCommand("del")],
  ["+mget ~a (+mget ~b)", "MGET a b", noKey("b")],
  ["+mget ~a ~b (+mget ~b)", "MGET a b c", noKey("c")],
  ["%R~a (%W~a +@all)", "GET a", noKey("a")],
  ["(+@all ~*)", "GET a", allowed],
];

test("ACL DRYRUN reports what a user may do", () => {
  const session = startSession();
  for (const [rules, command, reply] of dryRuns) {
    session.run(`ACL SETUSER ann reset ${rules}`);
    assert.deepEqual(session.run(`ACL DRYRUN ann ${command}`), reply, `${rules}: ${command}`);
  }
  session.expect([
    ["ACL DRYRUN default FLUSHALL", ok],
    ["ACL DRYRUN default_ro GET k", ok],
    ["ACL DRYRUN default_ro SET k v", noCommand("set")],
    ["ACL DRYRUN nobody GET k", error("ERR User 'nobody' not found")],
    ["ACL DRYRUN ann NOPE", error("ERR Command 'NOPE' not found")],
    ["ACL DRYRUN ann CONFIG nope", error("ERR Command 'CONFIG' not found")],
    ["ACL DRYRUN ann GET", error("ERR wrong number of arguments for 'get' command")],
  ]);
});

test("ACL GENPASS returns hexadecimal digits, four bits each", () => {
  const session = startSession();
  const refused = error(
    "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
  );
  for (const [words, length] of [
    ["", 64],
    ["5", 2],
    ["8", 2],
    ["1", 1],
    ["4096", 1_024],
  ] as const)
    assert.match(String(session.run(`ACL GENPASS ${words}`)), new RegExp(`^[0-9a-f]{${length}}$`));
  assert.notEqual(session.run("ACL GENPASS"), session.run("ACL GENPASS"));
  session.expect([
    ["ACL GENPASS 0", refused],
    ["ACL GENPASS 4097", refused],
    ["ACL GENPASS x", error("ERR value is not an integer or out of range")],
  ]);
});

const digestOf = (token: Reply): string => createHash("sha256").update(String(token)).digest("hex");
const wrongPassword = (name: string): Reply => error(`ERR Wrong password or user "${name}" does not exist`);
const restTokenUsage = error("ERR invalid syntax. Usage: ACL RESTTOKEN username password");

test("ACL RESTTOKEN returns the same token each time, until its password is removed", () => {
  const session = startSession();
  const { users } = session.database;
  session.expect([
    ["ACL RESTTOKEN ann", restTokenUsage],
    ["ACL RESTTOKEN ann p q", restTokenUsage],
    ["ACL RESTTOKEN", restTokenUsage],
    ["ACL RESTTOKEN ann p", wrongPassword("ann")],
    ["ACL RESTTOKEN default p", wrongPassword("default")],
    ["ACL SETUSER ann on >p >q", ok],
    ["ACL SETUSER bob on >p", ok],
    ["ACL RESTTOKEN ann r", wrongPassword("ann")],
  ]);
  assert.deepEqual(users.tokenDigestsOf("ann"), [], "no token was requested yet");
  const token = session.run("ACL RESTTOKEN ann p");
  const other = session.run("ACL RESTTOKEN ann q");
  assert.equal(session.run("ACL RESTTOKEN ann p"), token);
  assert.notEqual(session.run("ACL RESTTOKEN bob p"), token);
  assert.deepEqual(users.tokenDigestsOf("ann"), [digestOf(token), digestOf(other)]);

  session.expect([["ACL SETUSER ann <p", ok]]);
  assert.deepEqual(users.tokenDigestsOf("ann"), [digestOf(other)]);
  session.expect([["ACL SETUSER ann off", ok]]);
  assert.deepEqual(users.tokenDigestsOf("ann"), []);
  session.expect([
    ["ACL RESTTOKEN ann q", wrongPassword("ann")],
    ["ACL SETUSER ann on", ok],
  ]);
  assert.equal(session.run("ACL RESTTOKEN ann q"), other);
  session.expect([["ACL DELUSER ann", 1]]);
  assert.deepEqual(users.tokenDigestsOf("ann"), []);
  session.expect([["ACL RESTTOKEN ann q", wrongPassword("ann")]]);
});

test("a nopass user has one token for all passwords", () => {
  const session = startSession();
  session.expect([["ACL SETUSER ann on nopass", ok]]);
  const token = session.run("ACL RESTTOKEN ann any");
  assert.equal(session.run("ACL RESTTOKEN ann other"), token);
  assert.deepEqual(session.database.users.tokenDigestsOf("ann"), [digestOf(token)]);
  session.expect([["ACL SETUSER ann >any", ok]]);
  assert.ok(!session.database.users.tokenDigestsOf("ann").includes(digestOf(token)));
});

test("ACL GENTOKEN returns a password that is also a token", () => {
  const session = startSession();
  const { users } = session.database;
  const token = String(session.run("ACL GENTOKEN ann"));
  const foreign = String(session.run("ACL GENTOKEN bob"));
  assert.match(token, /^[\w-]{64}$/);
  assert.notEqual(session.run("ACL GENTOKEN ann"), token);
  assert.deepEqual(users.tokenDigestsOf("ann"), []);
  session.expect([[`ACL SETUSER ann on >${token} >${foreign}`, ok]]);
  const digests = users.tokenDigestsOf("ann");
  assert.ok(digests.includes(digestOf(token)), "the REST interface accepts it");
  assert.ok(!digests.includes(digestOf(foreign)), "a token of another user is only a password");
  assert.equal(users.authenticate("ann", token), users.find("ann"));
  assert.ok(digests.includes(digestOf(session.run(`ACL RESTTOKEN ann ${token}`))));

  const generated = session.run("ACL GENTOKEN ann correct-horse-battery");
  assert.equal(session.run("ACL GENTOKEN ann correct-horse-battery"), generated);
  assert.notEqual(session.run("ACL GENTOKEN bob correct-horse-battery"), generated);
  const weak = error("ERR The password is too weak: use at least 12 characters, several of them different");
  const usage = error("ERR invalid syntax. Usage: ACL GENTOKEN username [password]");
  session.expect([
    ["ACL GENTOKEN ann short", weak],
    ["ACL GENTOKEN ann aaaaaaaaaaaaaaaa", weak],
    ["ACL GENTOKEN", usage],
    ["ACL GENTOKEN ann b c", usage],
    ["ACL GENTOKEN default", error("ERR The name 'default' belongs to a token of the database")],
  ]);
});

test("a user logs in with any of its passwords while it is enabled", () => {
  const session = startSession();
  const { users } = session.database;
  session.expect([["ACL SETUSER ann on >p >q", ok]]);
  const ann = users.find("ann");
  assert.ok(ann !== undefined);
  assert.equal(users.authenticate("ann", "p"), ann);
  assert.equal(users.authenticate("ann", "q"), ann);
  for (const [name, password] of [
    ["ann", "r"],
    ["ann", ""],
    ["bob", "p"],
    ["default", "p"],
    ["default_ro", "p"],
  ] as const)
    assert.equal(users.authenticate(name, password), undefined, `${name} ${password}`);
  session.expect([["ACL SETUSER ann off", ok]]);
  assert.equal(users.authenticate("ann", "p"), undefined);
  session.expect([["ACL SETUSER ann on nopass", ok]]);
  assert.equal(users.authenticate("ann", "whatever"), ann);
  session.expect([["ACL SETUSER ann resetpass", ok]]);
  assert.equal(users.authenticate("ann", ""), undefined);
  session.expect([["ACL DELUSER ann", 1]]);
  assert.equal(ann.isDeleted, true);
  session.expect([["ACL SETUSER ann on nopass", ok]]);
  assert.notEqual(users.authenticate("ann", ""), ann, "a new user of the same name is a different user");
});

test("reports each changed user once per unit of work, and all users when the first token is made", () => {
  const session = startSession();
  const { users } = session.database;
  const changed: string[] = [];
  users.onChange = (name) => changed.push(name);
  session.expect([
    ["ACL SETUSER ann on >p", ok],
    ["ACL SETUSER bob on >p", ok],
    ["ACL SETUSER bob nope", ruleError("nope", SYNTAX)],
    ["ACL DELUSER nobody", 0],
  ]);
  assert.deepEqual(changed.splice(0), ["ann", "bob"]);
  session.run("ACL RESTTOKEN ann p");
  assert.deepEqual(changed.splice(0), ["ann", "bob"]);
  session.run("ACL RESTTOKEN bob p");
  assert.deepEqual(changed.splice(0), []);
  const caller = { user: readOnlyUser, transport: "http", address: "127.0.0.1:1" } as const;
  assert.throws(() => session.database.transaction(caller, [["ACL", "DELUSER", "ann"]]));
  assert.deepEqual(changed.splice(0), []);
  session.expect([["ACL DELUSER ann bob", 2]]);
  assert.deepEqual(changed.splice(0), ["ann", "bob"]);
});

test("users cannot be changed while the disk refuses writes", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([["ACL SETUSER ann on >p", ok]]);
  journal.refusal = "No space left on device";
  const refused = error("MISCONF Errors writing to the AOF file: No space left on device");
  const rows: readonly Row[] = [
    ["ACL SETUSER ann off", refused],
    ["ACL DELUSER ann", refused],
    ["ACL RESTTOKEN ann p", refused],
    ["ACL GENTOKEN ann", refused],
    ["ACL WHOAMI", "default"],
  ];
  session.expect(rows);
  assert.ok(session.database.users.authenticate("ann", "p") !== undefined);
});

test("ACL LOG counts equal entries, lists the newest first, and drops the oldest", () => {
  const session = startSession();
  session.expect([["ACL SETUSER ann on nopass +get +acl|whoami ~a", ok]]);
  const ann = session.database.users.find("ann");
  assert.ok(ann !== undefined);
  const caller = { user: ann, transport: "http", address: "10.0.0.7:99" } as const;
  const run = (line: string): unknown => session.database.execute(caller, splitLine(line));
  assert.equal(run("ACL WHOAMI"), "ann");
  run("GET b");
  session.clock.advance(1_500);
  run("get b");
  run("SET a 1");
  assert.throws(() => session.database.transaction(caller, [["SET", "a", "1"]]));
  const entry = (facts: {
    count: number;
    reason: string;
    context: string;
    object: string;
    age: number;
    cmd: string;
  }): Reply =>
    map([
      ["count", facts.count],
      ["reason", facts.reason],
      ["context", facts.context],
      ["object", facts.object],
      ["username", "ann"],
      ["age-seconds", { kind: "double", value: facts.age }],
      ["client-info", `id=0 addr=10.0.0.7:99 laddr= fd=-1 name= age=0 idle=0 flags=N db=0 cmd=${facts.cmd} user=ann`],
    ]);
  session.clock.advance(500);
  const set1 = entry({ count: 1, reason: "command", context: "multi", object: "set", age: 0.5, cmd: "set" });
  session.expect([
    [
      "ACL LOG",
      [
        set1,
        entry({ count: 1, reason: "command", context: "toplevel", object: "set", age: 0.5, cmd: "set" }),
        entry({ count: 2, reason: "key", context: "toplevel", object: "b", age: 0.5, cmd: "get" }),
      ],
    ],
    ["ACL LOG 1", [set1]],
    ["ACL LOG -1", []],
    ["ACL LOG x", error("ERR value is not an integer or out of range")],
    ["ACL LOG 1 2", error("ERR unknown subcommand or wrong number of arguments for 'LOG'. Try ACL HELP.")],
  ]);
  // A minute later it is a new entry.
  session.clock.advance(60_000);
  run("GET b");
  assert.equal((session.run("ACL LOG") as readonly Reply[]).length, 4);
  session.expect([
    ["ACL LOG RESET", ok],
    ["ACL LOG", []],
  ]);
  session.database.noteFailedLogin("mallory");
  session.expect([
    [
      "ACL LOG",
      [
        map([
          ["count", 1],
          ["reason", "auth"],
          ["context", "toplevel"],
          ["object", "AUTH"],
          ["username", "mallory"],
          ["age-seconds", { kind: "double", value: 0 }],
          ["client-info", ""],
        ]),
      ],
    ],
  ]);
  for (let i = 0; i < 200; i += 1) run(`GET k${i}`);
  assert.equal((session.run("ACL LOG 1000") as readonly Reply[]).length, 128);
});
