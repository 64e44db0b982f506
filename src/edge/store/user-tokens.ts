/**
 * Keeps the table of tokens in step with the users of a database: a user's
 * token opens what it opens from the end of the command that made it, so before
 * anybody is told of it, and nothing from the end of the command that took it
 * away (A.acl-token; threats A-05).
 *
 * The database knows its users' tokens as SHA-256 alone, and says when a user
 * has changed. What the tokens of a changed user have open has the rights of
 * before, and ends.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { TokenTable } from "../auth.ts";
import type { EventStreams } from "../http/event-streams.ts";

/** A database, as far as it is followed. */
export interface FollowedDatabase {
  readonly name: string;
  readonly users: {
    names(): Iterable<Bytes>;
    /** Lower-case hex SHA-256 of each token that opens this user now; none when there is no such user. */
    tokenDigestsOf(name: Bytes): readonly string[];
    /** Called after a unit of work in which the user was made, changed or deleted. */
    onChange: ((name: Bytes) => void) | undefined;
  };
}

/** From now on `tokens` has the tokens of the users of this database, and `streams` of changed users end. */
export function followUsers(
  { name: tenant, users }: FollowedDatabase,
  { tokens, streams }: { tokens: TokenTable; streams: Pick<EventStreams, "userChanged"> },
): void {
  const follow = (user: Bytes): void => tokens.replaceUser({ tenant, user }, users.tokenDigestsOf(user));
  users.onChange = (user) => {
    follow(user);
    streams.userChanged({ tenant, user });
  };
  for (const user of users.names()) follow(user);
}
