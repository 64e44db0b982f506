/** Snapshots and backups of the whole server. */

import { useState } from "preact/hooks";
import { request } from "../../api/client.ts";
import { Action } from "../../parts/action.tsx";
import { countText } from "../../parts/format.ts";
import { Card, Facts, PageHead } from "../../parts/page.tsx";

interface Backup {
  readonly directory: string;
  readonly areas: readonly { readonly name: string; readonly position: number }[];
}

/** The log of messages is copied first. */
const BACKUP_MS_MAX = 3_600_000;

export default function Backups() {
  const [made, setMade] = useState<Backup>();
  return (
    <>
      <PageHead title="Backups" lead="A backup has everything that was acknowledged before it began." />
      <Card
        title="Backup"
        actions={
          <Action
            kind="main"
            run={async () => {
              setMade(await request<Backup>("admin/v1/backup", { method: "POST", waitMs: BACKUP_MS_MAX }));
            }}
          >
            Make a backup
          </Action>
        }
      >
        <p>
          Makes a directory of links inside the data directory, at no cost of space at first. Copy it to another place:
          the next backup or start of the server removes it. <code>larder backup &lt;file&gt;</code> on the server
          writes one file instead, and <code>larder verify &lt;file&gt;</code> checks it.
        </p>
        {made !== undefined && (
          <Facts
            rows={[
              ["Directory", <code key="directory">{made.directory}</code>],
              ...made.areas.map(
                ({ name, position }) => [name, `complete up to position ${countText(position)}`] as const,
              ),
            ]}
          />
        )}
      </Card>
      <Card
        title="Snapshot"
        actions={
          <Action
            run={async () => {
              await request("admin/v1/snapshot", { method: "POST" });
              return "Snapshots have started";
            }}
          >
            Start snapshots
          </Action>
        }
      >
        <p>
          Writes the state of each area, so that the next start has less of the journal to read. The server makes
          snapshots by itself, too.
        </p>
      </Card>
    </>
  );
}
