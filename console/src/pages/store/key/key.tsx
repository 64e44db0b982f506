/** A key: its facts, and its value in the view of its type. */
import "../store.css";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useLoad } from "../../../api/load.ts";
import { Badge } from "../../../parts/badge.tsx";
import { Button } from "../../../parts/button.tsx";
import { Copy } from "../../../parts/copy.tsx";
import { bytesText, countNoun, durationText } from "../../../parts/format.ts";
import { Card, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PageProps } from "../../pages.ts";
import { keyOfQuery, storePath } from "../keys/key-address.ts";
import { typeTitle } from "../keys/key-types.ts";
import { NewKey } from "../keys/new-key.tsx";
import { type Bytes, textOfBytes } from "../values/bytes.ts";
import { BytesText } from "../values/bytes-text.tsx";
import { bytesOf, isFailure, numberOf, run, textOfReply } from "../values/run.ts";
import { KeyActions } from "./key-actions.tsx";
import { type ValueView, valueViews } from "./views.ts";

export default function Key({ params: { tenant: database = "" } }: PageProps) {
  const { query } = useLocation();
  const keyName = keyOfQuery(query);
  if (keyName === undefined) return <ErrorBox error="The address names no key: it needs name or hex" />;
  return <KeyPage key={keyName} database={database} keyName={keyName} />;
}

function KeyPage({ database, keyName }: { database: string; keyName: Bytes }) {
  const [version, setVersion] = useState(0);
  const facts = useLoad((signal) => readFacts(database, keyName, signal), [database, keyName]);
  const changed = (): void => {
    setVersion((old) => old + 1);
    facts.reload();
  };
  const { value } = facts;
  const name = textOfBytes(keyName);
  return (
    <>
      <p class="crumb">
        <a href={storePath(database, "keys")}>Keys</a>
        {name !== undefined && <Copy text={name}>Copy the name</Copy>}
      </p>
      <PageHead
        title={<BytesText bytes={keyName} lengthMax={2_000} />}
        lead={value?.type !== undefined && value.type !== "none" && <Lead facts={value} />}
        actions={
          value !== undefined &&
          value.type !== "none" && (
            <KeyActions database={database} keyName={keyName} expiresAtMs={value.expiresAtMs} changed={changed} />
          )
        }
      />
      {facts.error !== undefined && <ErrorBox error={facts.error} onRetry={facts.reload} />}
      {value === undefined && facts.error === undefined && <Loading />}
      {value?.type === "none" && <NoKey database={database} keyName={keyName} />}
      {value?.view !== undefined && (
        <Card>
          <value.view.View
            database={database}
            keyName={keyName}
            bytes={value.bytes}
            length={value.length}
            version={version}
            changed={changed}
          />
        </Card>
      )}
      {value !== undefined && value.type !== "none" && value.view === undefined && (
        <Card>Values of the type {value.type} have no view here. Use the command line.</Card>
      )}
    </>
  );
}

function Lead({ facts: { type, length, view, bytes, expiresAtMs, encoding, idleMs } }: { facts: Facts }) {
  return (
    <span class="lead-facts">
      <Badge>{typeTitle(type)}</Badge>
      {view?.unit !== undefined && (
        <span>{view.unit === "bytes" ? bytesText(length) : countNoun(length, view.unit)}</span>
      )}
      <span>{bytesText(bytes)} in memory</span>
      <span>
        {expiresAtMs === undefined ? (
          "never expires"
        ) : (
          <>
            expires <Time at={expiresAtMs} />
          </>
        )}
      </span>
      {encoding !== "" && <span>encoding {encoding}</span>}
      {idleMs !== undefined && <span>used {idleMs < 1_000 ? "now" : `${durationText(idleMs)} ago`}</span>}
    </span>
  );
}

function NoKey({ database, keyName }: { database: string; keyName: Bytes }) {
  const [isCreating, setCreating] = useState(false);
  return (
    <Empty>
      <p>There is no key with this name.</p>
      <Button kind="main" onClick={() => setCreating(true)}>
        Create it
      </Button>
      {isCreating && <NewKey database={database} start={keyName} onClose={() => setCreating(false)} />}
    </Empty>
  );
}

interface Facts {
  /** `none` if there is no key. */
  readonly type: string;
  readonly view: ValueView | undefined;
  readonly length: number;
  readonly bytes: number;
  readonly expiresAtMs: number | undefined;
  /** Empty if the store does not say. */
  readonly encoding: string;
  readonly idleMs: number | undefined;
}

async function readFacts(database: string, keyName: Bytes, signal: AbortSignal): Promise<Facts> {
  // OBJECT comes first: the other commands use the key.
  const commands = [
    ["OBJECT", "IDLETIME", keyName],
    ["TYPE", keyName],
    ["PEXPIRETIME", keyName],
    ["MEMORY", "USAGE", keyName],
    ["OBJECT", "ENCODING", keyName],
  ];
  const [idle, type, expiry, bytes, encoding] = await run(database, commands, signal);
  const typeName = isFailure(type) ? "none" : textOfReply(type);
  const view = valueViews.find((one) => one.type === typeName);
  const [length] = view?.length === undefined ? [0] : await run(database, [[...view.length, keyName]], signal);
  return {
    type: typeName,
    view,
    length: isFailure(length) ? 0 : numberOf(length),
    bytes: isFailure(bytes) ? 0 : numberOf(bytes),
    expiresAtMs: typeof expiry === "number" && expiry > 0 ? expiry : undefined,
    encoding: isFailure(encoding) ? "" : bytesOf(encoding),
    idleMs: typeof idle === "number" ? idle * 1_000 : undefined,
  };
}
