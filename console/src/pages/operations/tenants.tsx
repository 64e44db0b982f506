/** The tenants of one kind: what there is, new ones, new tokens, removal. Tokens are shown once, when they are made. */
import { useRef, useState } from "preact/hooks";
import { request } from "../../api/client.ts";
import { textOf, useLoad } from "../../api/load.ts";
import { loadSession } from "../../api/session.ts";
import { Action } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { bytesText } from "../../parts/format.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import type { TenantKind } from "../pages.ts";
import { IndexFields, readIndex } from "./index-fields.tsx";

interface Tenant {
  readonly name: string;
  /** Where it is listed. */
  readonly source: string;
  readonly memoryBytes?: number;
  readonly [fact: string]: unknown;
}

interface Tokens {
  readonly name: string;
  readonly token: string;
  readonly readOnlyToken: string;
  /** In a cluster. */
  readonly reachedAllNodes?: boolean;
  readonly missingNodes?: readonly string[];
}

const wordsOf = {
  databases: { title: "Databases", one: "database", lead: "Each has its own keys, tokens and limits." },
  indexes: { title: "Indexes", one: "index", lead: "Each has its own vectors, tokens and limits." },
  users: { title: "Users", one: "user", lead: "Each user of messaging has its own messages, tokens and signing keys." },
} as const;

export function Tenants({ kind }: { kind: TenantKind }) {
  const words = wordsOf[kind];
  const { value, error, reload } = useLoad(
    async (signal) => (await request<Record<TenantKind, readonly Tenant[]>>(`admin/v1/${kind}`, { signal }))[kind],
    [kind],
  );
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<Tokens>();
  const changed = (tokens?: Tokens): void => {
    if (tokens !== undefined) setMade(tokens);
    reload();
    void loadSession();
  };
  return (
    <>
      <PageHead
        title={words.title}
        lead={words.lead}
        actions={
          <Button kind="main" onClick={() => setCreating(true)}>
            Create {words.one}
          </Button>
        }
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading />}
      {value !== undefined && (
        <Table
          label={words.title}
          rows={value}
          keyOf={({ name }) => name}
          columns={[
            { title: "Name", width: "minmax(6rem, 1fr)", cell: ({ name }) => <bdi>{name}</bdi> },
            { title: "Listed in", width: "minmax(6rem, 1fr)", isWide: true, cell: ({ source }) => source },
            {
              title: "Memory",
              width: "7rem",
              align: "right",
              isWide: true,
              cell: ({ memoryBytes }) => (memoryBytes === undefined ? "–" : bytesText(memoryBytes)),
            },
            { title: "Properties", width: "minmax(6rem, 2fr)", isWide: true, cell: propertiesOf },
            {
              title: "Actions",
              width: "minmax(12rem, auto)",
              align: "right",
              cell: ({ name }) => (
                <>
                  <Action
                    kind="quiet"
                    confirm={`The tokens of ${name} become invalid at once. Applications need the new ones.`}
                    run={async () =>
                      changed(
                        await request<Tokens>(`admin/v1/${kind}/${encodeURIComponent(name)}/reset-password`, {
                          method: "POST",
                        }),
                      )
                    }
                  >
                    New tokens
                  </Action>
                  <Action
                    kind="danger"
                    confirm={`The ${words.one} ${name} and all its data are deleted. This cannot be undone.`}
                    run={async () => {
                      await request(`admin/v1/${kind}/${encodeURIComponent(name)}`, { method: "DELETE" });
                      changed();
                      return `Deleted ${name}`;
                    }}
                  >
                    Delete
                  </Action>
                </>
              ),
            },
          ]}
          empty={
            <Empty>There is no {words.one}. Create the first one here, with `larder`, or in the configuration.</Empty>
          }
        />
      )}
      {isCreating && (
        <Create
          kind={kind}
          onClose={() => setCreating(false)}
          onMade={(tokens) => {
            setCreating(false);
            changed(tokens);
          }}
        />
      )}
      {made !== undefined && <ShownOnce tokens={made} onClose={() => setMade(undefined)} />}
    </>
  );
}

function propertiesOf({ name: _, source: __, memoryBytes: ___, ...facts }: Tenant): string {
  return Object.entries(facts)
    .map(([fact, value]) => `${fact} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

function Create({
  kind,
  onClose,
  onMade,
}: {
  kind: TenantKind;
  onClose: () => void;
  onMade: (tokens: Tokens) => void;
}) {
  const form = useRef<HTMLFormElement>(null);
  const [error, setError] = useState<string>();
  const submit = async (): Promise<void> => {
    if (form.current?.reportValidity() !== true) return;
    const data = new FormData(form.current);
    try {
      const description = kind === "indexes" ? readIndex(data) : {};
      onMade(await request<Tokens>(`admin/v1/${kind}`, { json: { name: data.get("name"), ...description } }));
    } catch (failure) {
      setError(textOf(failure));
    }
  };
  return (
    <Dialog
      title={`Create ${wordsOf[kind].one}`}
      onClose={onClose}
      actions={
        <Button kind="main" onClick={() => void submit()}>
          Create
        </Button>
      }
    >
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Field label="Name" hint="Letters, digits, - and _">
          <input name="name" required autocomplete="off" spellcheck={false} />
        </Field>
        {kind === "indexes" && <IndexFields />}
        {error !== undefined && <ErrorBox error={error} />}
      </form>
    </Dialog>
  );
}

function ShownOnce({ tokens, onClose }: { tokens: Tokens; onClose: () => void }) {
  const { name, token, readOnlyToken, reachedAllNodes, missingNodes } = tokens;
  return (
    <Dialog title={`Tokens of ${name}`} onClose={onClose}>
      <p>Copy them now: they are not shown again.</p>
      <Code label="Token" text={token} />
      <Code label="Read-only token" text={readOnlyToken} />
      {reachedAllNodes === false && (
        <ErrorBox
          error={`Some nodes do not know them yet${missingNodes === undefined ? "" : `: ${missingNodes.join(", ")}`}`}
        />
      )}
    </Dialog>
  );
}
