/**
 * Searches around a position: GEOSEARCH and the older GEORADIUS, which are the
 * same search with different arguments. A search reads up to nine ranges of
 * scores, measures every member in them, and stops early only with ANY.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, firstKey, firstTwoKeys, type Row } from "../command.ts";
import type { OperandCounts } from "../command-facts.ts";
import {
  anyNeedsCount,
  type CommandError,
  geoCountNotPositive,
  memberNotDecodable,
  needNumeric,
  negativeRadius,
  negativeSide,
  oneCenter,
  oneShape,
  polygonTooSmall,
  storeWithOptions,
  syntaxError,
  tooManyVertices,
  vertexCountInvalid,
} from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { storeSortedSet } from "../mutations/sorted-set.ts";
import { events, type KeyspaceEvent } from "../observe/keyspace-events.ts";
import { ReplyBudget } from "../reply/budget.ts";
import { emptyArray, type Reply } from "../reply/reply.ts";
import {
  distanceWithin,
  type Polygon,
  type Position,
  polygonOf,
  positionOfScore,
  rangesAround,
  type Shape,
} from "../structures/geohash.ts";
import { INTEGER_MIN, parseFloat64, parseInteger } from "../structures/numbers/number-text.ts";
import { SortedSetValue } from "../values/sorted-set.ts";
import { optionIndexes, overwritten, read } from "./command-keys.ts";
import { distanceText, positionReply, readPosition, readUnit } from "./geo-words.ts";

/** The most bytes that an element of a reply takes in addition to its member. */
const DETAIL_BYTES = 100;

type Outline =
  | { readonly kind: "circle"; readonly radius: number }
  | { readonly kind: "box"; readonly width: number; readonly height: number }
  | Polygon;

/** The corners of a polygon are compared with every member in its bounds. */
const VERTICES_MAX = 1_000;

interface Found {
  readonly member: Bytes;
  readonly score: number;
  readonly position: Position;
  /** Metres. */
  readonly distance: number;
}

/** The positions of a command's arguments. */
interface Form {
  readonly sourceAt: number;
  /** The index of the first option. */
  readonly optionsAt: number;
  /** The kind of centre in the arguments before the options; undefined if FROMMEMBER or FROMLONLAT gives it. */
  readonly center?: "position" | "member";
  /** Whether STORE and STOREDIST are options with a key. */
  readonly mayStore?: boolean;
  /** The index of the key to store at. */
  readonly storeAt?: number;
}

interface Search {
  readonly source: SortedSetValue | undefined;
  /** Undefined only if the source does not exist. */
  center: Position | undefined;
  outline: Outline | undefined;
  /** Metres per requested unit. */
  unitMetres: number;
  withDistance: boolean;
  withHash: boolean;
  withPosition: boolean;
  isAny: boolean;
  order: "none" | "nearest" | "farthest";
  /** 0: all. */
  count: number;
  storeKey: Bytes | undefined;
  storesDistance: boolean;
  /** The event of the store. */
  readonly storeEvent: KeyspaceEvent;
}

export const geoSearchRows: readonly Row[] = [
  {
    name: "GEORADIUS",
    summary: "Returns or stores the members within a distance of a position",
    arity: -6,
    flags: ["write", "denyoom", "movablekeys"],
    notifiesMisses: true,
    keys: { ...firstKey, stored: (words) => storedAfter(words, 6) },
    keyUses: [read, overwritten],
    run: (call) => search(call, { sourceAt: 1, optionsAt: 6, center: "position", mayStore: true }),
  },
  {
    name: "GEORADIUSBYMEMBER",
    summary: "Returns or stores the members within a distance of a member",
    arity: -5,
    flags: ["write", "denyoom", "movablekeys"],
    notifiesMisses: true,
    keys: { ...firstKey, stored: (words) => storedAfter(words, 5) },
    keyUses: [read, overwritten],
    run: (call) => search(call, { sourceAt: 1, optionsAt: 5, center: "member", mayStore: true }),
  },
  {
    name: "GEORADIUSBYMEMBER_RO",
    summary: "Returns the members within a distance of a member",
    arity: -5,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => search(call, { sourceAt: 1, optionsAt: 5, center: "member" }),
  },
  {
    name: "GEORADIUS_RO",
    summary: "Returns the members within a distance of a position",
    arity: -6,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => search(call, { sourceAt: 1, optionsAt: 6, center: "position" }),
  },
  {
    name: "GEOSEARCH",
    summary: "Returns the members within a circle, a box or a polygon",
    arity: -7,
    flags: ["readonly"],
    keys: firstKey,
    run: (call) => search(call, { sourceAt: 1, optionsAt: 2 }),
  },
  {
    name: "GEOSEARCHSTORE",
    summary: "Stores the members within a circle, a box or a polygon",
    arity: -8,
    flags: ["write", "denyoom"],
    notifiesMisses: true,
    keys: firstTwoKeys,
    keyUses: [overwritten, read],
    run: (call) => search(call, { sourceAt: 2, optionsAt: 3, storeAt: 1 }),
  },
];

const operandCounts: OperandCounts = new Map([
  ["COUNT", 1],
  ["STORE", 1],
  ["STOREDIST", 1],
]);

/** The indexes of the keys of STORE and STOREDIST: the first of each, as Redis reports, and the last, which is used. */
function storedAfter(words: readonly Bytes[], optionsAt: number): readonly number[] {
  const [stores, storesOfDistance] = ["STORE", "STOREDIST"].map((word) =>
    optionIndexes(words, { word, operandCounts, from: optionsAt })
      .map((at) => at + 1)
      .filter((at) => at < words.length),
  );
  const all = [...(stores ?? []), ...(storesOfDistance ?? [])];
  const named = [stores?.[0], storesOfDistance?.[0], all.length === 0 ? undefined : Math.max(...all)];
  return [...new Set(named)].filter((at) => at !== undefined);
}

function search(call: Call, form: Form): Reply {
  const search = readSearch(call, form);
  const { source, center, outline, storeKey } = search;
  const found =
    source === undefined || center === undefined || outline === undefined
      ? []
      : findWithin(source, { ...outline, center }, search);
  return storeKey === undefined ? answer(found, search) : store(call, found, { ...search, storeKey });
}

/** Reads the arguments of a search. Throws Redis' errors, in its order. */
function readSearch(call: Call, form: Form): Search {
  const { keyspace, arg, argCount } = call;
  const search: Search = {
    source: keyspace.readSortedSet(arg(form.sourceAt)),
    center: undefined,
    outline: undefined,
    unitMetres: 1,
    withDistance: false,
    withHash: false,
    withPosition: false,
    isAny: false,
    order: "none",
    count: 0,
    storeKey: form.storeAt === undefined ? undefined : arg(form.storeAt),
    storesDistance: false,
    storeEvent: form.storeAt === undefined ? events.georadiusstore : events.geosearchstore,
  };
  if (form.center !== undefined && !(form.center === "member" && search.source === undefined)) {
    search.center = form.center === "position" ? readPosition(call, 2) : positionOfMember(search.source, arg(2));
    readCircle(call, form.optionsAt - 2, search);
  }
  const given = { center: "", outline: "" };
  for (let at = form.optionsAt; at < argCount; ) at += readOption(call, at, { form, search, given });

  if (search.storeKey !== undefined && (search.withDistance || search.withHash || search.withPosition))
    throw storeWithOptions(form.storeAt === undefined ? "STORE option in GEORADIUS" : "GEOSEARCHSTORE");
  if (form.center === undefined && given.center === "") throw oneCenter(arg(0));
  if (form.center === undefined && given.outline === "") throw oneShape(arg(0));
  if (search.isAny && search.count === 0) throw anyNeedsCount;
  return search;
}

/** Reads one option into `search` and returns the number of its words. */
function readOption(
  call: Call,
  at: number,
  context: { form: Form; search: Search; given: { center: string; outline: string } },
): number {
  const { arg, word, argCount } = call;
  const { form, search, given } = context;
  const option = word(at);
  const left = argCount - at - 1;
  const isSearch = form.center === undefined;
  switch (option) {
    case "WITHDIST":
      search.withDistance = true;
      return 1;
    case "WITHHASH":
      search.withHash = true;
      return 1;
    case "WITHCOORD":
      search.withPosition = true;
      return 1;
    case "ANY":
      search.isAny = true;
      return 1;
    case "ASC":
      search.order = "nearest";
      return 1;
    case "DESC":
      search.order = "farthest";
      return 1;
    case "COUNT":
      if (left < 1) throw syntaxError;
      search.count = call.count(at + 1);
      if (search.count <= 0) throw geoCountNotPositive;
      return 2;
    case "STORE":
      if (form.mayStore !== true || left < 1) throw syntaxError;
      search.storeKey = arg(at + 1);
      search.storesDistance = false;
      return 2;
    case "STOREDIST":
      if (form.storeAt === undefined && (form.mayStore !== true || left < 1)) throw syntaxError;
      search.storesDistance = true;
      if (form.storeAt !== undefined) return 1;
      search.storeKey = arg(at + 1);
      return 2;
    case "FROMMEMBER":
      if (!isSearch || left < 1 || (given.center !== "" && given.center !== option)) throw syntaxError;
      given.center = option;
      if (search.source !== undefined) search.center = positionOfMember(search.source, arg(at + 1));
      return 2;
    case "FROMLONLAT":
      if (!isSearch || left < 2 || (given.center !== "" && given.center !== option)) throw syntaxError;
      given.center = option;
      search.center = readPosition(call, at + 1);
      return 3;
    case "BYRADIUS":
      if (!isSearch || left < 2 || (given.outline !== "" && given.outline !== option)) throw syntaxError;
      given.outline = option;
      readCircle(call, at + 1, search);
      return 3;
    case "BYBOX":
      if (!isSearch || left < 3 || (given.outline !== "" && given.outline !== option)) throw syntaxError;
      given.outline = option;
      readBox(call, at + 1, search);
      return 4;
    case "BYPOLYGON": {
      // Valkey 9. It has its own centre, and may occur once.
      if (!isSearch || left < 1 || given.outline !== "" || given.center !== "") throw syntaxError;
      given.outline = option;
      given.center = option;
      const polygon = readPolygon(call, at + 1);
      search.unitMetres = 1;
      search.outline = polygon;
      search.center = polygon.center;
      return 2 + 2 * polygon.corners.length;
    }
    default:
      throw syntaxError;
  }
}

function positionOfMember(source: SortedSetValue | undefined, member: Bytes): Position {
  const score = source?.get(member);
  if (score === undefined) throw memberNotDecodable;
  return positionOfScore(score);
}

function readCircle(call: Call, index: number, search: Search): void {
  const radius = readLength(call, index, needNumeric("radius"));
  if (radius < 0) throw negativeRadius;
  search.unitMetres = readUnit(call, index + 1);
  search.outline = { kind: "circle", radius: radius * search.unitMetres };
}

function readBox(call: Call, index: number, search: Search): void {
  const width = readLength(call, index, needNumeric("width"));
  const height = readLength(call, index + 1, needNumeric("height"));
  if (width < 0 || height < 0) throw negativeSide;
  search.unitMetres = readUnit(call, index + 2);
  search.outline = { kind: "box", width: width * search.unitMetres, height: height * search.unitMetres };
}

/** Reads the number of corners and their positions. */
function readPolygon(call: Call, index: number): Polygon {
  const count = parseInteger(call.arg(index));
  if (count === undefined) throw vertexCountInvalid;
  if (count < 3 || count > Math.floor((call.argCount - index - 1) / 2)) throw polygonTooSmall;
  if (count > VERTICES_MAX) throw tooManyVertices(VERTICES_MAX);
  return polygonOf(Array.from({ length: Number(count) }, (_, i) => readPosition(call, index + 1 + 2 * i)));
}

function readLength({ arg }: Call, index: number, refusal: CommandError): number {
  const length = parseFloat64(arg(index));
  if (length === undefined) throw refusal;
  return length;
}

/**
 * The members inside a shape: in the order of their ranges, or by distance; at most `count` of them, if it is set. A
 * reply that is too large is refused before the search ends.
 */
function findWithin(source: SortedSetValue, shape: Shape, { order, count, isAny, storeKey }: Search): Found[] {
  const budget = storeKey === undefined && count === 0 ? new ReplyBudget() : undefined;
  // A count selects the nearest members, except with ANY.
  const compare =
    order === "farthest" ? byFarthest : order === "nearest" || (count > 0 && !isAny) ? byNearest : undefined;
  const anyMax = isAny && count > 0 ? count : Number.POSITIVE_INFINITY;
  const foundMax = count > 0 ? 2 * count + SPARE_COUNT : Number.POSITIVE_INFINITY;
  const found: Found[] = [];
  for (const { min, max } of rangesAround(shape)) {
    if (found.length >= anyMax) break;
    const from = source.countBelow(min, { orEqual: false });
    const total = source.countBelow(max, { orEqual: false }) - from;
    source.visit({ from, count: total }, (member, score) => {
      if (found.length >= anyMax) return;
      const position = positionOfScore(score);
      const distance = distanceWithin(shape, position);
      if (distance === undefined) return;
      budget?.take(member.length);
      found.push({ member, score, position, distance });
      // Sorting is stable: at equal distance the first one found stays, as if all were sorted at the end.
      if (compare !== undefined && found.length > foundMax) found.sort(compare).length = count;
    });
  }
  if (compare !== undefined) found.sort(compare);
  if (count > 0 && count < found.length) found.length = count;
  return found;
}

/** Members found beyond twice the count before the excess is dropped. */
const SPARE_COUNT = 1_000;

function byNearest(one: Found, other: Found): number {
  return one.distance - other.distance;
}

function byFarthest(one: Found, other: Found): number {
  return other.distance - one.distance;
}

function answer(found: readonly Found[], search: Search): Reply {
  if (found.length === 0) return emptyArray;
  const { withDistance, withHash, withPosition, unitMetres } = search;
  const isPlain = !withDistance && !withHash && !withPosition;
  const budget = new ReplyBudget();
  return found.map(({ member, score, position, distance }) => {
    budget.take(member.length + (isPlain ? 0 : DETAIL_BYTES));
    if (isPlain) return member;
    const details: Reply[] = [member];
    if (withDistance) details.push(distanceText(distance / unitMetres));
    if (withHash) details.push(wholeScore(score));
    if (withPosition) details.push(positionReply(position));
    return details;
  });
}

/** The integer part of the score, as C converts it. */
function wholeScore(score: number): number | bigint {
  const whole = Math.trunc(score) + 0;
  if (Number.isSafeInteger(whole)) return whole;
  return Math.abs(whole) < 2 ** 63 ? BigInt(whole) : INTEGER_MIN;
}

function store({ keyspace }: Call, found: readonly Found[], search: Search & { readonly storeKey: Bytes }): number {
  const { storeKey, storesDistance, unitMetres } = search;
  const result = new SortedSetValue(keyspace.hashSeed, { isLarge: true });
  for (const { member, score, distance } of found) result.put(member, storesDistance ? distance / unitMetres : score);
  if (result.size > 0) {
    storeSortedSet(keyspace, storeKey, result.compacted());
    keyspace.notify(search.storeEvent, storeKey);
  } else if (keyspace.has(storeKey)) {
    removeKey(keyspace, storeKey);
    keyspace.notify(events.del, storeKey);
  }
  return found.length;
}
