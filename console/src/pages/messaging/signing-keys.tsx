/** The keys by which receivers check that a request is from larder, and their rotation. */
import "./messaging.css";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Code } from "../../parts/code.tsx";
import { Card, Facts, PageHead } from "../../parts/page.tsx";
import { Secret } from "../../parts/secret.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import type { PageProps } from "../pages.ts";
import { api } from "./places.ts";

const RECEIVER = `import { Receiver } from "@upstash/qstash";

const receiver = new Receiver({
  currentSigningKey: process.env.QSTASH_CURRENT_SIGNING_KEY,
  nextSigningKey: process.env.QSTASH_NEXT_SIGNING_KEY,
});
await receiver.verify({ signature: request.headers.get("Upstash-Signature"), body: await request.text() });`;

export default function SigningKeys({ params: { tenant = "" } }: PageProps) {
  const { value, error, reload } = useLoad(
    (signal) => request<{ current: string; next: string }>(api(tenant, "keys"), { signal }),
    [tenant],
  );
  return (
    <>
      <PageHead
        title="Signing keys"
        lead="Each delivery is signed with the current key; receivers accept both keys"
        actions={
          <Action
            kind="danger"
            confirm="The next key becomes the current one, and a new key the next. Receivers that know both keys go on; give them the new next key before you rotate again."
            run={async () => {
              await request(api(tenant, "keys", "rotate"), { method: "POST" });
              reload();
              return "Rotated";
            }}
          >
            Rotate
          </Action>
        }
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Card title="Keys">
          <Facts
            rows={[
              [
                "Current",
                <Secret key={value.current} value={value.current} what={`current signing key of ${tenant}`} />,
              ],
              ["Next", <Secret key={value.next} value={value.next} what={`next signing key of ${tenant}`} />],
            ]}
          />
        </Card>
      )}
      <Card title="In a receiver">
        <Code label="How a receiver checks a request" text={RECEIVER} />
      </Card>
    </>
  );
}
