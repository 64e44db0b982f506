/**
 * Writes docs/threats.md: each threat that was thought of, and the tests whose
 * names carry its id. A test compares the two, so a threat whose test is renamed
 * or removed shows.
 *
 * Run: node tools/threats.ts
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

interface Threat {
  readonly id: string;
  /** What somebody does, or what happens; then what larder does. */
  readonly what: string;
  readonly answer: string;
}

interface Part {
  readonly title: string;
  readonly threats: readonly Threat[];
}

const row = (id: string, what: string, answer: string): Threat => ({ id, what, answer });

const parts: readonly Part[] = [
  {
    title: "Deliveries",
    threats: [
      row(
        "C-01",
        "a destination in a private, loopback or reserved network",
        "refused unless the profile or a list allows it",
      ),
      row("C-02", "metadata services of clouds", "refused under every profile until they are listed"),
      row("C-03", "odd spellings of addresses", "judged after they were understood, embedded ones too"),
      row(
        "C-04",
        "a name that points elsewhere a moment later",
        "resolved once for an attempt, the connected address is looked at again",
      ),
      row("C-05", "an address in place of a name, which needs no look-up", "judged all the same"),
      row("C-06", "redirects", "not followed: a failed attempt"),
      row("C-07", "other schemes, credentials in URLs, ports of other services", "refused"),
      row("C-08", "deliveries to larder itself, in a circle", "counted, and ended after ten"),
      row("C-09", "developers who need localhost", "profiles; a refusal names the setting"),
      row("C-10", "line ends in header values", "400 when it is published, naming the header"),
      row("C-11", "forwarded headers that frame or route a request", "dropped; the framing is ours"),
      row("C-12", "our token in what is forwarded", "never forwarded, logged or shown"),
      row("C-13", "answers that never end", "a limit on time and on bytes"),
      row(
        "C-14",
        "slow, broken, half-open and lying peers",
        "a failed attempt with its own text; the slot is given back once",
      ),
      row("C-15", "bytes of one tenant's answer taken for another's", "connections are of one user and origin"),
      row("C-16", "compressed answers that explode", "not decoded"),
      row("C-17", "Retry-After without measure", "understood in its forms, a day at most"),
      row(
        "C-18",
        "retry expressions as code",
        "a parser of our own with bounds; evaluated for all retries when they are given",
      ),
      row("C-19", "forged or old signatures", "each attempt is signed anew; two keys at any time"),
      row("C-20", "what a read-only token may do", "said by each route"),
      row("C-21", "secrets in logs and listings of messages", "redacted wherever they are shown"),
      row("C-22", "one request that makes a million messages", "bounds on batches, groups and bulk work"),
      row("C-23", "cron texts that are wrong, never fire or take long", "a parser of our own; 400"),
      row("C-24", "hours that are skipped or repeated", "skipped ones do not fire, repeated ones once"),
      row(
        "C-25",
        "a clock that jumps",
        "delays, retries, waits and rates go by the time that has passed, schedules and `Not-Before` by the wall clock; nothing fires twice",
      ),
      row("C-26", "a long time off", "one firing for all that was missed"),
      row("C-27", "a crash while a call is under way", "the call is made again with the same id and count"),
      row("C-28", "duplicates across a restart", "deduplication is in the journal, and bounded"),
      row("C-29", "slots of flow control that get lost", "a slot is a member of a set, never a counter"),
    ],
  },
  {
    title: "The store",
    threats: [
      row(
        "A-01",
        "guessing tokens by time; weak tokens",
        "looked up by keyed hash; well-known ones are refused beyond loopback",
      ),
      row("A-02", "a token in the URL", "taken out before anything is logged"),
      row("A-03", "what a read-only token may run", "said by each command's row"),
      row("A-04", "commands that write in disguise", "a table of escapes, in every form of request"),
      row("A-05", "getting past ACL rules", "rights are judged by one source of keys, in scripts too"),
      row("A-06", "one tenant seeing another", "nothing is shared but the process"),
      row("A-07", "patterns that take exponential time", "a matcher of our own without backtracking"),
      row("A-08", "JSON paths as code or without end", "a parser and a walk of our own, with budgets"),
      row("A-09", "scripts that break out", "Lua in WebAssembly with nothing to reach; tables of a user alone"),
      row("A-10", "scripts without end or measure", "stopped by time and memory"),
      row("A-11", "names such as __proto__", "names live in tables and maps"),
      row("A-12", "numbers at the edges", "64 bits exactly; digits are kept as they were sent"),
      row(
        "A-13",
        "huge bodies",
        "refused by what is announced and by what comes; what waits to be sent counts, by tenant",
      ),
      row("A-14", "deep nesting", "bounded before anything is parsed"),
      row("A-15", "small commands with huge answers", "a budget of bytes and steps"),
      row(
        "A-16",
        "memory that runs out",
        "a limit by database, and one by area that stops the largest tenant; the rest goes on",
      ),
      row("A-17", "readers that do not read; forged event fields", "cut off; line ends cannot leave their field"),
      row("A-18", "odd paths", "bytes are decoded as bytes; 400, never 500"),
      row("A-19", "damaged files", "found by checksum; a torn tail is cut, damage elsewhere refused"),
      row("A-20", "keys chosen to collide", "hashes are keyed with a secret seed"),
    ],
  },
  {
    title: "The vector index",
    threats: [
      row("B-01", "numbers that are none as float32", "refused, naming the field"),
      row("B-02", "wrong dimensions, empty and zero vectors, bad sparse ones", "refused whole, nothing is applied"),
      row("B-03", "names of namespaces as file names", "names are data"),
      row("B-04", "filters as code or without end", "a parser of our own with bounds"),
      row("B-05", "queries without measure", "limits on topK, batches and pages"),
      row(
        "B-06",
        "a graph that a crash left behind",
        "a cache that is checked, and built again when it does not match",
      ),
      row("B-07", "deleted records in answers", "never; random programs beside a brute-force index"),
      row("B-08", "metadata without measure", "limits on size and depth"),
    ],
  },
  {
    title: "The whole server",
    threats: [
      row("S-01", "slow and idle clients", "limits on time, rate and connections, also of one address"),
      row("S-02", "requests smuggled into others", "a strict parser"),
      row("S-03", "compressed requests", "415"),
      row("S-04", "a full disk", "writes are refused, reads go on, and it recovers by itself"),
      row("S-05", "a sync that fails", "nothing is acknowledged; the process ends"),
      row("S-06", "torn and short writes", "checksums; a torn tail is cut"),
      row("S-07", "renames that are not durable", "file and directory are synced in order"),
      row("S-08", "two processes on one directory", "the second is refused"),
      row("S-09", "secrets in logs, metrics and errors", "canaries, in every run of the tests"),
      row("S-10", "errors that tell too much", "an id, no stack and no path"),
      row(
        "S-11",
        "a thread that stalls, a tenant that keeps it from others",
        "measured by tenant; long work is done in slices, tenants share the time, heavy units a quarter of it",
      ),
      row("S-12", "dependencies", "few, exact, none runs anything at installation"),
      row("S-13", "faults that nobody caught", "logged; what was acknowledged is written; the process ends"),
      row("S-14", "the admin port", "an address of its own, tokens in headers alone"),
      row(
        "S-15",
        "pages of other origins",
        "a setting for the store and the index; they still need a token; messaging never",
      ),
      row("S-16", "name look-ups that block every sync", "bounded below the thread pool"),
    ],
  },
];

/** What a row promises less of than one might wish. */
const gaps: readonly string[] = [
  "S-01: behind a trusted proxy nothing limits the connections of one caller: the proxy has to.",
  "C-15: connections to destinations are kept alive for up to a minute, and no setting turns that off. Bytes that a destination sends early pass as the answer to the next call of the same user and origin.",
  "S-05, S-06: tried on a simulated disk and with faults injected into the program; real power cuts and disks that ignore flushes were not.",
  "A-16: accounting is an estimate, held within a fifth of what the process takes.",
];

const root = fileURLToPath(new URL("..", import.meta.url));
const SHOWN_MAX = 3;

interface NamedTest {
  readonly path: string;
  readonly name: string;
}

/** All tests of the project with their names. */
function namedTests(): readonly NamedTest[] {
  return ["src", "test"].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .sort()
      .flatMap((path) => {
        const text = readFileSync(`${root}${folder}/${path}`, "utf8");
        const names = text.matchAll(/\btest\(\s*(["`])((?:[A-Z]-\d\d\b|\$\{|[^\n])*?)\1/g);
        return Array.from(names, ([, , name = ""]) => ({ path: `${folder}/${path}`, name }));
      }),
  );
}

export const THREATS_PATH: string = `${root}docs/threats.md`;

export function threatsText(): string {
  const tests = namedTests();
  const uncovered: string[] = [];
  const lines = [
    "# Threats",
    "",
    "This page is written by `node tools/threats.ts`: each threat that was thought of, what larder does, and the tests whose names carry its id.",
  ];
  for (const { title, threats } of parts) {
    lines.push("", `## ${title}`, "", "| id | threat | what larder does | tests |", "|---|---|---|---|");
    for (const { id, what, answer } of threats) {
      const own = tests.filter(({ name }) => name.includes(id));
      if (own.length === 0) uncovered.push(id);
      lines.push(`| ${id} | ${what} | ${answer} | ${shown(own)} |`);
    }
  }
  lines.push(
    "",
    "## Without a test",
    "",
    uncovered.length === 0 ? "None." : uncovered.join(", "),
    "",
    "## Known gaps",
    "",
  );
  lines.push(...gaps.map((gap) => `- ${gap}`));
  return `${lines.join("\n")}\n`;
}

function shown(tests: readonly NamedTest[]): string {
  if (tests.length === 0) return "none";
  const files = [...new Set(tests.map(({ path }) => path))];
  const links = files
    .slice(0, SHOWN_MAX)
    .map((path) => `[${path.replace(/^.*\//, "").replace(".test.ts", "")}](../${path})`);
  const more = files.length > SHOWN_MAX ? `, and ${files.length - SHOWN_MAX} more files` : "";
  return `${tests.length} in ${links.join(", ")}${more}`;
}

if (import.meta.main) writeFileSync(THREATS_PATH, threatsText());
