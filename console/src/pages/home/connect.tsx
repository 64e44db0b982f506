/** The variables of the official clients for the chosen tenants, and a first program for each client. */
import { useState } from "preact/hooks";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Button } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { Card } from "../../parts/page.tsx";
import { ErrorBox } from "../../parts/states.tsx";
import { chosenTenant } from "../../tenant.ts";
import { clients } from "./clients.ts";

const KINDS = ["databases", "indexes", "users"] as const;

export function Connect({ addresses, mode }: { addresses: Readonly<Record<string, string>>; mode: "dev" | "serve" }) {
  const tenants = KINDS.flatMap((kind) => {
    const name = chosenTenant(kind);
    return name === undefined ? [] : [[kind, name] as const];
  });
  const { value, error } = useLoad(
    async (signal) => {
      const blocks = await Promise.all(
        tenants.map(([kind, name]) =>
          request<{ variables: Record<string, string> }>(`env/${kind}/${encodeURIComponent(name)}`, { signal }),
        ),
      );
      return Object.assign({}, ...blocks.map(({ variables }) => variables)) as Record<string, string>;
    },
    [tenants],
  );
  const [shown, setShown] = useState(clients[0]?.name);
  const client = clients.find(({ name }) => name === shown);
  return (
    <Card title="Connect">
      {error !== undefined && <ErrorBox error={error} />}
      {value !== undefined && (
        <Code
          label="Environment variables"
          text={Object.entries(value)
            .map(([name, text]) => `${name}="${text}"`)
            .join("\n")}
        />
      )}
      {mode === "serve" && (
        <p class="hint">Tokens are not shown here. `larder env` on the server prints those that it generated.</p>
      )}
      {addresses["resp"] !== undefined && (
        <p class="hint">
          Redis clients connect to <code>{addresses["resp"]}</code>; the token is the password.
        </p>
      )}
      <fieldset class="choices">
        <legend>First program with</legend>
        {clients.map(({ name }) => (
          <Button
            key={name}
            kind={name === shown ? "main" : "plain"}
            aria-pressed={name === shown}
            onClick={() => setShown(name)}
          >
            {name}
          </Button>
        ))}
      </fieldset>
      {client?.needsResp === true && addresses["resp"] === undefined && (
        <p class="hint">This server has no port for Redis clients. Start it with --resp-port 6379 to have one.</p>
      )}
      {client !== undefined && <Code label={`A program with ${client.name}`} text={client.program} />}
    </Card>
  );
}
