/** The sessions of a store as the clients that the admin port lists. */
import type { ConnectedClient } from "../../edge/admin/clients.ts";
import { textFromBytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { clientFacts, type Session, type Store } from "../../store/mod.ts";
import type { AreaClients, WantedClients } from "../areas/area.ts";
import { pageOf } from "../areas/area-clients.ts";

/** `clock`: that of the sessions. */
export function storeClients(store: Pick<Store, "databases">, clock: Pick<Clock, "nowMs">): AreaClients {
  return {
    async list(query) {
      const { database: wanted, count } = query;
      const nowMs = clock.nowMs();
      const found = store.databases
        .filter(({ name }) => wanted === undefined || name === wanted)
        .flatMap(({ name, sessions }) =>
          [...sessions.all()].filter((session) => passes(session, query)).map((session) => ({ session, name })),
        )
        .sort((one, other) => one.session.id - other.session.id);
      // The facts of a page and of one more, whatever the number of clients.
      const facts = found.slice(0, count + 1).map(({ session, name: database }): ConnectedClient => {
        const { id, user, ...others } = clientFacts(session, nowMs);
        return { id, database, user: textFromBytes(user), ...others };
      });
      return pageOf(facts, query);
    },
    async kill(id) {
      const session = store.databases.map(({ sessions }) => sessions.find(id)).find((each) => each !== undefined);
      session?.kill();
      return session !== undefined;
    },
  };
}

function passes(session: Session, { user, name = "", cursor = 0 }: WantedClients): boolean {
  return (
    session.id > cursor &&
    session.name.startsWith(name) &&
    (user === undefined || textFromBytes(session.user.name) === user)
  );
}
