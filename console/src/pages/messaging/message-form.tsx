/** The form of a message or a schedule: every option of a publish, and the request that it makes. */
import "./messaging.css";
import { useState } from "preact/hooks";
import { request, send } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { Editor } from "../../parts/editor.tsx";
import { Field } from "../../parts/field.tsx";
import { Card } from "../../parts/page.tsx";
import { api } from "./places.ts";
import {
  clientCodeOf,
  curlOf,
  headersOf,
  type MessageForm,
  type OptionRow,
  optionGroups,
  type Pair,
  routeOf,
  rowsFor,
} from "./publish-request.ts";

const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;
const CONTENT_TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded"] as const;

export interface MessageFormProps {
  readonly tenant: string;
  readonly start: MessageForm;
  /** On the button. */
  readonly submit: string;
  /** Gets the answer of larder; resolves with a text for the user. */
  readonly onSent: (answer: unknown) => string;
}

export function emptyForm(kind: MessageForm["kind"]): MessageForm {
  return {
    kind,
    destination: "",
    method: "POST",
    contentType: "application/json",
    body: "",
    forwarded: [],
    others: [],
    options: {},
  };
}

export function MessageFormView({ tenant, start, submit, onSent }: MessageFormProps) {
  const [form, setForm] = useState(start);
  const change = (changed: Partial<MessageForm>): void => setForm((old) => ({ ...old, ...changed }));
  const names = useNames(tenant);
  return (
    <div class="publish-grid">
      <div>
        <Card title="Request">
          <Field label="Destination" hint="A URL, or the name of a URL group">
            <input
              list="destinations"
              value={form.destination}
              placeholder="https://example.com/hook"
              onInput={({ currentTarget }) => change({ destination: currentTarget.value.trim() })}
              spellcheck={false}
            />
          </Field>
          <Names id="destinations" names={names.groups} />
          <Names id="queues" names={names.queues} />
          <Names id="content-types" names={CONTENT_TYPES} />
          <div class="columns">
            <Field label="Method">
              <select value={form.method} onChange={({ currentTarget }) => change({ method: currentTarget.value })}>
                {METHODS.map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
            </Field>
            <Field label="Content type">
              <input
                list="content-types"
                value={form.contentType}
                onInput={({ currentTarget }) => change({ contentType: currentTarget.value.trim() })}
              />
            </Field>
          </div>
          <div class="field">
            <strong>Body</strong>
            <Editor
              label="Body"
              value={form.body}
              language={form.contentType.includes("json") ? "json" : "text"}
              onChange={(body) => change({ body })}
            />
          </div>
          <Pairs
            title="Headers for the destination"
            pairs={form.forwarded}
            onChange={(forwarded) => change({ forwarded })}
          />
        </Card>
        {optionGroups.map(({ title, rows }) => (
          <OptionFields
            key={title}
            title={title}
            rows={rowsFor(form.kind, rows)}
            options={form.options}
            onChange={(options) => change({ options })}
          />
        ))}
        <Card title="Further options">
          <p class="hint">Options of callbacks, for example Callback-Retries or Failure-Callback-Forward-X-Team.</p>
          <Pairs title="Options by header" pairs={form.others} onChange={(others) => change({ others })} />
        </Card>
      </div>
      <div>
        <Card
          title="What is sent"
          actions={
            <Action
              kind="main"
              disabled={form.destination === ""}
              run={async () => {
                const path = `${api(tenant, routeOf(form))}/${encodeURIComponent(form.destination)}`;
                const headers = Object.fromEntries(headersOf(form));
                // A text as a body would set its own type.
                const body = new TextEncoder().encode(form.body);
                const response = await send(path, { method: "POST", headers, body });
                return onSent(await response.json());
              }}
            >
              {submit}
            </Action>
          }
        >
          <h3>curl</h3>
          <Code label="The request as a curl command" text={curlOf(form)} />
          <h3>@upstash/qstash</h3>
          <Code label="The request with the official client" text={clientCodeOf(form)} />
        </Card>
      </div>
    </div>
  );
}

/** A browser becomes slow with more suggestions. */
const NAMES_MAX = 50;

/** The first names of queues and URL groups, as suggestions: others can be written. */
function useNames(tenant: string): { readonly queues: readonly string[]; readonly groups: readonly string[] } {
  const { value } = useLoad(
    async (signal) => {
      const [queues, groups] = await Promise.all(
        ["queues", "topics"].map((list) =>
          request<{ name: string }[]>(api(tenant, list), { query: { count: `${NAMES_MAX}` }, signal }),
        ),
      );
      return { queues: (queues ?? []).map(({ name }) => name), groups: (groups ?? []).map(({ name }) => name) };
    },
    [tenant],
  );
  return value ?? { queues: [], groups: [] };
}

function Names({ id, names }: { id: string; names: readonly string[] }) {
  return (
    <datalist id={id}>
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

interface OptionFieldsProps {
  readonly title: string;
  readonly rows: readonly OptionRow[];
  readonly options: MessageForm["options"];
  readonly onChange: (options: MessageForm["options"]) => void;
}

function OptionFields({ title, rows, options, onChange }: OptionFieldsProps) {
  if (rows.length === 0) return null;
  return (
    <Card title={title}>
      <div class="columns">
        {rows.map(({ header, label, hint, placeholder }) => (
          <Field key={header} label={label} {...(hint !== undefined && { hint })}>
            <input
              value={options[header] ?? ""}
              placeholder={placeholder}
              type="text"
              list={header === "Queue-Name" ? "queues" : ""}
              onInput={({ currentTarget }) => onChange({ ...options, [header]: currentTarget.value })}
              spellcheck={false}
              autocomplete="off"
            />
          </Field>
        ))}
      </div>
    </Card>
  );
}

/** Names and values, one row for each. */
function Pairs({
  title,
  pairs,
  onChange,
}: {
  title: string;
  pairs: readonly Pair[];
  onChange: (pairs: readonly Pair[]) => void;
}) {
  const put = (index: number, pair: Pair): void => onChange(pairs.map((old, at) => (at === index ? pair : old)));
  return (
    <fieldset>
      <legend>{title}</legend>
      {pairs.map(([name, value], index) => (
        <div class="pairs" key={`${index}`}>
          <input
            aria-label={`Name ${index + 1} of ${title}`}
            value={name}
            placeholder="Name"
            onInput={({ currentTarget }) => put(index, [currentTarget.value, value])}
            spellcheck={false}
          />
          <input
            aria-label={`Value ${index + 1} of ${title}`}
            value={value}
            placeholder="Value"
            onInput={({ currentTarget }) => put(index, [name, currentTarget.value])}
            spellcheck={false}
          />
          <Button
            kind="quiet"
            label={`Remove row ${index + 1} of ${title}`}
            onClick={() => onChange(pairs.filter((_, at) => at !== index))}
          >
            ✕
          </Button>
        </div>
      ))}
      <Button kind="quiet" onClick={() => onChange([...pairs, ["", ""]])}>
        Add a row
      </Button>
    </fieldset>
  );
}
