/**
 * Geo commands. Positions are members of sorted sets whose scores encode them in
 * 52 bits (`structures/geohash.ts`), so all commands for sorted sets work on
 * them. Searches are in `geo-search.ts`.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstKey } from "../command.ts";
import { syntaxError } from "../errors.ts";
import { nil, nilArray, type Reply } from "../reply/reply.ts";
import { distanceBetween, positionOfScore, scoreOfPosition, standardGeohash } from "../structures/geohash.ts";
import { updated } from "./command-keys.ts";
import { geoSearchRows } from "./geo-search.ts";
import { distanceText, positionReply, readPosition, readUnit } from "./geo-words.ts";
import { addPairs, PLAIN_ADD } from "./sorted-set.ts";

export const geoCommands = family("geo", [
  {
    name: "GEOADD",
    summary: "Sets the positions of members and returns how many are new",
    arity: -5,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: geoadd,
  },
  {
    name: "GEODIST",
    summary: "Returns the distance between two members",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: geodist,
  },
  {
    name: "GEOHASH",
    summary: "Returns the geohashes of members",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: ({ keyspace, arg, argsFrom }) => {
      const positions = keyspace.readSortedSet(arg(1));
      return argsFrom(2).map((member) => {
        const score = positions?.get(member);
        return score === undefined ? nil : standardGeohash(positionOfScore(score));
      });
    },
  },
  {
    name: "GEOPOS",
    summary: "Returns the longitudes and latitudes of members",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: ({ keyspace, arg, argsFrom }) => {
      const positions = keyspace.readSortedSet(arg(1));
      return argsFrom(2).map((member) => {
        const score = positions?.get(member);
        return score === undefined ? nilArray : positionReply(positionOfScore(score));
      });
    },
  },
  ...geoSearchRows,
]);

function geoadd(call: Call): Reply {
  const { arg, word, argCount } = call;
  let onlyNew = false;
  let onlyOld = false;
  let countsChanged = false;
  let at = 2;
  for (; at < argCount; at += 1) {
    const option = word(at);
    if (option === "NX") onlyNew = true;
    else if (option === "XX") onlyOld = true;
    else if (option === "CH") countsChanged = true;
    else break;
  }
  if (at === argCount || (argCount - at) % 3 !== 0 || (onlyNew && onlyOld)) throw syntaxError;
  const pairs: { member: Bytes; score: number }[] = [];
  for (; at < argCount; at += 3) pairs.push({ score: scoreOfPosition(readPosition(call, at)), member: arg(at + 2) });
  return addPairs(call, pairs, { ...PLAIN_ADD, onlyNew, onlyOld, countsChanged });
}

function geodist(call: Call): Reply {
  const { keyspace, arg, argCount } = call;
  const metres = argCount === 5 ? readUnit(call, 4) : 1;
  if (argCount > 5) throw syntaxError;
  const positions = keyspace.readSortedSet(arg(1));
  const from = positions?.get(arg(2));
  const to = positions?.get(arg(3));
  if (from === undefined || to === undefined) return nil;
  return distanceText(distanceBetween(positionOfScore(from), positionOfScore(to)) / metres);
}
