/** The page of a list of names that a query asks for. A query without these parameters asks for the whole list. */
import { badRequest, type NamePage } from "../../messaging/mod.ts";
import { Parameters } from "./parameters.ts";

export const NAME_PAGE_MAX = 1_000;
const NAME_PAGE_DEFAULT = 100;

/** Undefined: the whole list. */
export function readNamePage(query: string): NamePage | undefined {
  if (query === "") return undefined;
  const parameters = new Parameters(query);
  const given = parameters.wholeNumber("count");
  const cursor = parameters.text("cursor");
  const prefix = parameters.text("prefix");
  if (given === undefined && cursor === undefined && prefix === undefined) return undefined;
  const count = given ?? NAME_PAGE_DEFAULT;
  // A page with fewer names than asked for is the last one, so a larger count cannot mean the largest.
  if (count < 1 || count > NAME_PAGE_MAX) {
    throw badRequest(`Invalid value for count: ${count}: it must be from 1 to ${NAME_PAGE_MAX}`);
  }
  return { count, cursor, prefix };
}
