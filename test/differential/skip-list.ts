/**
 * Behaviour that is not compared with Redis 7.0.15, or not byte by byte, with the reason. A
 * command that no family draws needs a row here.
 */
export interface Skipped {
  /** A command in capitals, a whole family of the store as `family …`, or a description. */
  readonly what: string;
  readonly reason: string;
}

export const skipList: readonly Skipped[] = [
  {
    what: "ACL",
    reason: "random rules have their own test: access.test.ts",
  },
  {
    what: "family connection",
    reason: "only PING and ECHO make sense over HTTP; a script compares them, and sessions.test.ts the rest over TCP",
  },
  {
    what: "family transaction",
    reason: "only over TCP, where sessions.test.ts compares interleaved sessions",
  },
  {
    what: "MONITOR",
    reason: "only over TCP; its lines have times, so they are in tables beside PUBSUB",
  },
  ...["family cluster", "MODULE", "REPLICAOF", "ROLE", "SLAVEOF"].map((what) => ({
    what,
    reason: "only over TCP, where sessions.test.ts compares them",
  })),
  ...["BGREWRITEAOF", "BGSAVE", "LASTSAVE", "SAVE"].map((what) => ({
    what,
    reason: "they write files of Redis on its disk, and here snapshots; tables beside the commands",
  })),
  {
    what: "REPLICAOF of another server, MODULE LOAD and its like, SHUTDOWN",
    reason: "refused here; tables beside the commands",
  },
  {
    what: "HELLO, AUTH and CLIENT REPLY between MULTI and EXEC",
    reason: "refused here: Redis queues them, and then one array has two versions of RESP, or misses elements",
  },
  {
    what: "several channels in one SUBSCRIBE between MULTI and EXEC, and a message to its sender",
    reason:
      "Redis 7.0 sends more array elements than announced; here confirmations come before the array, and messages after the reply, as in Redis since 7.2",
  },
  {
    what: "family pubsub",
    reason: "messages to subscribers are compared with the events: keyspace-events.test.ts",
  },
  {
    what: "family json",
    reason: "commands of a module, which redis-server does not have; tables beside them",
  },
  {
    what: "family search",
    reason:
      "commands of the hosted service, which redis-server does not have; tables beside them, and a brute-force search",
  },
  {
    what: "family debug",
    reason: "only for the tests of Redis; digests beside the command are those of redis-server",
  },
  {
    what: "DELEX",
    reason: "Redis 8.4; tables beside the command, and random programs for its journal records",
  },
  {
    what: "DELIFEQ",
    reason: "Valkey 9; a table beside SET, and random programs for its journal records",
  },
  {
    what: "SCRIPT SHOW, BYPOLYGON of GEOSEARCH and GEOSEARCHSTORE",
    reason: "Valkey 8 and 9; tables beside the commands, and random programs for the journal records",
  },
  {
    what: "AGGREGATE COUNT of ZUNION, ZINTER and their STORE",
    reason: "Redis 8.8; a table beside the commands, and random programs for the journal records",
  },
  {
    what: "INCREX",
    reason: "Redis 8.8; tables beside the command, and random programs for its journal records",
  },
  {
    what: "SDIFFCARD and SUNIONCARD",
    reason: "Redis 8.10; a table beside the commands",
  },
  {
    what: "MSETEX",
    reason: "Redis 8.4; tables beside SET, and random programs for its journal records",
  },
  {
    what: "DIGEST",
    reason: "Redis 8.4; tables beside the command",
  },
  {
    what: "SET with IFEQ, IFNE, IFDEQ, IFDNE",
    reason: "Redis 8.4; tables beside the command, and random programs for its journal records",
  },
  {
    what: "expiry beyond the year 10889",
    reason:
      "we store the latest time that fits 48 bits of milliseconds where Redis stores 63 bits; TTL and its relatives then return that time",
  },
  {
    what: "the last digit of EXPIRETIME",
    reason: "rounded down, where Redis 7.0 rounds to the nearest second; compared with a tolerance, tables beside it",
  },
  {
    what: "the spelling of doubles",
    reason:
      "Redis 7.0 prints up to 17 digits, we print the shortest text, as Redis since 7.2 does; the numbers are compared to the last bit",
  },
  {
    what: "times that advance",
    reason:
      "TTL, PTTL and expiries counted from now are compared with a tolerance of 20 s, because our clock is stopped; keys that expire within seconds are left to the unit tests",
  },
  {
    what: "XACKDEL",
    reason: "Redis 8.2; tables beside the command, and random programs for its journal records",
  },
  {
    what: "XDELEX",
    reason: "Redis 8.2; tables beside the command, and random programs for its journal records",
  },
  {
    what: "KEEPREF, DELREF and ACKED of XADD and XTRIM",
    reason: "Redis 8.2; tables beside the commands, and random programs for their journal records",
  },
  {
    what: "XADD with * as the id",
    reason: "it reads the clock, which is stopped here; ids like 9-* are compared, and * in tables beside the command",
  },
  {
    what: "XADD and XTRIM with ~",
    reason:
      "Redis removes whole nodes of its tree, we remove nothing or exactly the excess; tables beside the commands",
  },
  {
    what: "the keys and nodes of the radix tree in XINFO STREAM",
    reason: "entries are stored in another structure here, and it describes that one",
  },
  {
    what: "consumers without pending entries, and when consumers were seen or active",
    reason:
      "Redis creates a consumer that reads or claims in vain since 7.2; with NOACK we create none, as the hosted service; XINFO CONSUMERS of an unknown group is empty over HTTP; tables beside the commands",
  },
  {
    what: "CLAIM of XREADGROUP",
    reason: "Redis 8.4; tables beside the command, and random programs for its journal records",
  },
  {
    what: "+ as an id of XREAD and XREADGROUP, and XSETID below the greatest deleted id",
    reason: "Redis has the first since 7.4 and refuses the second since 7.2; tables beside the commands",
  },
  {
    what: "readers of several streams that wait, and what wakes a waiting reader without new entries",
    reason:
      "Redis runs the command again since 7.2, with its errors and all its streams; waiting.test.ts compares one stream, and takes the older errors for the same",
  },
  {
    what: "entries-read and lag of groups",
    reason:
      "Redis has corrected them since 7.0; tables beside the commands, and random programs compare rebuilt states",
  },
  {
    what: "ENTRIESREAD, ENTRIESADDED and RETRYCOUNT beyond 2^53",
    reason: "counts are stored up to there; the greatest integer is replaced by it",
  },
  {
    what: "BLOCK of XREAD and XREADGROUP",
    reason: "not over HTTP, as all blocking commands; a table beside the commands",
  },
  {
    what: "BLPOP, BRPOP, BLMOVE, BRPOPLPUSH, BZPOPMIN, BZPOPMAX and BLOCK of XREAD and XREADGROUP in scripts",
    reason: "Redis refuses them there before 7.2; BLMPOP and BZMPOP are compared, the others are in a table of scripts",
  },
  {
    what: "timeouts of blocking commands whose moment does not fit 64 bits",
    reason: "Redis calls them negative before 7.2, and out of range since then; a table beside BLPOP",
  },
  {
    what: "option words with a zero byte inside",
    reason:
      "Redis compares option words as C strings, up to the first zero byte, and cuts error texts that quote them there; we take the whole word",
  },
  {
    what: "strings between 10 KB and 512 MB",
    reason:
      "the same code as at 10 KB, and each would cost the run its time; only the refusal beyond 512 MB is compared",
  },
  {
    what: "MGET beyond 128 MB",
    reason: "refused by us so that a short request cannot make a reply without bounds; Redis sends it",
  },
  {
    what: "times of hash fields (HEXPIRE, HTTL, HPERSIST, HGETEX, HSETEX, HGETDEL and their like)",
    reason: "Redis 7.4 and 8.0; tables beside the commands, and random programs for their journal records",
  },
  {
    what: "ZRANK and ZREVRANK with WITHSCORE",
    reason: "Redis 7.2; a table beside the commands",
  },
  {
    what: "invalid arguments of BITCOUNT and BITPOS for a missing key or an empty range",
    reason: "refused here, as in Redis since 7.2; Redis 7.0 does not look at them",
  },
  {
    what: "BITOP with DIFF, DIFF1, ANDOR, ONE",
    reason: "Redis 8.2; tables and every single bit beside the command, and random programs for their journal records",
  },
  {
    what: "bits beyond 16 KB",
    reason: "the same code as before them, and each string would cost the run its time; larger ones beside the command",
  },
  {
    what: "WAITAOF",
    reason: "Redis 7.2; a table beside the command",
  },
  {
    what: "which elements HRANDFIELD, ZRANDMEMBER and RANDOMKEY draw",
    reason: "random; how many they draw is compared, that they exist is tested beside the commands",
  },
  {
    what: "which members SPOP and SRANDMEMBER draw",
    reason:
      "random; SPOP is compared where it removes the whole set, and how many SRANDMEMBER draws; the rest is tested beside the commands",
  },
  {
    what: "parts of a SCAN, HSCAN or SSCAN",
    reason:
      "cursors depend on the server, and a SCAN with MATCH or TYPE is whole up to 1,000 keys here; whole scans are compared, and tests beside the commands check that none is missed during writes",
  },
  {
    what: "SCAN with WITHTYPE, UNLINK without keys, COPY onto the same key",
    reason: "the service differs from Redis there; tables beside the commands",
  },
  {
    what: "OBJECT REFCOUNT, COMMAND COUNT, LIST and DOCS, INFO",
    reason:
      "they describe the server itself; arity, flags, key positions and ACL categories of every command are compared through COMMAND INFO",
  },
  {
    what: "GT and LT of EXPIRE and PEXPIRE",
    reason: "two times relative to now compare differently as time passes; EXPIREAT and PEXPIREAT have them",
  },
  {
    what: "ZRANGE and ZRANGESTORE with LIMIT and ranks",
    reason: "the service accepts it and Redis does not; tables beside the commands",
  },
  {
    what: "last digits of distances, and STOREDIST",
    reason:
      "they depend on the sine and arc sine of the C library; distances are compared to a ten thousandth of the unit, and stored ones by random programs for their journal records",
  },
  {
    what: "ranges of bytes among members of different scores",
    reason:
      "Redis calls the answer unspecified, and beyond 128 members it depends on chance; they are compared where all scores are equal",
  },
  {
    what: "HRANDFIELD and SRANDMEMBER with a large negative count",
    reason: "Redis returns elements until the machine is out of memory; we refuse, see the table beside the command",
  },
  {
    what: "CONFIG SET of parameters that Redis can set at run time, CONFIG GET of different ones, MEMORY USAGE in bytes",
    reason: "here every parameter is fixed, and memory is measured differently; tables beside the commands",
  },
  {
    what: "PFADD of several elements to a corrupted sketch",
    reason: "Redis adds elements until it meets the damage; we add none if the command is refused",
  },
  {
    what: "RESTORE of scores of -0",
    reason: "a large sorted set that was small while it was restored keeps 0 instead; the two compare equal",
  },
  {
    what: "bytes of DUMP, except those of strings that Redis does not compress, and of tables",
    reason:
      "Redis writes lists, streams, and small hashes and sorted sets as they are in its memory, in listpacks and intsets, and compresses strings of more than 20 bytes; we write elements one after the other, uncompressed. Such dumps are compared as values. A hash, set or sorted set that Redis writes as a table has the same bytes in another order",
  },
  {
    what: "the reason after the refusal of an unknown version of the format by RESTORE",
    reason: "Redis does not say whether the version or the checksum is wrong; the text before the reason is compared",
  },
  {
    what: "damaged payloads of RESTORE with a valid checksum",
    reason: "Redis trusts a valid checksum and may crash; we are fuzzed beside the format",
  },
  {
    what: "LPOS with RANK -9223372036854775808",
    reason: "Redis 7.0 negates it, which overflows, and returns more than COUNT; we refuse it, as Redis since 7.2 does",
  },
  {
    what: "refusals of SORT for a number that Redis can read; the order of equal texts of BY",
    reason:
      "Redis 7.0 does not reset errno before it reads a number, so one that is out of range affects others, and its order of ties depends on the C library; tables beside the command",
  },
];
