/**
 * Every setting, one row each: how it is given, what it means, what it is when
 * nobody says, and how its text becomes a value. `--help`, the manual, the
 * configuration file's keys and the refusals are all made from this table.
 *
 * A secret has no flag, because arguments are visible to every user of the
 * machine; it may also be given as a file whose path stands in the variable
 * with `_FILE` behind its name.
 */
import { destinationProfiles } from "../../edge/outbound/destination-policy.ts";
import { RESPONSE_BYTES_MAX } from "../../messaging/settings.ts";
import { evictionPolicies } from "../../store/memory/mod.ts";
import { DIMENSION_MAX } from "../../vector/index/definition.ts";
import { respTlsSettingRows, tlsSettingRows } from "./encryption-settings.ts";
import { memorySettingRows } from "./memory-settings.ts";
import { peerSettingRows } from "./peer-settings.ts";
import {
  orOff,
  parseChoice,
  parseCount,
  parseDestinations,
  parseDurationMs,
  parseHost,
  parseMemory,
  parseMessagingToken,
  parseOutboundMap,
  parsePath,
  parsePort,
  parseRegion,
  parseSigningKey,
  parseSize,
  parseSwitch,
  parseToken,
} from "./values.ts";
import { workflowSettingRows } from "./workflow-settings.ts";

/** As what a server is started; other commands read the settings of `serve`. */
export type Command = "serve" | "dev";

export type Group =
  | "Data"
  | "Addresses"
  | "Destinations"
  | "Limits"
  | "Messaging"
  | "Vector index"
  | "Logs"
  | "Tokens and keys";

export interface Setting<Value> {
  readonly group: Group;
  /** The flag's whole name; its value is the next argument or stands behind `=`. */
  readonly flag?: `--${string}`;
  /** Environment variables, the first that is set wins. */
  readonly environment: readonly string[];
  /** The key at the top of the configuration file. */
  readonly fileKey?: string;
  /** How the help names the value. */
  readonly argument: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** What the setting is when nobody says, as text that `parse` reads; undefined: it has no value. */
  readonly default: string | undefined;
  /** The same for `larder dev` where it differs. */
  readonly devDefault?: string | undefined;
  /** What the help prints for a default that is not a fixed text. */
  readonly defaultMeaning?: string;
  readonly secret?: boolean;
  /** Throws `BadValue`. */
  parse(text: string): Value;
}

const KB = 2 ** 10;
const MB = 2 ** 20;
const GB = 2 ** 30;
const DAY_MS = 86_400_000;

/** Half of what the bodies of one thread's requests may take together (edge/http/listener.ts). */
const REQUEST_BYTES_MAX = 128 * MB;

export const settingRows = {
  config: {
    group: "Data",
    flag: "--config",
    environment: ["LARDER_CONFIG"],
    argument: "<path>",
    meaning: "Configuration file (JSON): settings, databases, indexes and messaging users",
    default: undefined,
    defaultMeaning: "none",
    parse: parsePath,
  },
  dataDirectory: {
    group: "Data",
    flag: "--data-dir",
    environment: ["LARDER_DATA_DIR"],
    fileKey: "dataDir",
    argument: "<path>",
    meaning: "Directory of everything that is kept; one process at a time may use it",
    default: "./larder-data",
    devDefault: undefined,
    defaultMeaning: "./larder-data; in dev none, nothing is kept",
    parse: parsePath,
  },
  fsync: {
    group: "Data",
    flag: "--fsync",
    environment: ["LARDER_FSYNC"],
    fileKey: "fsync",
    argument: "always|everysec|no",
    meaning:
      "When a write of the store or the vectors is acknowledged: synced, written and synced each second, or written",
    default: "everysec",
    parse: parseChoice(["always", "everysec", "no"]),
  },
  snapshots: {
    group: "Data",
    flag: "--snapshots",
    environment: ["LARDER_SNAPSHOTS"],
    fileKey: "snapshots",
    argument: "on|off",
    meaning: "Write snapshots in a process of their own, so that a start need not replay everything",
    default: "on",
    parse: parseSwitch,
  },
  freeDiskBytesMin: {
    group: "Data",
    flag: "--min-free-disk",
    environment: ["LARDER_MIN_FREE_DISK"],
    fileKey: "minFreeDisk",
    argument: "<size>|off",
    meaning:
      "Refuse writes as on a full disk while less than this is free where the data directory lies; with off the disk may become full, which loses nothing either",
    default: "off",
    parse: orOff(parseSize(MB, 1024 * GB)),
  },
  threads: {
    group: "Data",
    flag: "--threads",
    environment: ["LARDER_THREADS"],
    fileKey: "threads",
    argument: "one|per-area",
    meaning: "Run all areas in one thread, or each in a thread of its own",
    default: "per-area",
    devDefault: "one",
    defaultMeaning: "per-area; one in dev and with --port",
    parse: parseChoice(["one", "per-area"]),
  },
  host: {
    group: "Addresses",
    flag: "--host",
    environment: ["LARDER_HOST"],
    fileKey: "host",
    argument: "<address>",
    meaning: "Address that the areas listen on",
    default: "127.0.0.1",
    parse: parseHost,
  },
  storePort: {
    group: "Addresses",
    flag: "--store-port",
    environment: ["LARDER_STORE_PORT"],
    fileKey: "storePort",
    argument: "<port>",
    meaning: "Port of the store; 0 means any free port, here and for every other port",
    default: "8079",
    parse: parsePort,
  },
  messagingPort: {
    group: "Addresses",
    flag: "--messaging-port",
    environment: ["LARDER_MESSAGING_PORT"],
    fileKey: "messagingPort",
    argument: "<port>",
    meaning: "Port of messaging",
    default: "8080",
    parse: parsePort,
  },
  vectorPort: {
    group: "Addresses",
    flag: "--vector-port",
    environment: ["LARDER_VECTOR_PORT"],
    fileKey: "vectorPort",
    argument: "<port>",
    meaning: "Port of the vector index",
    default: "8081",
    parse: parsePort,
  },
  port: {
    group: "Addresses",
    flag: "--port",
    environment: ["LARDER_PORT", "PORT"],
    fileKey: "port",
    argument: "<port>",
    meaning: "One port for all areas, below /store, /vector and /messaging, in place of the three",
    default: "off",
    parse: orOff(parsePort),
  },
  ...tlsSettingRows,
  respPort: {
    group: "Addresses",
    flag: "--resp-port",
    environment: ["LARDER_RESP_PORT"],
    fileKey: "respPort",
    argument: "<port>",
    meaning: "Port on which the store speaks RESP over TCP, the protocol of Redis clients",
    default: "off",
    parse: orOff(parsePort),
  },
  ...respTlsSettingRows,
  redisCompat: {
    group: "Addresses",
    flag: "--redis-compat",
    environment: ["LARDER_REDIS_COMPAT"],
    fileKey: "redisCompat",
    argument: "on|off",
    meaning:
      "Over RESP, also DEBUG and CONFIG SET of any name, and no password where there is one database, for the tests of Redis: whoever reaches the port can stop the store for seconds",
    default: "off",
    parse: parseSwitch,
  },
  adminHost: {
    group: "Addresses",
    flag: "--admin-host",
    environment: ["LARDER_ADMIN_HOST"],
    fileKey: "adminHost",
    argument: "<address>",
    meaning: "Address of the admin port",
    default: "127.0.0.1",
    parse: parseHost,
  },
  adminPort: {
    group: "Addresses",
    flag: "--admin-port",
    environment: ["LARDER_ADMIN_PORT"],
    fileKey: "adminPort",
    argument: "<port>",
    meaning: "Port of health, metrics and administration",
    default: "8082",
    parse: parsePort,
  },
  destinations: {
    group: "Destinations",
    flag: "--destinations",
    environment: ["LARDER_DESTINATIONS"],
    fileKey: "destinations",
    argument: "public|private|any",
    meaning:
      "Which addresses messages may be delivered to: public ones, also private networks, or also loopback; link-local metadata addresses only when listed in --allow-destination",
    default: "public",
    devDefault: "any",
    defaultMeaning: "public; any in dev",
    parse: parseChoice(destinationProfiles),
  },
  allowedDestinations: {
    group: "Destinations",
    flag: "--allow-destination",
    environment: ["LARDER_ALLOW_DESTINATION"],
    fileKey: "allowDestination",
    argument: "<cidr|host,…>",
    meaning:
      "Addresses, networks, host names and *.suffix allowed besides; a metadata address needs itself or a narrow network around it listed, not its name",
    default: "",
    defaultMeaning: "none",
    parse: parseDestinations,
  },
  outboundMap: {
    group: "Destinations",
    flag: "--outbound-map",
    environment: ["LARDER_OUTBOUND_MAP"],
    fileKey: "outboundMap",
    argument: "<host=address:port,…>",
    meaning: "Connect somewhere else for a host or *.suffix; records and signatures keep the published URL",
    default: "",
    defaultMeaning: "none",
    parse: parseOutboundMap,
  },
  requestBytesMax: {
    group: "Limits",
    flag: "--max-request-size",
    environment: ["LARDER_MAX_REQUEST_SIZE"],
    fileKey: "maxRequestSize",
    argument: "<size>",
    meaning: "Largest body of a request, and largest command in a pipeline or a transaction",
    default: "10mb",
    parse: parseSize(KB, REQUEST_BYTES_MAX),
  },
  headerBytesMax: {
    group: "Limits",
    flag: "--max-header-size",
    environment: ["LARDER_MAX_HEADER_SIZE"],
    fileKey: "maxHeaderSize",
    argument: "<size>",
    meaning: "Largest request line and headers together",
    default: "64kb",
    parse: parseSize(KB, MB),
  },
  memoryBytesMax: {
    group: "Limits",
    flag: "--maxmemory",
    environment: ["LARDER_MAXMEMORY"],
    fileKey: "maxmemory",
    argument: "<size>",
    meaning:
      "Most memory that the keys and values of a database may take, for each database on its own, spelled as in redis.conf: 100mb, 1gb; 0 is no limit",
    default: "0",
    parse: parseMemory,
  },
  evictionPolicy: {
    group: "Limits",
    flag: "--maxmemory-policy",
    environment: ["LARDER_MAXMEMORY_POLICY"],
    fileKey: "maxmemoryPolicy",
    argument: "<policy>",
    meaning: `What happens to a database that takes more than that: ${evictionPolicies.map(({ name }) => name).join(", ")}`,
    default: "noeviction",
    parse: parseChoice(evictionPolicies.map(({ name }) => name)),
  },
  evictionSamples: {
    group: "Limits",
    flag: "--maxmemory-samples",
    environment: ["LARDER_MAXMEMORY_SAMPLES"],
    fileKey: "maxmemorySamples",
    argument: "<count>",
    meaning: "Keys that are looked at to find one to evict: more are slower and come closer to the policy",
    default: "5",
    parse: parseCount(1, 64),
  },
  scriptTimeMsMax: {
    group: "Limits",
    flag: "--script-time-limit",
    environment: ["LARDER_SCRIPT_TIME_LIMIT"],
    fileKey: "scriptTimeLimit",
    argument: "<time>",
    meaning:
      "How long a script or function may compute, with its compilation, before it is stopped; nobody else is served meanwhile",
    default: "1s",
    parse: parseDurationMs(10, 60_000),
  },
  scriptMemoryBytesMax: {
    group: "Limits",
    flag: "--script-memory",
    environment: ["LARDER_SCRIPT_MEMORY"],
    fileKey: "scriptMemory",
    argument: "<size>",
    meaning:
      "Most memory that the scripts of one user of a database may take; all users together take up to four times it",
    default: "64mb",
    parse: parseSize(MB, 512 * MB),
  },
  requestsPerDayMax: {
    group: "Limits",
    flag: "--daily-request-limit",
    environment: ["LARDER_DAILY_REQUEST_LIMIT"],
    fileKey: "dailyRequestLimit",
    argument: "<count>|off",
    meaning: "Most commands per database and UTC day",
    default: "off",
    parse: orOff(parseCount(1, Number.MAX_SAFE_INTEGER)),
  },
  pendingEntriesMax: {
    group: "Limits",
    flag: "--pending-limit",
    environment: ["LARDER_PENDING_LIMIT"],
    fileKey: "pendingLimit",
    argument: "<count>|off",
    meaning: "Most entries of a stream that XREADGROUP leaves pending for one consumer",
    default: "off",
    parse: orOff(parseCount(1, Number.MAX_SAFE_INTEGER)),
  },
  requestsPerSecondMax: {
    group: "Limits",
    flag: "--rate-limit",
    environment: ["LARDER_RATE_LIMIT"],
    fileKey: "rateLimit",
    argument: "<count>|off",
    meaning: "Most requests per token and second; more are answered with 429",
    default: "off",
    parse: orOff(parseCount(1, 1_000_000)),
  },
  streamsPerTokenMax: {
    group: "Limits",
    flag: "--stream-limit",
    environment: ["LARDER_STREAM_LIMIT"],
    fileKey: "streamLimit",
    argument: "<count>",
    meaning: "Most event streams of the store that one token may have open: subscriptions and monitors",
    default: "1000",
    parse: parseCount(1, 1_000_000),
  },
  respConnectionsMax: {
    group: "Limits",
    flag: "--max-resp-connections",
    environment: ["LARDER_MAX_RESP_CONNECTIONS"],
    fileKey: "maxRespConnections",
    argument: "<count>",
    meaning: "Most connections to the RESP port",
    default: "10000",
    parse: parseCount(1, 1_000_000),
  },
  ...peerSettingRows,
  cors: {
    group: "Limits",
    flag: "--cors",
    environment: ["LARDER_CORS"],
    fileKey: "cors",
    argument: "on|off",
    meaning: "Let pages of other origins call the store and the vector index, not messaging; they still need a token",
    default: "on",
    parse: parseSwitch,
  },
  queryToken: {
    group: "Limits",
    flag: "--query-token",
    environment: ["LARDER_QUERY_TOKEN"],
    fileKey: "queryToken",
    argument: "on|off",
    meaning: "Accept the store's token as the query parameter _token too; addresses end up in the logs of proxies",
    default: "on",
    parse: parseSwitch,
  },
  ...memorySettingRows,
  shutdownGraceMs: {
    group: "Limits",
    flag: "--shutdown-grace",
    environment: ["LARDER_SHUTDOWN_GRACE"],
    fileKey: "shutdownGrace",
    argument: "<time>",
    meaning: "How long a stop waits for requests that are being answered, and then for deliveries under way",
    default: "10s",
    parse: parseDurationMs(0, 600_000),
  },
  retriesMax: {
    group: "Messaging",
    flag: "--max-retries",
    environment: ["LARDER_MAX_RETRIES"],
    fileKey: "maxRetries",
    argument: "<count>",
    meaning: "Most retries that a message may ask for",
    default: "1000",
    parse: parseCount(0, 1_000_000),
  },
  delayMsMax: {
    group: "Messaging",
    flag: "--max-delay",
    environment: ["LARDER_MAX_DELAY"],
    fileKey: "maxDelay",
    argument: "<time>",
    meaning: "Longest delay that a message may ask for",
    default: "1098d",
    parse: parseDurationMs(1_000, 36_600 * DAY_MS),
  },
  timeoutMsMax: {
    group: "Messaging",
    flag: "--max-timeout",
    environment: ["LARDER_MAX_TIMEOUT"],
    fileKey: "maxTimeout",
    argument: "<time>",
    meaning: "Longest time that a delivery may take, also of messages that name none",
    default: "2h",
    parse: parseDurationMs(1_000, DAY_MS),
  },
  responseBytesMax: {
    group: "Messaging",
    flag: "--max-response-size",
    environment: ["LARDER_MAX_RESPONSE_SIZE"],
    fileKey: "maxResponseSize",
    argument: "<size>",
    meaning:
      "Longest answer of a destination that is kept for callbacks, workflow calls, logs and dead letters; of a longer one the start is kept, and its header Service-Body-Cut says so",
    default: undefined,
    defaultMeaning: "as large as --max-request-size, and 100mb at most",
    parse: parseSize(KB, RESPONSE_BYTES_MAX),
  },
  messagesPerDayMax: {
    group: "Messaging",
    flag: "--daily-message-limit",
    environment: ["LARDER_DAILY_MESSAGE_LIMIT"],
    fileKey: "dailyMessageLimit",
    argument: "<count>|off",
    meaning: "Most messages per user and UTC day",
    default: "off",
    parse: orOff(parseCount(1, Number.MAX_SAFE_INTEGER)),
  },
  schedulesMax: {
    group: "Messaging",
    flag: "--max-schedules",
    environment: ["LARDER_MAX_SCHEDULES"],
    fileKey: "maxSchedules",
    argument: "<count>",
    meaning: "Most schedules of a user",
    default: "100000",
    parse: parseCount(0, 10_000_000),
  },
  queuesMax: {
    group: "Messaging",
    flag: "--max-queues",
    environment: ["LARDER_MAX_QUEUES"],
    fileKey: "maxQueues",
    argument: "<count>",
    meaning: "Most queues of a user",
    default: "10000",
    parse: parseCount(0, 10_000_000),
  },
  queueParallelismMax: {
    group: "Messaging",
    flag: "--max-queue-parallelism",
    environment: ["LARDER_MAX_QUEUE_PARALLELISM"],
    fileKey: "maxQueueParallelism",
    argument: "<count>",
    meaning: "Most messages of a queue that may be delivered at a time",
    default: "1000",
    parse: parseCount(1, 1_000_000),
  },
  groupsMax: {
    group: "Messaging",
    flag: "--max-url-groups",
    environment: ["LARDER_MAX_URL_GROUPS"],
    fileKey: "maxUrlGroups",
    argument: "<count>",
    meaning: "Most URL groups of a user",
    default: "10000",
    parse: parseCount(0, 10_000_000),
  },
  endpointsMax: {
    group: "Messaging",
    flag: "--max-endpoints",
    environment: ["LARDER_MAX_ENDPOINTS"],
    fileKey: "maxEndpoints",
    argument: "<count>",
    meaning: "Most endpoints of a URL group",
    default: "1000",
    parse: parseCount(1, 100_000),
  },
  ...workflowSettingRows,
  userParallelism: {
    group: "Messaging",
    flag: "--user-parallelism",
    environment: ["LARDER_USER_PARALLELISM"],
    fileKey: "userParallelism",
    argument: "<count>",
    meaning: "Deliveries of one user under way at a time",
    default: "1000",
    parse: parseCount(1, 100_000),
  },
  destinationParallelism: {
    group: "Messaging",
    flag: "--destination-parallelism",
    environment: ["LARDER_DESTINATION_PARALLELISM"],
    fileKey: "destinationParallelism",
    argument: "<count>",
    meaning: "The same to one scheme, host and port, which is also the most connections to it",
    default: "50",
    parse: parseCount(1, 10_000),
  },
  deadLetterRetentionMs: {
    group: "Messaging",
    flag: "--dlq-retention",
    environment: ["LARDER_DLQ_RETENTION"],
    fileKey: "dlqRetention",
    argument: "<time>",
    meaning: "How long messages that failed are kept in the dead-letter queue",
    default: "7d",
    parse: parseDurationMs(60_000, 36_600 * DAY_MS),
  },
  logRetentionMs: {
    group: "Messaging",
    flag: "--log-retention",
    environment: ["LARDER_LOG_RETENTION"],
    fileKey: "logRetention",
    argument: "<time>",
    meaning: "How long log entries of messages are kept",
    default: "14d",
    parse: parseDurationMs(60_000, 36_600 * DAY_MS),
  },
  headerNames: {
    group: "Messaging",
    flag: "--delivery-headers",
    environment: ["LARDER_DELIVERY_HEADERS"],
    fileKey: "deliveryHeaders",
    argument: "both|service|upstash",
    meaning: "Prefixes of the headers that we add to deliveries",
    default: "both",
    parse: parseChoice(["both", "service", "upstash"]),
  },
  region: {
    group: "Messaging",
    flag: "--region",
    environment: ["LARDER_REGION"],
    fileKey: "region",
    argument: "<name>",
    meaning: "Region that deliveries name, by which some receivers choose their keys",
    default: "US-EAST-1",
    parse: parseRegion,
  },
  topKMax: {
    group: "Vector index",
    flag: "--max-top-k",
    environment: ["LARDER_MAX_TOP_K"],
    fileKey: "maxTopK",
    argument: "<count>",
    meaning: "Most hits that a query may ask for, and records of one page of a range or of a fetch by prefix",
    default: "1000",
    parse: parseCount(1, 100_000),
  },
  readsPerRequestMax: {
    group: "Vector index",
    flag: "--max-reads-per-request",
    environment: ["LARDER_MAX_READS_PER_REQUEST"],
    fileKey: "maxReadsPerRequest",
    argument: "<count>",
    meaning: "Most queries in one request, and ids in one fetch",
    default: "1000",
    parse: parseCount(1, 100_000),
  },
  writesPerRequestMax: {
    group: "Vector index",
    flag: "--max-writes-per-request",
    environment: ["LARDER_MAX_WRITES_PER_REQUEST"],
    fileKey: "maxWritesPerRequest",
    argument: "<count>",
    meaning: "Most records in one upsert, and ids in one delete",
    default: "1000",
    parse: parseCount(1, 100_000),
  },
  vectorRequestBytesMax: {
    group: "Vector index",
    flag: "--max-vector-request-size",
    environment: ["LARDER_MAX_VECTOR_REQUEST_SIZE"],
    fileKey: "maxVectorRequestSize",
    argument: "<size>",
    meaning: "Largest body of a request to the vector index",
    default: "64mb",
    parse: parseSize(KB, REQUEST_BYTES_MAX),
  },
  dimensionMax: {
    group: "Vector index",
    flag: "--max-dimension",
    environment: ["LARDER_MAX_DIMENSION"],
    fileKey: "maxDimension",
    argument: "<count>",
    meaning: "Most dimensions that an index may have",
    default: "5376",
    parse: parseCount(1, DIMENSION_MAX),
  },
  sparseValuesMax: {
    group: "Vector index",
    flag: "--max-sparse-values",
    environment: ["LARDER_MAX_SPARSE_VALUES"],
    fileKey: "maxSparseValues",
    argument: "<count>",
    meaning: "Most values of one sparse vector",
    default: "1000",
    parse: parseCount(1, 100_000),
  },
  metadataBytesMax: {
    group: "Vector index",
    flag: "--max-metadata-size",
    environment: ["LARDER_MAX_METADATA_SIZE"],
    fileKey: "maxMetadataSize",
    argument: "<size>",
    meaning: "Largest metadata of one record, as compact JSON",
    default: "48kb",
    parse: parseSize(1, 16 * MB),
  },
  dataBytesMax: {
    group: "Vector index",
    flag: "--max-data-size",
    environment: ["LARDER_MAX_DATA_SIZE"],
    fileKey: "maxDataSize",
    argument: "<size>",
    meaning: "Largest data of one record",
    default: "1mb",
    parse: parseSize(1, 16 * MB),
  },
  namespacesMax: {
    group: "Vector index",
    flag: "--max-namespaces",
    environment: ["LARDER_MAX_NAMESPACES"],
    fileKey: "maxNamespaces",
    argument: "<count>",
    meaning: "Most namespaces of an index",
    default: "100000",
    parse: parseCount(1, 10_000_000),
  },
  resumableQueriesMax: {
    group: "Vector index",
    flag: "--max-resumable-queries",
    environment: ["LARDER_MAX_RESUMABLE_QUERIES"],
    fileKey: "maxResumableQueries",
    argument: "<count>",
    meaning: "Most resumable queries of an index that are alive at a time",
    default: "1000",
    parse: parseCount(0, 100_000),
  },
  queriesPerDayMax: {
    group: "Vector index",
    flag: "--daily-query-limit",
    environment: ["LARDER_DAILY_QUERY_LIMIT"],
    fileKey: "dailyQueryLimit",
    argument: "<count>|off",
    meaning: "Most queries per index and UTC day",
    default: "off",
    parse: orOff(parseCount(1, Number.MAX_SAFE_INTEGER)),
  },
  updatesPerDayMax: {
    group: "Vector index",
    flag: "--daily-update-limit",
    environment: ["LARDER_DAILY_UPDATE_LIMIT"],
    fileKey: "dailyUpdateLimit",
    argument: "<count>|off",
    meaning: "Most records that are changed per index and UTC day",
    default: "off",
    parse: orOff(parseCount(1, Number.MAX_SAFE_INTEGER)),
  },
  logLevel: {
    group: "Logs",
    flag: "--log-level",
    environment: ["LARDER_LOG_LEVEL"],
    fileKey: "logLevel",
    argument: "debug|info|warn|error",
    meaning: "Least severe lines that are logged",
    default: "info",
    parse: parseChoice(["debug", "info", "warn", "error"]),
  },
  logFormat: {
    group: "Logs",
    flag: "--log-format",
    environment: ["LARDER_LOG_FORMAT"],
    fileKey: "logFormat",
    argument: "auto|json|text",
    meaning: "JSON lines, text for people, or text at a terminal and JSON elsewhere",
    default: "auto",
    parse: parseChoice(["auto", "json", "text"]),
  },
  storeToken: secret("LARDER_STORE_TOKEN", "Token of the database main, for every command", parseToken),
  storeReadOnlyToken: secret("LARDER_STORE_READ_ONLY_TOKEN", "Its token for reading", parseToken),
  vectorToken: secret("LARDER_VECTOR_TOKEN", "Token of the index main (in dev: of the index dev)", parseToken),
  vectorReadOnlyToken: secret("LARDER_VECTOR_READ_ONLY_TOKEN", "Its token for reading", parseToken),
  messagingToken: secret(
    "LARDER_MESSAGING_TOKEN",
    'Token of the messaging user main: base64 of {"UserID":"…","Password":"…"}',
    parseMessagingToken,
  ),
  messagingReadOnlyToken: secret(
    "LARDER_MESSAGING_READ_ONLY_TOKEN",
    "Its token for reading, of the same form",
    parseMessagingToken,
  ),
  currentSigningKey: secret("LARDER_CURRENT_SIGNING_KEY", "Key that signs deliveries: sig_…", parseSigningKey),
  nextSigningKey: secret("LARDER_NEXT_SIGNING_KEY", "Key that signs after the next rotation: sig_…", parseSigningKey),
  adminToken: secret("LARDER_ADMIN_TOKEN", "Token of the admin port", parseToken),
} as const satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof settingRows;

/** The value of every setting, by the name of its row. */
export type Settings = {
  readonly [Name in SettingName]: ReturnType<(typeof settingRows)[Name]["parse"]> | Absent<Name>;
};

/** A row without a default in one of the forms may end up without a value. */
type Absent<Name extends SettingName> = (typeof settingRows)[Name] extends { default: string; devDefault?: string }
  ? never
  : undefined;

/** The rows as a list, for those who treat all alike. */
export const settingList: readonly (readonly [SettingName, Setting<unknown>])[] = Object.entries(settingRows) as [
  SettingName,
  Setting<unknown>,
][];

function secret(variable: string, meaning: string, parse: (text: string) => string) {
  return {
    group: "Tokens and keys",
    environment: [variable],
    argument: "<secret>",
    meaning,
    default: undefined,
    defaultMeaning: "generated",
    secret: true,
    parse,
  } as const;
}
