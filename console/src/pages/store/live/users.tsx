/** The ACL users of a database, their rules, and tokens for them. */
import "../store.css";
import { useState } from "preact/hooks";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Badge } from "../../../parts/badge.tsx";
import { Button } from "../../../parts/button.tsx";
import { Code } from "../../../parts/code.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { countText } from "../../../parts/format.ts";
import { Card, Facts, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PageProps } from "../../pages.ts";
import { type Bytes, shownBytes } from "../values/bytes.ts";
import { BytesDialog } from "../values/bytes-dialog.tsx";
import { BytesText } from "../values/bytes-text.tsx";
import { ask, listOf } from "../values/run.ts";
import { type AclUser, type Refusal, readUsers, refusalOf, rulesOf, setUser } from "./acl.ts";

const columns: readonly Column<AclUser>[] = [
  { title: "User", width: "minmax(6rem, 12rem)", cell: ({ name }) => <BytesText bytes={name} /> },
  {
    title: "State",
    width: "5rem",
    cell: ({ isOn }) => <Badge tone={isOn ? "good" : "warn"}>{isOn ? "on" : "off"}</Badge>,
  },
  { title: "Passwords", width: "6rem", align: "right", isWide: true, cell: (user) => countText(user.passwordCount) },
  { title: "Rules", width: "1fr", isWide: true, cell: ({ rules }) => <BytesText bytes={rules} /> },
];

const RULES_HINT =
  "As in ACL SETUSER: on or off, ~pattern for keys, &pattern for channels, +command, -command, +@category, (selectors)";

export default function Users({ params: { tenant: database = "" } }: PageProps) {
  const [isCreating, setCreating] = useState(false);
  const [open, setOpen] = useState<Bytes>();
  const users = useLoad((signal) => readUsers(database, signal), [database]);
  const user = users.value?.find(({ name }) => name === open);
  return (
    <>
      <PageHead
        title="Users"
        lead="ACL users of this database. A user’s token gives the rights of its rules, over HTTP and RESP."
        actions={
          <Button kind="main" onClick={() => setCreating(true)}>
            New user
          </Button>
        }
      />
      {users.error !== undefined && <ErrorBox error={users.error} onRetry={users.reload} />}
      {users.value === undefined && users.error === undefined && <Loading />}
      {users.value !== undefined && (
        <Table
          label="Users"
          columns={columns}
          rows={users.value}
          keyOf={({ name }) => name}
          onOpen={({ name }) => setOpen(name)}
        />
      )}
      <Refusals database={database} />
      {isCreating && (
        <BytesDialog
          title="New user"
          action="Create"
          fields={[{ label: "Name" }, { label: "Rules", start: "on ~app:* resetchannels +@read", hint: RULES_HINT }]}
          submit={async ([name = "", rules = ""]) => {
            if (users.value?.some((one) => one.name === name) === true) throw new Error("There is a user of this name");
            await setUser(database, name, { rules });
            users.reload();
            setOpen(name);
          }}
          onClose={() => setCreating(false)}
        />
      )}
      {user !== undefined && (
        <UserDialog database={database} user={user} changed={users.reload} onClose={() => setOpen(undefined)} />
      )}
    </>
  );
}

interface UserDialogProps {
  readonly database: string;
  readonly user: AclUser;
  readonly changed: () => void;
  readonly onClose: () => void;
}

function UserDialog({ database, user, changed, onClose }: UserDialogProps) {
  const { name, isOn, passwordCount, rules } = user;
  const [isEditing, setEditing] = useState(false);
  const [token, setToken] = useState<string>();
  // The rights of the default user are those of the database's own token.
  const isDefault = name === "default";
  if (isEditing)
    return (
      <BytesDialog
        title={`Rules of ${shownBytes(name, 60)}`}
        action="Save"
        fields={[{ label: "Rules", start: rulesOf(user), isLong: true, hint: `${RULES_HINT}. The passwords stay.` }]}
        submit={async ([next = ""]) => {
          await setUser(database, name, { rules: next, isReplaced: true });
          changed();
        }}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      title={`User ${shownBytes(name, 60)}`}
      onClose={onClose}
      actions={
        !isDefault && (
          <>
            <Action
              kind="danger"
              confirm="This deletes the user. Its tokens are refused at once."
              run={async () => {
                await ask(database, ["ACL", "DELUSER", name]);
                changed();
                onClose();
              }}
            >
              Delete
            </Action>
            <Action
              run={async () => {
                setToken(await makeToken(database, name));
                changed();
              }}
            >
              New token
            </Action>
            <Button kind="main" onClick={() => setEditing(true)}>
              Edit rules
            </Button>
          </>
        )
      }
    >
      {token !== undefined && (
        <>
          <p>This token is shown once. It is a password of the user as well.</p>
          <Code label="Token" text={token} />
        </>
      )}
      <Facts
        rows={[
          ["State", isOn ? "on" : "off"],
          ["Passwords", countText(passwordCount)],
          ["Rules", <BytesText key="rules" bytes={rules} lengthMax={5_000} />],
        ]}
      />
      {isDefault && <p class="hint">The default user belongs to the database’s own token.</p>}
    </Dialog>
  );
}

async function makeToken(database: string, name: Bytes): Promise<string> {
  const token = await ask(database, ["ACL", "GENTOKEN", name]);
  if (typeof token !== "string") throw new Error("larder returned no token");
  await ask(database, ["ACL", "SETUSER", name, `>${token}`]);
  return token;
}

const refusalColumns: readonly Column<Refusal>[] = [
  { title: "User", width: "8rem", cell: ({ user }) => <bdi>{user}</bdi> },
  { title: "Refused", width: "1fr", cell: ({ reason, object }) => <bdi>{`${reason} ${object}`}</bdi> },
  { title: "Times", width: "4rem", align: "right", cell: ({ count }) => countText(count) },
  { title: "Last", width: "9rem", isWide: true, cell: ({ atMs }) => <Time at={atMs} /> },
];

function Refusals({ database }: { database: string }) {
  const refusals = useLoad(
    async (signal) => listOf(await ask(database, ["ACL", "LOG"], signal)).map(refusalOf),
    [database],
  );
  return (
    <Card title="Refused commands" actions={<Button onClick={refusals.reload}>Refresh</Button>}>
      {refusals.error !== undefined && <ErrorBox error={refusals.error} onRetry={refusals.reload} />}
      {refusals.value !== undefined && (
        <Table
          label="Refused commands"
          columns={refusalColumns}
          rows={refusals.value}
          keyOf={(_, index) => `${index}`}
          empty={<Empty>No command of a user was refused.</Empty>}
        />
      )}
    </Card>
  );
}
