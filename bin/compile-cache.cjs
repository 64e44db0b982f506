"use strict";
/*
 * Where compiled code is cached between starts. The cache is code that the next start runs, so it is only used where
 * no other user can write or could put something else in its place:
 *
 *     ~/.cache or XDG_CACHE_HOME
 *       larder/compiled/            (1)
 *         <version>-<build>/        one for each build (3)
 *
 * (1) The directories that larder makes belong to this user, and nobody else can enter them. A directory that has another
 *     owner or other rights, or a link, is not used and not repaired: what is in it may come from others.
 * (2) A user who can write in a directory above them can replace them. So each of those belongs to this user or to root,
 *     and only its owner can write in it, with two exceptions. In a sticky directory, such as /tmp, others cannot replace
 *     what is ours. And where each user has a private group (Debian, Ubuntu, Fedora), homes are often writable by that
 *     group: a group counts as private if it is the user's first one, the first one of nobody else, and has no other members by
 *     /etc/passwd and /etc/group, as OpenSSH judges it on Debian. Groups from elsewhere count as shared.
 * (3) A build has a directory of its own, so versions do not disturb each other. A new one removes all but the last few.
 *
 * Anything else, such as a home that is missing or read-only, means a start without a cache, which takes longer.
 */
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const OWNER_ONLY = 0o700;
const RIGHTS_OF_OTHERS = 0o077;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;
const ROOT = 0;

const BUILDS_MAX = 4;
/** Only what has the name of a build is ever removed. */
const BUILD_NAME = /^\d+\.\d+\.\d+[0-9A-Za-z.+-]*-[0-9a-f]{8}$/;

/**
 * The directory of the cache for a build, which exists; undefined if there is no safe one. `accounts` are the files of users
 * and groups.
 *
 * @param {{ build: string, env?: NodeJS.ProcessEnv, accounts?: { passwd: string, group: string } }} options
 * @returns {string | undefined}
 */
function findCompileCache({ build, env = process.env, accounts = { passwd: "/etc/passwd", group: "/etc/group" } }) {
  try {
    const base = env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
    if (!path.isAbsolute(base) || !BUILD_NAME.test(build)) return undefined;
    const { existing, missing } = splitExisting(base);
    if (!isSafePath(existing, accounts)) return undefined;
    let directory = existing;
    for (const name of missing) {
      directory = path.join(directory, name);
      fs.mkdirSync(directory, { mode: OWNER_ONLY });
    }
    for (const name of ["larder", "compiled"]) {
      directory = path.join(directory, name);
      if (!makeOwn(directory)) return undefined;
    }
    const found = path.join(directory, build);
    if (!fs.existsSync(found)) removeOldBuilds(directory);
    return makeOwn(found) ? found : undefined;
  } catch {
    /* No home directory, a read-only or full one, or another start was faster. */
    return undefined;
  }
}

/** The part of a path that exists, without links, and the names after it. */
function splitExisting(base) {
  const missing = [];
  let existing = base;
  while (!fs.existsSync(existing)) {
    missing.unshift(path.basename(existing));
    existing = path.dirname(existing);
  }
  return { existing: fs.realpathSync(existing), missing };
}

/** keeps (2) */
function isSafePath(directory, accounts) {
  // Windows has no such rights: a home belongs to its user there.
  if (process.getuid === undefined) return true;
  const parent = path.dirname(directory);
  return isSafeDirectory(directory, accounts) && (parent === directory || isSafePath(parent, accounts));
}

function isSafeDirectory(directory, accounts) {
  const { uid, gid, mode } = fs.lstatSync(directory);
  if (uid !== process.getuid() && uid !== ROOT) return false;
  if ((mode & STICKY) !== 0) return true;
  if ((mode & WRITABLE_BY_ALL) !== 0) return false;
  return (mode & WRITABLE_BY_GROUP) === 0 || isPrivateGroup(gid, accounts);
}

/** keeps (2) */
function isPrivateGroup(gid, accounts) {
  const own = os.userInfo();
  if (gid !== own.gid) return false;
  const rows = (file) =>
    fs
      .readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.split(":"));
  const groups = rows(accounts.group).filter(([, , id]) => Number(id) === gid);
  const members = groups.flatMap(([, , , names = ""]) => names.split(",")).filter((name) => name !== "");
  const users = rows(accounts.passwd).filter(([, , , id]) => Number(id) === gid);
  return groups.length > 0 && [...members, ...users.map(([name]) => name)].every((name) => name === own.username);
}

/** keeps (1): makes the directory if it is missing, and says whether it is safe. */
function makeOwn(directory) {
  try {
    fs.mkdirSync(directory, { mode: OWNER_ONLY });
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  const stats = fs.lstatSync(directory);
  if (!stats.isDirectory()) return false;
  return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & RIGHTS_OF_OTHERS) === 0);
}

/** keeps (3): makes room for one more. */
function removeOldBuilds(directory) {
  const builds = fs
    .readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && BUILD_NAME.test(entry.name))
    .map(({ name }) => ({ name, usedMs: fs.statSync(path.join(directory, name)).mtimeMs }))
    .sort((a, b) => b.usedMs - a.usedMs);
  for (const { name } of builds.slice(BUILDS_MAX - 1)) {
    fs.rmSync(path.join(directory, name), { recursive: true, force: true });
  }
}

/**
 * The name of a build: its version, and a checksum of its place and of `program`, the file that a start imports, which
 * names the files of the build. The cache itself compares every file with what was compiled.
 *
 * @param {string} root the folder of the package
 * @param {string} program
 * @returns {string}
 */
function buildName(root, program) {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  return `${version}-${checksumOf(program + fs.readFileSync(program, "utf8"))}`;
}

/** FNV-1a of 32 bits, as eight digits. */
function checksumOf(text) {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, "0");
}

module.exports = { buildName, findCompileCache };
