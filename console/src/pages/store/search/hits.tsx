/** The query form of an index, and the hits. */
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useLoad } from "../../../api/load.ts";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { Editor } from "../../../parts/editor.tsx";
import { Field } from "../../../parts/field.tsx";
import { countText } from "../../../parts/format.ts";
import { Empty, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import { ListFoot } from "../key/list-foot.tsx";
import { keyPath, storePath, withQuery } from "../keys/key-address.ts";
import { shownBytes } from "../values/bytes.ts";
import { BytesText } from "../values/bytes-text.tsx";
import { usePages } from "../values/pages.ts";
import { Marked } from "./marked.tsx";
import { countHits, type Hit, type IndexDefinition, type Query, queryPage } from "./query.ts";

export function Hits({ database, index }: { database: string; index: IndexDefinition }) {
  const { query: address, route } = useLocation();
  const { name = index.name } = address;
  const query = queryOf(address);
  const [typed, setTyped] = useState(query);
  const [open, setOpen] = useState<Hit>();
  const pages = usePages<Hit, number>(
    (offset, signal) => queryPage(database, name, { query, offset: offset ?? 0, signal }),
    [database, name, query],
  );
  const { filter } = query;
  const count = useLoad((signal) => countHits(database, name, { filter, signal }), [database, name, filter]);
  const search = (): void => {
    const { order, isAscending, select, highlight } = typed;
    const next = { filter: typed.filter, order, dir: isAscending ? "asc" : "", select, highlight };
    route(withQuery(storePath(database, "search/index"), { ...address, ...next }), true);
    pages.reload();
  };
  return (
    <>
      <Editor
        label="Filter"
        value={typed.filter}
        language="json"
        onChange={(text) => setTyped((old) => ({ ...old, filter: text }))}
      />
      <p class="hint">
        {'A filter is JSON: {} finds all documents, {"'}
        {index.fields[0]?.name}
        {'": "word"} those with a word. Operators such as $gt and $or are in the documentation of the search.'}
      </p>
      <QueryOptions index={index} query={typed} onChange={setTyped} search={search} />
      <Table
        label="Hits"
        columns={columns}
        rows={pages.rows}
        keyOf={({ key }, at) => `${at} ${key}`}
        onOpen={setOpen}
        onEnd={pages.onEnd}
        empty={pages.isLoading ? <Loading /> : pages.error === undefined && <Empty>No document matches.</Empty>}
      />
      <ListFoot pages={pages} noun="hits" {...(count.value !== undefined && { of: count.value })} />
      {open !== undefined && <HitDialog database={database} hit={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function queryOf({ filter = "{}", order = "", dir = "", select = "", highlight = "" }: Record<string, string>): Query {
  return { filter, order, isAscending: dir === "asc", select, highlight };
}

const columns: readonly Column<Hit>[] = [
  { title: "Key", width: "minmax(7rem, 14rem)", cell: ({ key }) => <BytesText bytes={key} /> },
  { title: "Score", width: "6rem", align: "right", cell: ({ score }) => score },
  {
    title: "Document",
    width: "1fr",
    isWide: true,
    cell: ({ content }) => (
      <Marked text={content.map(([field, value]) => `${field}: ${shownBytes(value, 200)}`).join("  ")} />
    ),
  },
];

interface QueryOptionsProps {
  readonly index: IndexDefinition;
  readonly query: Query;
  readonly onChange: (query: Query) => void;
  readonly search: () => void;
}

function QueryOptions({ index, query, onChange, search }: QueryOptionsProps) {
  const sortable = index.fields.filter(({ type, options }) => type === "KEYWORD" || options.includes("FAST"));
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <Field label="Order by">
        <select
          value={query.order}
          onChange={({ currentTarget }) => onChange({ ...query, order: currentTarget.value })}
        >
          <option value="">Score</option>
          {sortable.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </Field>
      <Field label="Direction">
        <select
          value={query.isAscending ? "asc" : "desc"}
          disabled={query.order === ""}
          onChange={({ currentTarget }) => onChange({ ...query, isAscending: currentTarget.value === "asc" })}
        >
          <option value="desc">Highest first</option>
          <option value="asc">Lowest first</option>
        </select>
      </Field>
      <Field label="Only the fields">
        <input
          value={query.select}
          placeholder="all"
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ ...query, select: currentTarget.value })}
        />
      </Field>
      <Field label="Highlight in">
        <input
          value={query.highlight}
          placeholder={index.fields.find(({ type }) => type === "TEXT")?.name ?? ""}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ ...query, highlight: currentTarget.value })}
        />
      </Field>
      <Button kind="main" type="submit">
        Search
      </Button>
    </form>
  );
}

/** Longer values are cut: the page of the key shows them whole. */
const SHOWN_BYTES = 5_000;

function HitDialog({
  database,
  hit: { key, score, content },
  onClose,
}: {
  database: string;
  hit: Hit;
  onClose: () => void;
}) {
  return (
    <Dialog title={shownBytes(key, 100)} onClose={onClose}>
      <p>
        Score {score}, {countText(content.length)} {content.length === 1 ? "value" : "values"}.{" "}
        <a href={keyPath(database, key)}>Open the key</a>
      </p>
      <dl class="facts">
        {content.map(([field, value]) => (
          <div key={field}>
            <dt>{field}</dt>
            <dd>
              <Marked text={shownBytes(value, SHOWN_BYTES)} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
