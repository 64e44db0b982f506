/**
 * Keeps the table of tokens in step with the users of a database: a user's token
 * is valid from the end of the command that created it, so before the reply, until
 * the end of the command that removed it (A.acl-token; threats A-05).
 *
 * The database stores only SHA-256 digests of its users' tokens, and notifies when
 * a user has changed. Open streams of a changed user have its old rights, and end.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { TokenTable } from "../auth.ts";
import type { EventStreams } from "../http/event-streams.ts";

/** The part of a database that is followed. */
export interface FollowedDatabase {
  readonly name: string;
  readonly users: {
    names(): Iterable<Bytes>;
    /** Lower-case hex SHA-256 of each current token of this user; none for an unknown user. */
    tokenDigestsOf(name: Bytes): readonly string[];
    /** Called after a unit of work that created, changed or deleted the user. */
    onChange: ((name: Bytes) => void) | undefined;
  };
}

/** Adds the tokens of the users of this database to `tokens`, and ends the streams of changed users, from now on. */
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
