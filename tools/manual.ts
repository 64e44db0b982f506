/**
 * Writes docs/manual.md and the pages of docs/reference/ from the tables of the
 * program, so that they cannot say anything that the program does not do. A
 * test compares them.
 *
 * Run: node tools/manual.ts
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DEAD_MS, SILENT_MS } from "../src/program/workers/heartbeat.ts";
import { evictionPolicies } from "../src/store/memory/memory-settings.ts";
import { auditChapter, backupsChapter, diskChapter, encryptionChapter } from "./manual-operations.ts";
import { filterChapter, vectorEndpointsChapter } from "./manual-vector.ts";
import { pageText } from "./reference/page.ts";
import { pages, pathOf } from "./reference/pages.ts";

export const MANUAL_PATH: string = fileURLToPath(new URL("../docs/manual.md", import.meta.url));

/** The chapters in their order. */
const chapters: readonly (() => readonly string[])[] = [
  startChapter,
  settingsChapter,
  configurationChapter,
  indexesChapter,
  tokensChapter,
  respChapter,
  adminChapter,
  encryptionChapter,
  diskChapter,
  auditChapter,
  backupsChapter,
  commandsChapter,
  memoryChapter,
  endpointsChapter,
  vectorEndpointsChapter,
  filterChapter,
  libraryChapter,
];

export function manualText(): string {
  const lines = [
    "# Manual",
    "",
    "This page is written by `node tools/manual.ts`. Everything of which there are many:",
    "",
  ];
  for (const { file, title, about } of pages) lines.push(`- [${title}](reference/${file}): ${about}`);
  for (const chapter of chapters) lines.push("", ...chapter());
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Every page that is written, with its path. */
export function manualPages(): ReadonlyMap<string, string> {
  return new Map([[MANUAL_PATH, manualText()], ...pages.map((page) => [pathOf(page), pageText(page)] as const)]);
}

function startChapter(): readonly string[] {
  return [
    "## Starting",
    "",
    "`larder serve` keeps everything in a data directory; `larder dev` is for development and keeps nothing unless `--data-dir` is given. What else there is: [commands of the program](reference/program-commands.md).",
    "",
    "The start prints the addresses and, the first time, the tokens, as variables that the official clients read. Log lines go to stderr. SIGTERM and SIGINT stop the server: it accepts nothing more, finishes requests that have come whole (half a request is answered 503), writes and syncs the rest, and exits with 0; a second signal ends it at once. SIGUSR1 and SIGUSR2 are ignored with a line in the log: SIGUSR1 would open the debugger of Node, in which every user of the machine can read the tokens. Before the first line of larder runs only the flag `node --disable-sigusr1` does that, as in our Dockerfile. The exit code is 1 when the machine forbids a start (a port in use, a locked or damaged data directory) or after a crash, and 2 when a setting is wrong.",
    "",
    "The data directory can be used by one process at a time. A new one is made in a directory that does not exist, or has nothing but `lost+found`; a directory with other files and without the file `format` is refused, and nothing is written there. A snapshot is written by a second process of the same program, which for a while needs about as much memory as the area it reads.",
  ];
}

function settingsChapter(): readonly string[] {
  return [
    "## Settings",
    "",
    "A flag beats the environment, the environment beats the configuration file, the file beats the default. Unknown flags, variables that begin with `LARDER_`, and file keys are refused by name; a start tells all mistakes at once. A variable that is set to nothing counts as not set. Secrets have no flag; each may be given as a file whose path stands in the variable with `_FILE` behind its name.",
    "",
    "All of them: [settings](reference/settings.md).",
  ];
}

/** Also read by a test, which feeds it to the parser. */
export const EXAMPLE_CONFIGURATION = `{
  "dataDir": "/var/lib/larder",
  "fsync": "always",
  "store":     { "databases": [{ "name": "main", "token": "…", "readOnlyToken": "…" }, { "name": "sessions" }] },
  "vector":    { "indexes":   [{ "name": "docs", "type": "DENSE", "dimension": 384, "similarity": "COSINE" }],
                 "models":    { "BGE_M3": { "provider": "http", "url": "http://127.0.0.1:8000/v1/embeddings" } } },
  "messaging": { "users":     [{ "name": "main" }] },
  "admin":     { "token": "…" }
}`;

function configurationChapter(): readonly string[] {
  return [
    "## The configuration file",
    "",
    "JSON: the settings by their file keys, and the databases, indexes and messaging users that exist. The token names the tenant: one port serves many. Tokens that are left out are generated and kept in the data directory.",
    "",
    "```json",
    EXAMPLE_CONFIGURATION,
    "```",
    "",
    "Databases may also have a `maxmemory` and a `maxmemoryPolicy` of their own. Users may also have a `currentSigningKey` and a `nextSigningKey`. A name has 1 to 64 letters, digits, hyphens, underscores or periods and starts with a letter or digit.",
    "",
    "`larder check` reads it, and the data directory, and says what is wrong.",
  ];
}

function indexesChapter(): readonly string[] {
  return [
    "## What an index is",
    "",
    "In the configuration file and in the body of `POST /v1/indexes`:",
    "",
    "| field | default | meaning |",
    "|---|---|---|",
    "| `type` | `DENSE` | `DENSE`, `SPARSE` or `HYBRID` |",
    "| `dimension` | `auto` | of dense vectors; `auto` is what the model has, or else the first upsert |",
    "| `similarity` | `COSINE` | `COSINE`, `EUCLIDEAN` or `DOT_PRODUCT`, of dense vectors |",
    '| `embedding` | none | the model that makes dense vectors of texts: `{"model": "BGE_M3"}` |',
    "| `sparseEmbedding` | none | `BM25`, which is built in, makes sparse vectors of texts; a HYBRID index has models for both of its parts or for none |",
    "",
    "Who runs a model stands below `vector.models`, or in the configuration file at the index itself beside `model`:",
    "",
    "| provider | fields | |",
    "|---|---|---|",
    '| `http` | `url`, `apiKeyFile` or `apiKeyVariable`, `modelName`, `timeout` (`30s`), `batchSize` (64 texts), `dimensions`, `queryPrefix`, `documentPrefix` | an endpoint of the OpenAI form, which is sent `{"model": …, "input": [texts]}` at the whole address `url` with the key as a bearer token; requests that fail for a reason that may pass are repeated for up to a minute |',
    "| `local` | `directory`, `pooling` (`cls` or `mean`), `precision` (`fp32`, `fp16`, `q8`, `int8`, `uint8`, `q4`), `queryPrefix`, `documentPrefix` | a model in a directory of this machine, with the files that the package `@huggingface/transformers` wants, which runs it in a thread of its own and has to be installed beside larder; nothing is downloaded |",
    "| `hashing` | `dimension` | no model: vectors of the letters of a text, for tests and demonstrations without a network |",
    "",
    "`modelName` is what the endpoint calls the model; for `BGE_SMALL_EN_V1_5`, `BGE_BASE_EN_V1_5`, `BGE_LARGE_EN_V1_5` and `BGE_M3` it is the published name, such as `BAAI/bge-m3`, unless said otherwise. The key never stands in the file. Indexes that are made at run time name models of the configuration file, or `hashing`: neither an address nor a file.",
  ];
}

function tokensChapter(): readonly string[] {
  return [
    "## Tokens",
    "",
    "The first start of `larder serve` makes a database `main`, an index `main` and a messaging user `main`, unless the configuration lists some, and generates their tokens, the signing keys and the admin token. They are printed at that start and kept in `tokens.json` in the data directory, which only its owner may read. `larder dev` has well-known tokens; those are refused on an address that other machines may reach.",
    "",
    "A user that ACL SETUSER has made comes in over HTTP with a token: that of `ACL RESTTOKEN <user> <password>`, which is the same each time, or one of `ACL GENTOKEN <user>` that is set as a password with `>token`. A token has what its user may at that moment, is refused (401) when the user is deleted or off or the password is taken away, and when its user changes the event streams that it opened end. Users and their tokens outlive restarts and new tokens of the database; what they are made from is in the journal, so keep the data directory as private as `tokens.json`.",
    "",
    "`larder token reset <database>` gives a database two new tokens, prints them, and refuses the old ones: a server that uses the data directory is asked through its admin port, of which it keeps the address there; without one `tokens.json` is changed, and the next start goes by it. It needs `--data-dir`, and `LARDER_ADMIN_TOKEN` where the server was started with one. `POST /v1/databases/<name>/reset-password` does the same. Either way the new tokens are on the disk before anybody sees them, and event streams that the old ones opened end.",
  ];
}

function respChapter(): readonly string[] {
  return [
    "## Redis clients",
    "",
    "With `--resp-port` the store also speaks RESP, versions 2 and 3, over TCP. All databases share the port, and what a connection says of itself names its database:",
    "",
    "| said with AUTH or HELLO | opens |",
    "|---|---|",
    "| `AUTH <token>`, `AUTH default <token>` | the database that the token belongs to |",
    "| `AUTH default_ro <read-only token>` | the same, as far as the read-only token goes |",
    "| `AUTH <user>@<database> <password>` | the database, as a user that ACL SETUSER has made |",
    "| `AUTH <user> <password>` | the same, where there is one database |",
    "",
    "So a client connects to `redis://default:<token>@<host>:<port>`, which the start prints as `REDIS_URL`. Before that only AUTH, HELLO, PING, QUIT and RESET are there, and while the store opens every command is answered `LOADING`. A connection ends when its token is reset or its user is deleted.",
    "",
    "With `--resp-tls-cert` and `--resp-tls-key` the port speaks TLS 1.2 and 1.3 and nothing else (`rediss://`); both files are read at the start. Without them tokens and data cross the network in the clear.",
    "",
    "A request may have as many bytes as over HTTP (`--max-request-size`). A connection with 32 MB of replies that were not read runs no further command until they are; one that listens (SUBSCRIBE, MONITOR) is cut off at 32 MB, or when it has had more than 8 MB for a minute. The admin port's metrics count both.",
  ];
}

function adminChapter(): readonly string[] {
  return [
    "## The admin port",
    "",
    "| request | answer |",
    "|---|---|",
    "| `GET /health/live` | 200 while the process answers |",
    "| `GET /health/startup` | 200 once every area has served, 503 while the start is under way |",
    `| \`GET /health/ready\` | 200, or 503 with the reasons while an area opens or drains, cannot write, or has been silent for ${SILENT_MS / 1_000} s (after ${DEAD_MS / 1_000} s it is ended, and the process with it) |`,
    "| `GET /version` | the version, Node's, and the formats of the files |",
    "| `GET /metrics` | Prometheus text: [metrics](reference/metrics.md) |",
    "| `GET /openapi.json` | the OpenAPI document of this port; the other ports have their own |",
    "| `GET /v1/databases` | the databases and who decides that they exist |",
    '| `POST /v1/databases` with `{"name":"…"}` | 201 with its tokens |',
    "| `DELETE /v1/databases/<name>` | the database, its data and its tokens are gone |",
    "| `POST /v1/databases/<name>/reset-password` | new tokens; the old ones are refused from then on |",
    "| the same below `/v1/indexes` | the indexes; a new one may also be described (see What an index is), and the list shows what each is |",
    "| the same below `/v1/users` | the users of messaging; a new one also gets signing keys, which it keeps when its password is reset |",
    "| `GET /v1/stats` | what the server has and does, in the figures that `larder stats` prints |",
    "| `POST /v1/snapshot` | 202; snapshots of all areas are begun, one behind the other |",
    "| `POST /v1/backup` | a directory of links, of which `larder backup` makes its file (see Backups) |",
    "| `POST /reset` (dev) | everything is emptied |",
    "",
    "All but the first six need the admin token: `Authorization: Bearer <token>`. A database, index or user that comes from the configuration file or the environment is changed there.",
  ];
}

function commandsChapter(): readonly string[] {
  return [
    "## The commands of the store",
    "",
    "As Redis 7 runs them, but for what ARCHITECTURE.md lists: [commands of the store](reference/commands.md). Every other name is refused with `ERR Command is not available`.",
    "",
    "INFO tells the times of commands as estimates: the first 16 runs of a command are timed, then one in 256, since a look at the clock costs almost half of a GET.",
    "",
    "A JSON path that begins with `$` is answered by an array of all that it leads to, any other path by one value. Paths are those of RFC 9535, with `=~` for patterns; what `..` finds below a node comes before what it finds in it. JSON.SET, like every change of a document, leaves the expiry of the key alone. A document nests 128 levels deep, a path takes 5,000,000 steps at most, and a command adds 64 MB at most beside the value it was given.",
  ];
}

function memoryChapter(): readonly string[] {
  return [
    "## Memory of the store",
    "",
    "`--maxmemory` bounds what the keys and values of a database take, for each database on its own: the `used_memory` of INFO and the sum of MEMORY USAGE, an estimate that is within 20 % of what the process takes for them. The JavaScript heap (`--heap-limit`) has to hold all databases together, less their strings of 4 KB and more, which lie outside; the start logs a warning where that is not sure. When a database takes more than its limit, each command first makes room by the policy:",
    "",
    "| policy | which keys may go | which goes first |",
    "|---|---|---|",
    ...evictionPolicies.map(({ name, candidates, first }) => {
      if (candidates === "none") return `| \`${name}\` | none | – |`;
      return `| \`${name}\` | ${candidates === "all" ? "all" : "those that expire"} | ${first} |`;
    }),
    "",
    "Where nothing may go, commands that may need memory are refused with `OOM command not allowed when used memory > 'maxmemory'.`; reads and removals go on. A transaction is then refused whole, as Redis refuses to queue its commands. Evictions are in the journal, so a restart does not bring keys back; how recently and how often keys were used is not, and begins anew.",
    "",
    "`CONFIG SET` changes `maxmemory`, `maxmemory-policy`, `maxmemory-samples`, `lfu-log-factor` and `lfu-decay-time` of the database that is asked, until the next start. Where the operator set a `maxmemory` (`--maxmemory`, or `maxmemory` of the database in the configuration file), that is the cap: `CONFIG SET` takes less and raises it up to the cap again, and refuses more, and 0.",
  ];
}

function endpointsChapter(): readonly string[] {
  return [
    "## The endpoints of messaging",
    "",
    'Every request carries `Authorization: Bearer <token>`; a publish may have it as `service_token` or `qstash_token` in its query. A failure is `{"error": "…"}` and names the field.',
    "",
    "All paths, what a read-only token may ask, and the filters of lists: [routes](reference/routes.md#messaging). What may be said of a message: [headers](reference/headers.md).",
  ];
}

function libraryChapter(): readonly string[] {
  return [
    "## As a library",
    "",
    "```js",
    'import { start } from "larder";',
    "",
    '// larder dev on free ports; takes what a configuration file may hold, and clock: "frozen"',
    "const larder = await start();",
    "larder.store; // { url, token, readOnlyToken }; also vector, messaging, admin, and env with the variables",
    "await larder.clock.advance(3_600_000); // time travel for expiry, delays and schedules",
    "larder.clock.now(); // ms since the epoch",
    "await larder.reset();",
    "await larder.stop();",
    "```",
  ];
}

if (import.meta.main) for (const [path, text] of manualPages()) writeFileSync(path, text);
