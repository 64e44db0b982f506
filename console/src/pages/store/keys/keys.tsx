/** The keys of a database: a scan by prefix, pattern and type, with a tree of the prefixes seen so far. */
import "../store.css";
import { useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Badge } from "../../../parts/badge.tsx";
import { Button } from "../../../parts/button.tsx";
import { Code } from "../../../parts/code.tsx";
import { Field } from "../../../parts/field.tsx";
import { bytesText, countNoun, countText } from "../../../parts/format.ts";
import { PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table, useChosen } from "../../../parts/table.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PageProps } from "../../pages.ts";
import { type Bytes, bytesOfHex, bytesOfText, globOfBytes, hexOfBytes } from "../values/bytes.ts";
import { BytesText } from "../values/bytes-text.tsx";
import { usePages } from "../values/pages.ts";
import { ask, bytesOf, numberOf } from "../values/run.ts";
import { scanPage } from "../values/scan.ts";
import { keyPath, storePath, withQuery } from "./key-address.ts";
import { type KeyFacts, KeyFactsLoader } from "./key-facts.ts";
import { keyTypes, typeTitle } from "./key-types.ts";
import { NewKey } from "./new-key.tsx";
import { prefixTree } from "./prefix-tree.ts";
import { Prefixes } from "./prefixes.tsx";

/** Keys that the tree remembers. */
const SEEN_MAX = 50_000;
/** Keys of one UNLINK. */
const DELETE_BATCH = 100;

export default function Keys({ params: { tenant: database = "" } }: PageProps) {
  const { query, route } = useLocation();
  const { match = "", type = "", separator = ":" } = query;
  const prefix = bytesOfHex(query["prefix"] ?? "") ?? "";
  const [round, setRound] = useState(0);
  const [isCreating, setCreating] = useState(false);
  const path = storePath(database, "keys");
  const change = (next: Readonly<Record<string, string>>): void => {
    route(withQuery(path, { ...query, ...next }), true);
  };
  const total = useLoad((signal) => ask(database, ["DBSIZE"], signal), [database, round]);
  const facts = useMemo(() => new KeyFactsLoader(database), [database, round]);
  const pattern = patternOf(prefix, match);
  const [chosen, setChosen] = useChosen(pattern, type);
  const pages = usePages<Bytes, Bytes>(
    (cursor, signal) =>
      scanPage(
        database,
        { words: ["SCAN"], match: pattern, more: type === "" ? [] : ["TYPE", type] },
        { cursor, signal },
        (elements) => elements.map(bytesOf),
      ),
    [database, pattern, type, round],
    (key) => key,
  );
  const seen = useSeen(database, pages.rows, round);
  const tree = useMemo(() => prefixTree(seen, bytesOfText(separator)), [seen, seen.size, separator]);
  const columns = useMemo(() => columnsOf(facts), [facts]);
  const reload = (): void => {
    setChosen(new Set());
    setRound((old) => old + 1);
  };
  const isFiltered = pattern !== undefined || type !== "";
  return (
    <>
      <PageHead
        title="Keys"
        lead={total.value === undefined ? "" : `${countNoun(numberOf(total.value), "keys")} in ${database}`}
        actions={
          <>
            <Button onClick={reload}>Refresh</Button>
            <Button kind="main" onClick={() => setCreating(true)}>
              New key
            </Button>
          </>
        }
      />
      <Filters
        match={match}
        type={type}
        separator={separator}
        change={change}
        open={(name) => route(keyPath(database, name))}
      />
      <div class="beside">
        <section class="card" aria-label="Prefixes">
          <Prefixes
            node={tree}
            current={prefix}
            hrefOf={(one) => withQuery(path, { ...query, prefix: one === prefix ? "" : hexOfBytes(one) })}
          />
          {tree.children.size === 0 && (
            <p class="hint">The prefixes of the keys that you have looked at appear here.</p>
          )}
        </section>
        <div>
          {prefix !== "" && (
            <p class="below">
              <span>
                Below <BytesText bytes={prefix} />
              </span>
              <Button onClick={() => change({ prefix: "" })}>All prefixes</Button>
            </p>
          )}
          {chosen.size > 0 && (
            <div class="below">
              <span>{countText(chosen.size)} chosen</span>
              <Action
                kind="danger"
                confirm={`This deletes ${countNoun(chosen.size, "keys")} with their values.`}
                run={async () => {
                  const deleted = await deleteKeys(database, [...chosen]);
                  reload();
                  return `Deleted ${countNoun(deleted, "keys")}`;
                }}
              >
                Delete chosen
              </Action>
              <Button onClick={() => setChosen(new Set())}>Choose none</Button>
            </div>
          )}
          <Table
            label="Keys"
            columns={columns}
            rows={pages.rows}
            keyOf={(key) => key}
            hrefOf={(key) => keyPath(database, key)}
            onEnd={pages.onEnd}
            chosen={chosen}
            onChoose={setChosen}
            empty={
              pages.isLoading ? (
                <Loading />
              ) : pages.isComplete ? (
                <NoKeys isFiltered={isFiltered} clear={() => route(path, true)} />
              ) : (
                <Empty>No key found so far.</Empty>
              )
            }
          />
          {pages.error !== undefined && <ErrorBox error={pages.error} onRetry={pages.more} />}
          <p class="below" role="status">
            {pages.rows.length > 0 && `${countNoun(pages.rows.length, "keys")}${pages.isComplete ? "" : " so far"}`}
            {!pages.isComplete && !pages.isLoading && pages.onEnd === undefined && pages.error === undefined && (
              <Button onClick={pages.more}>Search on</Button>
            )}
          </p>
        </div>
      </div>
      {isCreating && <NewKey database={database} start={prefix} onClose={() => setCreating(false)} />}
    </>
  );
}

interface FiltersProps {
  readonly match: string;
  readonly type: string;
  readonly separator: string;
  readonly change: (next: Readonly<Record<string, string>>) => void;
  readonly open: (name: Bytes) => void;
}

function Filters({ match, type, separator, change, open }: FiltersProps) {
  const pattern = useRef<HTMLInputElement>(null);
  const name = useRef<HTMLInputElement>(null);
  return (
    <div class="filters">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          change({ match: pattern.current?.value ?? "" });
        }}
      >
        <Field label="Pattern">
          <input ref={pattern} key={match} defaultValue={match} placeholder="user:*" spellcheck={false} />
        </Field>
        <Field label="Type">
          <select value={type} onChange={({ currentTarget }) => change({ type: currentTarget.value })}>
            <option value="">All</option>
            {keyTypes.map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Separator">
          <select value={separator} onChange={({ currentTarget }) => change({ separator: currentTarget.value })}>
            {[":", "/", ".", "-", "_", "|"].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Field>
        <Button type="submit">Search</Button>
      </form>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          open(bytesOfText(name.current?.value ?? ""));
        }}
      >
        <Field label="Exact name">
          <input ref={name} spellcheck={false} required />
        </Field>
        <Button type="submit">Open</Button>
      </form>
    </div>
  );
}

function NoKeys({ isFiltered, clear }: { isFiltered: boolean; clear: () => void }) {
  if (isFiltered)
    return (
      <Empty>
        <p>No key matches.</p>
        <Button onClick={clear}>Show all keys</Button>
      </Empty>
    );
  return (
    <Empty>
      <p>This database has no keys yet. Make one with “New key”, on the command line page, or from a program:</p>
      <Code
        label="The first key"
        text={'import { Redis } from "@upstash/redis";\n\nawait Redis.fromEnv().set("greeting", "hello");'}
      />
    </Empty>
  );
}

function columnsOf(facts: KeyFactsLoader): Column<Bytes>[] {
  return [
    { title: "Key", width: "minmax(8rem, 1fr)", cell: (key) => <BytesText bytes={key} /> },
    {
      title: "Type",
      width: "7rem",
      cell: (key) => <Fact facts={facts} of={key} show={({ type }) => <Badge>{typeTitle(type)}</Badge>} />,
    },
    {
      title: "Expires",
      width: "9rem",
      isWide: true,
      cell: (key) => (
        <Fact
          facts={facts}
          of={key}
          show={({ type, expiresAtMs }) => (type === "none" ? "deleted" : <Expiry at={expiresAtMs} />)}
        />
      ),
    },
    {
      title: "Size",
      width: "5rem",
      align: "right",
      cell: (key) => (
        <Fact facts={facts} of={key} show={({ bytes }) => (bytes === undefined ? "–" : bytesText(bytes))} />
      ),
    },
  ];
}

function Fact(props: { facts: KeyFactsLoader; of: Bytes; show: (facts: KeyFacts) => preact.ComponentChildren }) {
  const known = props.facts.of(props.of).value;
  return <>{known === undefined ? "…" : props.show(known)}</>;
}

function Expiry({ at }: { at: number | undefined }) {
  return at === undefined ? <span class="hint">never</span> : <Time at={at} />;
}

/** Undefined for all keys. */
function patternOf(prefix: Bytes, match: string): Bytes | undefined {
  if (prefix === "" && match === "") return undefined;
  return globOfBytes(prefix) + (match === "" ? "*" : bytesOfText(match));
}

/** The keys that this page has seen, whatever its filters were. */
function useSeen(database: string, rows: readonly Bytes[], round: number): ReadonlySet<Bytes> {
  const seen = useRef<{ of: string; keys: Set<Bytes> }>({ of: "", keys: new Set() });
  const of = `${database} ${round}`;
  if (seen.current.of !== of) seen.current = { of, keys: new Set() };
  const { keys } = seen.current;
  for (const key of rows) if (keys.size < SEEN_MAX) keys.add(key);
  return keys;
}

async function deleteKeys(database: string, keys: readonly Bytes[]): Promise<number> {
  let count = 0;
  for (let at = 0; at < keys.length; at += DELETE_BATCH)
    count += numberOf(await ask(database, ["UNLINK", ...keys.slice(at, at + DELETE_BATCH)]));
  return count;
}
