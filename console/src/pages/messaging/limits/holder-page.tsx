/** The page of something that holds messages back and can be paused: a queue, a flow-control key. */
import type { ComponentChildren } from "preact";
import type { Loaded } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { countText } from "../../../parts/format.ts";
import { Card, Facts, type FactsRow, PageHead } from "../../../parts/page.tsx";
import { ErrorBox } from "../../../parts/states.tsx";

export interface HolderPageProps {
  /** What it is: Queue. */
  readonly noun: string;
  readonly name: string;
  readonly lead: ComponentChildren;
  readonly isPaused: boolean;
  /** Changes the state that `isPaused` says. */
  readonly onToggle: () => Promise<unknown>;
  /** Further buttons. */
  readonly actions: ComponentChildren;
  readonly loaded: Pick<Loaded<unknown>, "error" | "reload">;
  readonly waitingCount: number;
  readonly facts: readonly FactsRow[];
  /** To its messages. */
  readonly links: ComponentChildren;
}

export function HolderPage({ noun, name, lead, isPaused, onToggle, actions, loaded, ...state }: HolderPageProps) {
  const { waitingCount, facts, links } = state;
  return (
    <>
      <PageHead
        title={
          <>
            {noun} <bdi>{name}</bdi>
          </>
        }
        lead={lead}
        actions={
          <>
            <Action run={onToggle}>{isPaused ? "Resume" : "Pause"}</Action>
            {actions}
          </>
        }
      />
      {loaded.error !== undefined && <ErrorBox error={loaded.error} onRetry={loaded.reload} />}
      <Card title="State" actions={links}>
        <Facts rows={[["Waiting messages", countText(waitingCount)], ...facts]} />
      </Card>
    </>
  );
}
