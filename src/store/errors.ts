/**
 * Every error text of the store. Clients match on them, so wording and prefix
 * are those of Redis 7 except where the service differs (A.errors).
 *
 * Texts that never vary are built once and thrown as constants, as Redis does
 * with its shared replies. A `CommandError` has no stack: it is a reply, not
 * a bug.
 */

import { type Bytes, upperCase } from "../kernel/bytes.ts";
import { OWNER_MOVES } from "../kernel/journal.ts";
import type { RuleFault } from "./acl/rule-fault.ts";

export class CommandError {
  /** The whole text, with its prefix (`ERR`, `WRONGTYPE`, …) and without a leading `-`. */
  readonly text: string;
  readonly #denied: Denied | undefined;

  constructor(text: string, denied?: Denied) {
    this.text = text;
    this.#denied = denied;
  }

  /** Set if the user lacks a right: ACL LOG records it. */
  get denied(): Denied | undefined {
    return this.#denied;
  }
}

/** Why a script, transaction or command was stopped by a limit, not by its own error: its writes are undone. */
export class StoppedUnit extends CommandError {
  /** The error without a remark on the undoing, if its reply could not be sent. */
  readonly reason: CommandError | undefined;

  constructor(text: string, reason?: CommandError) {
    super(text);
    this.reason = reason;
  }

  /** The unit is stopped because its reply cannot be sent. */
  static becauseOf(reason: CommandError): StoppedUnit {
    return new StoppedUnit(reason.text, reason);
  }
}

/** A transaction that has changed nothing; `error` is that of the first refused command, or why it was undone. */
export class TransactionDiscarded extends Error {
  override name = "TransactionDiscarded";
  readonly error: CommandError;

  constructor(error: CommandError) {
    super(error.text);
    this.error = error;
  }
}

/** What was denied: a command, a key, a channel, or a login. */
export type DenialReason = "command" | "key" | "channel" | "auth";

export interface Denied {
  readonly reason: DenialReason;
  /** The full name of the command, the key or the channel. */
  readonly object: string;
}

/** Nobody reads it. */
export const callerHasLeft = new CommandError("ERR the client has left");
export const databaseReset = new CommandError("ERR the database was emptied while the command ran");
export const databaseDropped = new CommandError("ERR the database was deleted");
export const emptyCommand = new CommandError("ERR empty command");
export const syntaxError = new CommandError("ERR syntax error");
export const wrongType = new CommandError("WRONGTYPE Operation against a key holding the wrong kind of value");
export const notInteger = new CommandError("ERR value is not an integer or out of range");
export const outOfRange = new CommandError("ERR value is out of range, must be positive");
export const notFloat = new CommandError("ERR value is not a valid float");
export const overflow = new CommandError("ERR increment or decrement would overflow");
export const decrementOverflow = new CommandError("ERR decrement would overflow");
export const notFinite = new CommandError("ERR increment would produce NaN or Infinity");
export const boundsCrossed = new CommandError("ERR LBOUND can't be greater than UBOUND");
export const pairCountInvalid = new CommandError("ERR invalid numkeys value");
export const pairCountWrong = new CommandError("ERR wrong number of key-value pairs");
export const offsetOutOfRange = new CommandError("ERR offset is out of range");
export const lcsNotString = new CommandError("ERR The specified keys must contain string values");
export const lcsLengthAndIndexes = new CommandError(
  "ERR If you want both the length and indexes, please just use IDX.",
);
export const lcsTooLong = new CommandError(
  "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
);
export const digestLength = new CommandError("ERR must be exactly 16 hexadecimal characters");
export const conditionNeedsString = new CommandError("ERR Key should be of string type if conditions are specified");
export const unknownCondition = new CommandError("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
export const hashNotInteger = new CommandError("ERR hash value is not an integer");
export const hashNotFloat = new CommandError("ERR hash value is not a float");
export const notFiniteArgument = new CommandError("ERR value is NaN or Infinity");
export const countOutOfRange = new CommandError("ERR value is out of range");
export const keyCountNotPositive = new CommandError("ERR numkeys should be greater than 0");
export const keyCountTooLarge = new CommandError("ERR Number of keys can't be greater than number of args");
export const limitNegative = new CommandError("ERR LIMIT can't be negative");
export const bitOffsetOutOfRange = new CommandError("ERR bit offset is not an integer or out of range");
export const bitNotBit = new CommandError("ERR bit is not an integer or out of range");
export const bitToFindNotBit = new CommandError("ERR The bit argument must be 1 or 0.");
export const bitopNeedsOneKey = new CommandError("ERR BITOP NOT must be called with a single source key.");
export const bitfieldTypeInvalid = new CommandError(
  "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
);
export const bitfieldOverflowInvalid = new CommandError("ERR Invalid OVERFLOW type specified");
export const bitfieldOnlyGets = new CommandError("ERR BITFIELD_RO only supports the GET subcommand");
export const countNegative = new CommandError("ERR COUNT can't be negative");
export const maxLengthNegative = new CommandError("ERR MAXLEN can't be negative");
export const rankZero = new CommandError(
  "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
);
export const notSortable = new CommandError("ERR One or more scores can't be converted into double");
export const indexOutOfRange = new CommandError("ERR index out of range");
export const nxAndOthers = new CommandError("ERR NX and XX, GT or LT options at the same time are not compatible");
export const gtAndLt = new CommandError("ERR GT and LT options at the same time are not compatible");
export const negativeExpire = new CommandError("ERR invalid expire time, must be >= 0");
export const fieldsMissing = new CommandError("ERR Mandatory argument FIELDS is missing or not at the right position");
export const fieldCountNotPositive = new CommandError("ERR Number of fields must be a positive integer");
export const expiringFieldCountNotPositive = new CommandError("ERR Parameter `numFields` should be greater than 0");
export const fieldCountMismatch = new CommandError("ERR The `numfields` parameter must match the number of arguments");
export const fieldCountInvalid = new CommandError("ERR invalid number of fields");
export const fieldsArgumentMissing = new CommandError("ERR missing FIELDS argument");
export const nxAndXx = new CommandError("ERR Only one of NX or XX arguments can be specified");
export const fnxAndFxx = new CommandError("ERR Only one of FXX or FNX arguments can be specified");
export const severalExpireTimes = new CommandError(
  "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified",
);
export const databaseOutOfRange = new CommandError("ERR DB index is out of range");
export const timeoutNotInteger = new CommandError("ERR timeout is not an integer or out of range");
export const timeoutNotFloat = new CommandError("ERR timeout is not a float or out of range");
export const timeoutNegative = new CommandError("ERR timeout is negative");
/** As Redis since 7.2: the moment of the timeout would not fit 64 bits. */
export const timeoutOutOfRange = new CommandError("ERR timeout is out of range");
export const frequencyNotTracked = new CommandError(
  "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
);
export const outOfMemory = new CommandError("OOM command not allowed when used memory > 'maxmemory'.");
/** For the time before the memory of the store is used up: clients know the first words. */
export const memoryUsedUp = new CommandError(
  "OOM command not allowed when the memory of the store is nearly used up. Delete keys of this database, which has much of it, or raise --store-memory",
);
export const idleTimeNotTracked = new CommandError(
  "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
);
export const noLocalSync = new CommandError(
  "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
);
export const noSuchCommand = new CommandError("ERR Invalid command specified");
export const commandWithoutKeys = new CommandError("ERR The command has no key arguments");
export const commandWithWrongArity = new CommandError("ERR Invalid number of arguments specified for command");
export const commandWithWrongKeys = new CommandError("ERR Invalid arguments specified for command");
export const noSuchKey = new CommandError("ERR no such key");
export const stringTooLong = new CommandError("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
export const invalidCursor = new CommandError("ERR invalid cursor");
export const replyTooLarge = new CommandError("ERR reply exceeds the maximum allowed size");
export const badDataFormat = new CommandError("ERR Bad data format");
export const dumpChecksumWrong = new CommandError("ERR DUMP payload version or checksum are wrong");
export const busyKey = new CommandError("BUSYKEY Target key name already exists.");
export const negativeTimeToLive = new CommandError("ERR Invalid TTL value, must be >= 0");
export const negativeIdleTime = new CommandError("ERR Invalid IDLETIME value, must be >= 0");
export const frequencyOutOfRange = new CommandError("ERR Invalid FREQ value, must be >= 0 and <= 255");
export const notHyperLogLog = new CommandError("WRONGTYPE Key is not a valid HyperLogLog string value.");
export const corruptedHyperLogLog = new CommandError("INVALIDOBJ Corrupted HLL object detected");

export const notFloatRange = new CommandError("ERR min or max is not a float");
export const notLexRange = new CommandError("ERR min or max not valid string range item");
export const xxAndNx = new CommandError("ERR XX and NX options at the same time are not compatible");
export const gtLtNx = new CommandError("ERR GT, LT, and/or NX options at the same time are not compatible");
export const incrWithSeveral = new CommandError("ERR INCR option supports a single increment-element pair");
export const scoreNotNumber = new CommandError("ERR resulting score is not a number (NaN)");
export const limitNeedsRange = new CommandError(
  "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
);
export const lexWithScores = new CommandError("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
export const countNotPositive = new CommandError("ERR count should be greater than 0");
export const weightNotFloat = new CommandError("ERR weight value is not a float");

export const streamIdInvalid = new CommandError("ERR Invalid stream ID specified as stream command argument");
export const streamStartInvalid = new CommandError("ERR invalid start ID for the interval");
export const streamEndInvalid = new CommandError("ERR invalid end ID for the interval");
export const streamIdZero = new CommandError("ERR The ID specified in XADD must be greater than 0-0");
export const streamIdNotGreater = new CommandError(
  "ERR The ID specified in XADD is equal or smaller than the target stream top item",
);
export const streamExhausted = new CommandError(
  "ERR The stream has exhausted the last possible ID, unable to add more items",
);
export const maxLengthAndMinId = new CommandError(
  "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
);
export const idempotenceNotAvailable = new CommandError("ERR IDMP and IDMPAUTO of XADD are not available");
export const trimLengthNegative = new CommandError("ERR The MAXLEN argument must be >= 0.");
export const trimLimitNegative = new CommandError("ERR The LIMIT argument must be >= 0.");
export const trimLimitAlone = new CommandError(
  "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
);
export const trimLimitExact = new CommandError("ERR syntax error, LIMIT cannot be used without the special ~ option");
export const trimWithoutStrategy = new CommandError("ERR syntax error, XTRIM must be called with a trimming strategy");
export const entriesAddedNegative = new CommandError("ERR entries_added must be positive");
export const setIdBelowGivenDeleted = new CommandError(
  "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
);
export const setIdBelowTop = new CommandError(
  "ERR The ID specified in XSETID is smaller than the target stream top item",
);
export const setIdBelowDeleted = new CommandError(
  "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
);
export const entriesAddedBelowLength = new CommandError(
  "ERR The entries_added specified in XSETID is smaller than the target stream length",
);
export const idCountNotPositive = new CommandError("ERR Number of IDs must be a positive integer");
export const idCountMismatch = new CommandError("ERR The `numids` parameter must match the number of arguments");
export const entriesReadNegative = new CommandError("ERR value for ENTRIESREAD must be positive or -1");
export const groupNeedsStream = new CommandError(
  "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.",
);
export const groupExists = new CommandError("BUSYGROUP Consumer Group name already exists");
export const groupOnlyXreadgroup = new CommandError(
  "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
);
export const noackOnlyXreadgroup = new CommandError(
  "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.",
);
export const claimOnlyXreadgroup = new CommandError(
  "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.",
);
export const claimTimeNotInteger = new CommandError("ERR min-idle-time is not an integer or out of range");
export const claimTimeNegative = new CommandError("ERR min-idle-time must be a positive integer");
export const groupMissing = new CommandError("ERR Missing GROUP option for XREADGROUP");
export const lastIdInGroup = new CommandError(
  "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
);
export const lastEntryInGroup = new CommandError(
  "ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty result set.",
);
export const newIdWithoutGroup = new CommandError(
  "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
);
/** The checksum is correct. */
export function dumpVersionUnknown(version: number, known: string): CommandError {
  const reason = `version ${version} of the format is unknown, larder reads ${known}`;
  return new CommandError(`${dumpChecksumWrong.text}: ${reason}`);
}

export function moduleValueRefused(module: string): CommandError {
  return new CommandError(`${badDataFormat.text}: it is a value of the module ${module}, which larder does not have`);
}

export function metadataRefused(name: string): CommandError {
  const reason = `the key has metadata of the module class ${name}, which larder does not have and must not drop`;
  return new CommandError(`${badDataFormat.text}: ${reason}`);
}

interface PendingFigures {
  readonly limit: number;
  readonly pendingCount: number;
  readonly newCount: number;
  readonly key: string;
  readonly group: string;
  readonly consumer: string;
}

/** Wording of the hosted service. */
export function pendingTooMany({ limit, pendingCount, newCount, key, group, consumer }: PendingFigures): CommandError {
  return new CommandError(
    `ERR XReadGroup is cancelled. Pending Entries List limit per consumer is about to be reached. Limit: ${limit}, Current PEL size: ${pendingCount}, Requested Read: ${newCount}, Key: ${key}, Group: ${group}, Consumer: ${consumer}.`,
  );
}

export const claimCountNotPositive = new CommandError("ERR COUNT must be > 0");

/** As C prints a byte string: up to its first zero byte. */
function printed(bytes: string): string {
  const end = bytes.indexOf("\x00");
  return end < 0 ? bytes : bytes.slice(0, end);
}

/** The same words for XREADGROUP, as Redis 7.0 has them. */
export const unbalancedStreams = new CommandError(
  "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
);

/** `suffix` names the command. */
export function noSuchKeyOrGroup(key: string, group: string, suffix = ""): CommandError {
  return new CommandError(`NOGROUP No such key '${printed(key)}' or consumer group '${printed(group)}'${suffix}`);
}

export function noSuchGroup(key: string, group: string): CommandError {
  return new CommandError(`NOGROUP No such consumer group '${printed(group)}' for key name '${printed(key)}'`);
}

/** `what` is `min-idle-time argument`, `TIME option argument`, … */
export function invalidClaim(what: string, name: string): CommandError {
  return new CommandError(`ERR Invalid ${what} for ${name}`);
}

export function unknownClaimOption(option: string): CommandError {
  return new CommandError(`ERR Unrecognized XCLAIM option '${printed(option)}'`);
}

export function subcommandSyntax(name: string, subcommand: string): CommandError {
  return new CommandError(
    `ERR unknown subcommand or wrong number of arguments for '${printed(subcommand).slice(0, 128)}'. Try ${name.toUpperCase()} HELP.`,
  );
}

export function wrongArity(name: string): CommandError {
  return new CommandError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);
}

export const unknownUnit = new CommandError("ERR unsupported unit provided. please use M, KM, FT, MI");
export const negativeRadius = new CommandError("ERR radius cannot be negative");
export const negativeSide = new CommandError("ERR height or width cannot be negative");
export const memberNotDecodable = new CommandError("ERR could not decode requested zset member");
export const geoCountNotPositive = new CommandError("ERR COUNT must be > 0");
export const anyNeedsCount = new CommandError("ERR the ANY argument requires COUNT argument");

export function invalidPosition(longitude: string, latitude: string): CommandError {
  return new CommandError(`ERR invalid longitude,latitude pair ${longitude},${latitude}`);
}

export function needNumeric(what: "radius" | "width" | "height"): CommandError {
  return new CommandError(`ERR need numeric ${what}`);
}

export function storeWithOptions(what: string): CommandError {
  return new CommandError(`ERR ${what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options`);
}

export function oneCenter(name: string): CommandError {
  return new CommandError(`ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for ${name}`);
}

export function oneShape(name: string): CommandError {
  return new CommandError(`ERR exactly one of BYRADIUS and BYBOX can be specified for ${name}`);
}

export function noInputKeys(name: string): CommandError {
  return new CommandError(`ERR at least 1 input key is needed for '${name}' command`);
}

export function notAvailable(name: string): CommandError {
  return new CommandError(
    `ERR Command is not available: '${upperCase(name)}'. See docs/reference/commands.md of larder for its commands`,
  );
}

export function invalidExpire(name: string): CommandError {
  return new CommandError(`ERR invalid expire time in '${name.toLowerCase()}' command`);
}

/** Redis' wording. */
export function notBetween(least: string, most: string): CommandError {
  return new CommandError(`ERR value is out of range, value must between ${least} and ${most}`);
}

export function unknownParameter(name: string): CommandError {
  return new CommandError(`ERR Unknown option or number of arguments for CONFIG SET - '${name}'`);
}

/** CONFIG SET changed nothing, for this reason. */
export function parameterRefused(name: string, reason: string): CommandError {
  return new CommandError(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${reason}`);
}

export const noReloadOptions = new CommandError("ERR DEBUG RELOAD takes no options");
export const thresholdInvalid = new CommandError(
  "ERR argument must be a memory value bigger than 1 and smaller than 4gb",
);

export function pauseTooLong(secondsMax: number): CommandError {
  return new CommandError(`ERR DEBUG SLEEP takes at most ${secondsMax} seconds, because it stops all clients`);
}

export function tooManyToPopulate(countMax: number): CommandError {
  return new CommandError(`ERR DEBUG POPULATE makes at most ${countMax} keys`);
}

export function unsupportedOption(option: string): CommandError {
  return new CommandError(`ERR Unsupported option ${option}`);
}

export function unknownArgument(argument: string): CommandError {
  return new CommandError(`ERR unknown argument: ${argument}`);
}

export const noAuthentication = new CommandError("NOAUTH Authentication required.");
export const wrongPassword = new CommandError("WRONGPASS invalid username-password pair or user is disabled.");
export const noPasswordNeeded = new CommandError(
  "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
);
export const helloNeedsLogin = new CommandError(
  "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
);
export const protocolNotInteger = new CommandError("ERR Protocol version is not an integer or out of range");
export const protocolUnknown = new CommandError("NOPROTO unsupported protocol version");
export const clientNameInvalid = new CommandError(
  "ERR Client names cannot contain spaces, newlines or special characters.",
);
export const monitorTouchesKeys = new CommandError("ERR Replica can't interact with the keyspace");
export const monitorInTransaction = new CommandError("ERR MONITOR isn't allowed for DENY BLOCKING client");
export const shardInTransaction = new CommandError("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
export const notInTransaction = new CommandError("ERR Command not allowed inside a transaction");
export const multiNested = new CommandError("ERR MULTI calls can not be nested");
export const watchInMulti = new CommandError("ERR WATCH inside MULTI is not allowed");
export const execWithoutMulti = new CommandError("ERR EXEC without MULTI");
export const discardWithoutMulti = new CommandError("ERR DISCARD without MULTI");
export const transactionAborted = new CommandError("EXECABORT Transaction discarded because of previous errors.");
export const transactionTooLarge = new CommandError("ERR the commands of the transaction take too much memory");
export const watchesTooMany = new CommandError("ERR too many keys are watched");
export const subscriptionsTooMany = new CommandError("ERR too many channels and patterns are subscribed to");

export const cachingWithoutTracking = new CommandError(
  "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
);
export const cachingYesWithoutOptIn = new CommandError(
  "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
);
export const cachingNoWithoutOptOut = new CommandError(
  "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
);
export const redirectTwice = new CommandError("ERR A client can only redirect to a single other client");
export const redirectMissing = new CommandError("ERR The client ID you want redirect to does not exist");
export const prefixWithoutBroadcast = new CommandError("ERR PREFIX option requires BCAST mode to be enabled");
export const broadcastSwitched = new CommandError(
  "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
);
export const broadcastWithOptIn = new CommandError("ERR OPTIN and OPTOUT are not compatible with BCAST");
export const optInAndOptOut = new CommandError("ERR You can't specify both OPTIN mode and OPTOUT mode");
export const optInSwitched = new CommandError(
  "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
);

export function prefixOverlapsOwn(prefix: Bytes, own: Bytes): CommandError {
  return new CommandError(
    `ERR Prefix '${prefix}' overlaps with an existing prefix '${own}'. Prefixes for a single client must not overlap.`,
  );
}

export function prefixesOverlap(prefix: Bytes, other: Bytes): CommandError {
  return new CommandError(
    `ERR Prefix '${prefix}' overlaps with another provided prefix '${other}'. Prefixes for a single client must not overlap.`,
  );
}

export function prefixTooLong(bytesMax: number): CommandError {
  return new CommandError(`ERR A prefix of CLIENT TRACKING may have at most ${bytesMax} bytes`);
}

export function prefixesTooMany(countMax: number, per: "client" | "database"): CommandError {
  return new CommandError(`ERR The clients track too many prefixes: at most ${countMax} for each ${per}`);
}

export const clientIdInvalid = new CommandError("ERR Invalid client ID");
export const clientIdNotPositive = new CommandError("ERR client-id should be greater than 0");
export const noSuchClient = new CommandError("ERR No such client");
export const pauseKindUnknown = new CommandError("ERR CLIENT PAUSE mode must be WRITE or ALL");
export const unblockReasonUnknown = new CommandError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
export const unblocked = new CommandError("UNBLOCKED client unblocked via CLIENT UNBLOCK");
/** The answer of Redis to blocked commands when it becomes a replica. */
export const databaseMoves = new CommandError(
  "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
);

export function clientTypeUnknown(type: string): CommandError {
  return new CommandError(`ERR Unknown client type '${printed(type)}'`);
}

/** Wording of Redis 7.4. `filter` is in lower case. */
export function clientFilterNotInteger(filter: string): CommandError {
  return new CommandError(`ERR ${filter} is not an integer or out of range`);
}

export function clientFilterNotPositive(filter: string): CommandError {
  return new CommandError(`ERR ${filter} should be greater than 0`);
}

/** Wording of Valkey 9. */
export function clientFlagsUnknown(
  what: "flags" | "capa",
  { filter, value }: { readonly filter: string; readonly value: string },
): CommandError {
  const place = filter.startsWith("NOT-") ? `${filter} filter` : "provided filter";
  return new CommandError(`ERR Unknown ${what} found in the ${place}: ${printed(value)}`);
}

/** Wording of Valkey 9. */
export const vertexCountInvalid = new CommandError("ERR invalid number of vertices");
export const polygonTooSmall = new CommandError("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices");

export function tooManyVertices(countMax: number): CommandError {
  return new CommandError(`ERR BYPOLYGON takes at most ${countMax} vertices`);
}

export const notImporting = new CommandError("ERR Server is not in import mode");

export function noSuchUser(name: string): CommandError {
  return new CommandError(`ERR No such user '${printed(name)}'`);
}

/** Wording of Redis 7.2. */
export function libraryFactInvalid(option: string): CommandError {
  return new CommandError(`ERR ${option} cannot contain spaces, newlines or special characters.`);
}

export function libraryFactUnknown(option: string): CommandError {
  return new CommandError(`ERR Unrecognized option '${printed(option)}'`);
}

/** As in Redis: a refused EXEC discards the transaction, whatever the reason. */
export function refusalOfExec({ text }: CommandError): CommandError {
  return new CommandError(`EXECABORT Transaction discarded because of: ${text.replace(/^ERR /, "")}`);
}

export function helloOptionUnknown(option: string): CommandError {
  return new CommandError(`ERR Syntax error in HELLO option '${printed(option)}'`);
}

/** In RESP2, a subscribed client may send few commands. `name` is in lower case. */
export function notWhileListening(name: string): CommandError {
  return new CommandError(
    `ERR Can't execute '${name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
  );
}

const denials: Readonly<Record<DenialReason, string>> = {
  command: "no permission to execute the command or subcommand",
  key: "no permission to touch the specified keys",
  channel: "no permission to access one of the channels used as arguments to the command",
  auth: "no permission",
};

/** At EXEC, for a command that could be queued before. `refusal` is the reason now. */
export function noPermissionAnyMore(refusal: CommandError): CommandError {
  const reason = denials[refusal.denied?.reason ?? "command"];
  return new CommandError(
    `NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: ${reason}`,
  );
}

export function noPermission(name: string): CommandError {
  return new CommandError(
    `NOPERM this user has no permissions to run the '${name.toLowerCase()}' command or its subcommand`,
    { reason: "command", object: name.toLowerCase() },
  );
}

export function noPermissionFor(reason: "key" | "channel", object: string): CommandError {
  return new CommandError(`NOPERM this user has no permissions to access one of the ${reason}s used as arguments`, {
    reason,
    object,
  });
}

/** For SORT: BY and GET read keys that no word names. */
export function sortOptionDenied(option: "BY" | "GET"): CommandError {
  return new CommandError(`ERR ${option} option of SORT denied due to insufficient ACL permissions.`);
}

const ruleFaults: Readonly<Record<RuleFault, string>> = {
  "unknown name": "Unknown command or category name in ACL",
  syntax: "Syntax error",
  "pattern after all keys":
    "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
  "pattern after all channels":
    "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
  "no such password": "The password you are trying to remove from the user does not exist",
  "malformed hash": "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
  "first argument of a subcommand": "Allowing first-arg of a subcommand is not supported",
  "too many rules": "The user has too many rules of this kind",
  "too many passwords": "The user has too many passwords",
};

export function ruleRefused(rule: string, fault: RuleFault): CommandError {
  return new CommandError(`ERR Error in ACL SETUSER modifier '${printed(rule)}': ${ruleFaults[fault]}`);
}

export function unmatchedParenthesis(word: string): CommandError {
  return new CommandError(`ERR Unmatched parenthesis in acl selector starting at '${printed(word)}'.`);
}

export const userNameInvalid = new CommandError("ERR Usernames can't contain spaces or null characters");
export const restTokenUsage = new CommandError("ERR invalid syntax. Usage: ACL RESTTOKEN username password");
export const generateTokenUsage = new CommandError("ERR invalid syntax. Usage: ACL GENTOKEN username [password]");
export const passwordBitsInvalid = new CommandError(
  "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
);

export function userNameTooLong(bytesMax: number): CommandError {
  return new CommandError(`ERR Usernames can't be longer than ${bytesMax} bytes`);
}

export function userRulesTooLong(bytesMax: number): CommandError {
  return new CommandError(`ERR The rules of a user can't be longer than ${bytesMax} bytes`);
}

export function tooManyUsers(countMax: number): CommandError {
  return new CommandError(`ERR a database can't have more than ${countMax} users`);
}

/** The users of the tokens of a database. */
export function builtInUserFixed(name: string, what: "changed" | "removed" = "changed"): CommandError {
  return new CommandError(`ERR The '${name}' user cannot be ${what}`);
}

export function userReserved(name: string): CommandError {
  return new CommandError(`ERR The name '${name}' belongs to a token of the database`);
}

export function userNotFound(name: string): CommandError {
  return new CommandError(`ERR User '${printed(name)}' not found`);
}

export function commandNotFound(name: string): CommandError {
  return new CommandError(`ERR Command '${printed(name)}' not found`);
}

export function unknownCategory(name: string): CommandError {
  return new CommandError(`ERR Unknown category '${printed(name)}'`);
}

export function wrongPasswordOf(name: string): CommandError {
  return new CommandError(`ERR Wrong password or user "${printed(name)}" does not exist`);
}

export function passwordTooWeak(lengthMin: number): CommandError {
  return new CommandError(
    `ERR The password is too weak: use at least ${lengthMin} characters, several of them different`,
  );
}

/** For subcommands whose words Redis checks itself. */
export function malformedSubcommand(name: string, subcommand: string): CommandError {
  return new CommandError(`ERR unknown subcommand or wrong number of arguments for '${subcommand}'. Try ${name} HELP.`);
}

export function unknownSubcommand(name: string, subcommand: string): CommandError {
  return new CommandError(`ERR unknown subcommand '${subcommand}'. Try ${name.toUpperCase()} HELP.`);
}

export const slowLogCountInvalid = new CommandError("ERR count should be greater than or equal to -1");

export const saveInProgress = new CommandError("ERR Background save already in progress");
export const rewriteInProgress = new CommandError("ERR Background append only file rewriting already in progress");
export const saveFailed = new CommandError("ERR the snapshot failed. The log of the server has the reason");
export const saveUnblocked = new CommandError("ERR the client was unblocked. The snapshot continues");
export const snapshotsOff = new CommandError("ERR snapshots are off. Start larder with --snapshots on to make them");
export const nothingStored = new CommandError(
  "ERR nothing is stored on the disk. Start larder with --data-dir to make snapshots",
);
export const clusterDisabled = new CommandError("ERR This instance has cluster support disabled");
export const noReplication = new CommandError(
  "ERR a database cannot be the replica of another server. Only NO ONE is accepted",
);
export const noConfigurationFile = new CommandError("ERR The server is running without a config file");

export function noLatencySamples(event: string): CommandError {
  return new CommandError(`ERR No samples available for event '${printed(event)}'`);
}

export function bitopNeedsTwoKeys(operation: string): CommandError {
  return new CommandError(`ERR BITOP ${operation} must be called with at least two source keys.`);
}

/** In a cluster. Clients of Redis know the word: the command can succeed later as it is. */
export const databaseIsMoving = new CommandError(`TRYAGAIN Writes are refused: ${OWNER_MOVES}; try again`);

/** Nothing new can be written: the disk is full. Wording of Redis for a failing append-only file. */
export function diskRefusal(reason: string): CommandError {
  if (reason === OWNER_MOVES) return databaseIsMoving;
  return new CommandError(`MISCONF Errors writing to the AOF file: ${reason}`);
}

/** A unit is stopped because the disk has no room for its records. */
export class NoDiskSpace extends StoppedUnit {
  constructor(reason: string) {
    super(diskRefusal(reason).text);
  }
}

export const notUtf8 = new CommandError("ERR Couldn't parse as UTF-8 string");
export const pathStepsTooMany = new CommandError("ERR JSON path takes too many steps on this document");
export const pathMatchesTooMany = new CommandError("ERR JSON path matches too many values");
export const noDocument = new CommandError("ERR could not perform this operation on a key that doesn't exist");
export const newAtRoot = new CommandError("ERR new objects must be created at the root");
export const pathNotStatic = new CommandError("ERR wrong static path");
export const pathNotObject = new CommandError("ERR path not an object");
export const elementOutOfBounds = new CommandError("ERR index out of bounds");
export const numberOutOfRange = new CommandError("ERR result is not a finite number");
export const documentTooDeep = new CommandError("ERR JSON would be nested deeper than 128 levels");
export const documentGrowsTooMuch = new CommandError("ERR command would add too much to the JSON document");
export const expectedString = new CommandError("ERR expected a JSON string");
export const expectedNumber = new CommandError("ERR expected a JSON number");
export const noDumpOfJson = new CommandError("ERR JSON documents have no DUMP format, use JSON.GET and JSON.SET");
export const noDumpOfIndex = new CommandError(
  "ERR search indexes have no DUMP format, use SEARCH.DESCRIBE and SEARCH.CREATE",
);

export function invalidPath(character: number, reason: string): CommandError {
  return new CommandError(`ERR Invalid JSON path at character ${character}: ${reason}`);
}

/** Wording of Redis' module; `what` continues the text after "does not exist". */
export function pathMissing(path: string, what = ""): CommandError {
  return new CommandError(`ERR Path '${path}' does not exist${what}`);
}

/** Wording of Redis' module. */
export function pathValueWrong(expected: string, found: string): CommandError {
  return new CommandError(`WRONGTYPE wrong type of path value - expected ${expected} but found ${found}`);
}

/** A transaction is one unit of work, so its length is bounded. */
export function transactionTooLong(countMax: number): CommandError {
  return new CommandError(`ERR the transaction has more than ${countMax} commands: split it`);
}

export function transactionScriptsTooLong(timeMs: number): StoppedUnit {
  return new StoppedUnit(`ERR the scripts of the transaction have run for ${timeMs} ms, which is the limit: split it`);
}

export function undoTooLarge(bytesMax: number): StoppedUnit {
  return new StoppedUnit(`ERR Script or transaction exceeds --max-undo-size (${bytesMax} bytes) and was stopped`);
}

/** `what` was undone. */
export function stoppedAndUndone({ text, reason }: StoppedUnit, what: string): StoppedUnit {
  return new StoppedUnit(`${text}; ${what}`, reason);
}
