/** The head of a page: title, facts, actions. */
import type { ComponentChildren } from "preact";
import { Copy } from "./copy.tsx";

export interface PageHeadProps {
  readonly title: ComponentChildren;
  /** Below the title. */
  readonly lead?: ComponentChildren;
  /** Buttons. */
  readonly actions?: ComponentChildren;
}

export function PageHead({ title, lead, actions }: PageHeadProps) {
  return (
    <div class="page-head">
      <div>
        <h1>{title}</h1>
        {lead !== undefined && <p class="lead">{lead}</p>}
      </div>
      {actions !== undefined && <div class="actions">{actions}</div>}
    </div>
  );
}

/** A title that is an id, with a button that copies it. */
export function IdTitle({ id }: { id: string }) {
  return (
    <>
      <bdi>{id}</bdi> <Copy text={id} />
    </>
  );
}

/** A section with a frame. */
export function Card({
  title,
  actions,
  children,
}: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="card">
      {(title !== undefined || actions !== undefined) && (
        <div class="card-head">
          {title !== undefined && <h2>{title}</h2>}
          {actions !== undefined && <div class="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

export type FactsRow = readonly [name: string, value: ComponentChildren];

/** Names and values, one below the other. Rows without a value are left out. */
export function Facts({ rows }: { rows: readonly FactsRow[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) =>
        value === undefined || value === null || value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
