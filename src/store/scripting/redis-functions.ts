/**
 * `redis.*` as scripts of Redis 7.0 know it. The host of the script decides what
 * commands may do: its refusals are replies of kind "error".
 */
import { type Bytes, withoutLastBreaks } from "../../kernel/bytes.ts";
import { sha1 } from "../../kernel/checksum/sha1.ts";
import { REDIS_VERSION } from "../command-facts.ts";
import { findError, type Reply } from "../reply/reply.ts";
import type { LuaLibrary } from "./lua/globals.ts";
import type { LuaHost } from "./lua/host.ts";
import { type HostFunction, type LuaPointer, LuaType } from "./lua/instance.ts";
import { formatSignificant } from "./lua/number-text.ts";
import type { LuaReplies, RespVersion } from "./lua/reply.ts";

/** Runs the commands of a script. */
export interface ScriptHost {
  /** Runs one command with the rights of the caller. A refusal is an error reply; only bugs are thrown. */
  call(words: Bytes[]): Reply;
  /** Receives `redis.log`: 0 debug, 1 verbose, 2 notice, 3 warning. Absent: logs are dropped. */
  log?(level: number, text: Bytes): void;
  /** The result of `redis.acl_check_cmd`; undefined if the command does not exist. Absent: everything is allowed. */
  mayCall?(words: Bytes[]): boolean | undefined;
}

/** State of one run of a script; the runtime replaces it for each run. */
export interface RunningScript {
  host: ScriptHost;
  /** The keys that it was given. Its commands mostly name one of them. */
  readonly keys: readonly Bytes[];
  /** The RESP version of replies to the script, `redis.setresp`. */
  version: RespVersion;
}

/** `ScriptHost.call` threw `cause`, which is a bug. */
export class HostFailure extends Error {
  override name = "HostFailure";
}

const REDIS_VERSION_NUMBER = 0x07_00_0f;
const ALL_COPIES = 3;
const WORDS_MAX = 1_048_576;
const NO_KEYS: readonly Bytes[] = [];
/** Digits of a number as an argument. */
const NUMBER_DIGITS = 17;

function printNumber(value: number): Bytes {
  return formatSignificant(value, NUMBER_DIGITS);
}

export function redisLibrary(options: {
  host: LuaHost;
  replies: LuaReplies;
  /** Undefined while a library is loaded: then there is no caller. */
  running: () => RunningScript | undefined;
  /** `redis.register_function`. */
  register: HostFunction;
}): LuaLibrary {
  const { host, replies, running } = options;
  const { instance } = host;
  const { api } = instance;

  function call(lua: LuaPointer, isProtected: boolean): number {
    const script = running();
    // While a library is loaded, Redis does not have these functions.
    if (script === undefined)
      return instance.raise(
        lua,
        `Script attempted to access nonexistent global variable '${isProtected ? "pcall" : "call"}'`,
      );
    const words = readWords(lua);
    if (typeof words === "string") return fail(lua, words, isProtected);
    host.measure();
    const reply = answer(script.host, words);
    const error = findError(reply);
    if (error !== undefined) {
      replies.pushCommandError(lua, error.text);
      return isProtected ? 1 : api.lua_error(lua);
    }
    api.lua_settop(lua, 0);
    replies.push(lua, reply, script.version);
    return 1;
  }

  /** A bug in the host must reach the caller of the script, and no script may catch it. */
  function answer(scriptHost: ScriptHost, words: Bytes[]): Reply {
    try {
      return scriptHost.call(words);
    } catch (cause) {
      throw new HostFailure("the host of a script failed", { cause });
    }
  }

  function fail(lua: LuaPointer, text: Bytes, isProtected: boolean): number {
    replies.pushError(lua, text);
    return isProtected ? 1 : api.lua_error(lua);
  }

  /** The arguments as the words of a command, or the reason why they are invalid. */
  function readWords(lua: LuaPointer): Bytes[] | string {
    const count = api.lua_gettop(lua);
    if (count === 0) return "ERR Please specify at least one argument for this redis lib call";
    if (count > WORDS_MAX) return "ERR Too many arguments";
    const words = instance.wordsOfArguments(lua, running()?.keys ?? NO_KEYS, printNumber);
    return words ?? "ERR Lua redis lib command arguments must be strings or integers";
  }

  function singleField(lua: LuaPointer, name: string): number {
    if (api.lua_gettop(lua) !== 1 || api.lua_type(lua, -1) !== LuaType.string) {
      replies.pushError(lua, "ERR wrong number or type of arguments");
      return 1;
    }
    api.lua_createtable(lua, 0, 1);
    api.lua_pushvalue(lua, 1);
    instance.setField(lua, -2, name);
    return 1;
  }

  /** Every error starts with a code: an error of one word gets one. */
  function errorReplyOf(lua: LuaPointer): number {
    if (api.lua_gettop(lua) !== 1 || api.lua_type(lua, -1) !== LuaType.string) {
      replies.pushError(lua, "ERR wrong number or type of arguments");
      return 1;
    }
    // In Redis, the text ends at its first zero byte.
    const [whole = ""] = instance.bytesAt(lua, 1).split("\0", 1);
    const text = withoutLastBreaks(whole.replace(/^-/, "").replace(/^[\r\n]+/, ""));
    replies.pushError(lua, text.includes(" ") ? text : `ERR ${text}`);
    return 1;
  }

  function raise(lua: LuaPointer, text: string): number {
    replies.pushError(lua, text);
    return api.lua_error(lua);
  }

  function setVersion(lua: LuaPointer): number {
    if (api.lua_gettop(lua) !== 1) return raise(lua, "ERR redis.setresp() requires one argument.");
    const version = api.lua_tonumber(lua, 1);
    if (version !== 2 && version !== 3) return raise(lua, "ERR RESP version must be 2 or 3.");
    const script = running();
    if (script !== undefined) script.version = version;
    return 0;
  }

  function log(lua: LuaPointer): number {
    const count = api.lua_gettop(lua);
    if (count < 2) return raise(lua, "ERR redis.log() requires two arguments or more.");
    if (api.lua_isnumber(lua, 1) === 0) return raise(lua, "ERR First argument must be a number (log level).");
    const level = Math.trunc(api.lua_tonumber(lua, 1));
    if (level < 0 || level > 3) return raise(lua, "ERR Invalid debug level.");
    const texts: Bytes[] = [];
    for (let index = 2; index <= count; index += 1)
      if (api.lua_isstring(lua, index) !== 0) texts.push(instance.bytesAt(lua, index));
    running()?.host.log?.(level, texts.join(" "));
    return 0;
  }

  function sha1hex(lua: LuaPointer): number {
    if (api.lua_gettop(lua) !== 1) return raise(lua, "ERR wrong number of arguments");
    const bytes = instance.bytesAt(lua, 1);
    host.charge(bytes.length);
    instance.push(lua, sha1(bytes).toString("hex"));
    return 1;
  }

  function setCopies(lua: LuaPointer): number {
    if (api.lua_gettop(lua) !== 1) return raise(lua, "ERR redis.set_repl() requires one argument.");
    const copies = api.lua_tonumber(lua, 1);
    if ((copies & ~ALL_COPIES) !== 0)
      return raise(lua, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
    return 0;
  }

  function checkCommand(lua: LuaPointer): number {
    const words = readWords(lua);
    if (typeof words === "string")
      return raise(lua, words.replace("this redis lib call", "this redis.acl_check_cmd() call"));
    const scriptHost = running()?.host;
    const isAllowed = scriptHost?.mayCall === undefined ? true : scriptHost.mayCall(words);
    if (isAllowed === undefined) return raise(lua, "ERR Invalid command passed to redis.acl_check_cmd()");
    api.lua_pushboolean(lua, isAllowed ? 1 : 0);
    return 1;
  }

  const number = (value: number) => (lua: LuaPointer) => api.lua_pushnumber(lua, value);
  return {
    functions: {
      call: (lua) => call(lua, false),
      pcall: (lua) => call(lua, true),
      error_reply: errorReplyOf,
      status_reply: (lua) => singleField(lua, "ok"),
      log,
      sha1hex,
      setresp: setVersion,
      set_repl: setCopies,
      acl_check_cmd: checkCommand,
      register_function: options.register,
      replicate_commands: (lua) => {
        api.lua_pushboolean(lua, 1);
        return 1;
      },
      breakpoint: (lua) => {
        api.lua_pushboolean(lua, 0);
        return 1;
      },
      debug: () => 0,
    },
    values: {
      LOG_DEBUG: number(0),
      LOG_VERBOSE: number(1),
      LOG_NOTICE: number(2),
      LOG_WARNING: number(3),
      REPL_NONE: number(0),
      REPL_AOF: number(1),
      REPL_SLAVE: number(2),
      REPL_REPLICA: number(2),
      REPL_ALL: number(ALL_COPIES),
      REDIS_VERSION: (lua) => instance.pushText(lua, REDIS_VERSION),
      REDIS_VERSION_NUM: number(REDIS_VERSION_NUMBER),
    },
  };
}
