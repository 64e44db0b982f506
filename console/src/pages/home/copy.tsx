/** The copy of the data directory that `--replicate` makes: where it is, and how far it is behind. */
import { Badge, type Tone } from "../../parts/badge.tsx";
import { bytesText, durationText, momentText } from "../../parts/format.ts";
import { Card, Facts } from "../../parts/page.tsx";

export interface CopyState {
  readonly address: string;
  readonly phase: "starting" | "copying" | "refused" | "replaced" | "ended";
  readonly reason: string | null;
  readonly storeFault: string | null;
  readonly areas: readonly {
    readonly area: string;
    readonly behindBytes: number;
    readonly behindSeconds: number;
    /** RFC 3339; null: the copy has not begun. */
    readonly completeTo: string | null;
    readonly fault: string | null;
  }[];
}

const tones: Readonly<Record<CopyState["phase"], Tone>> = {
  ...{ starting: "busy", copying: "good", refused: "bad", replaced: "bad", ended: "bad" },
};

export function Copy({ copy: { address, phase, reason, storeFault, areas } }: { copy: CopyState }) {
  return (
    <Card title="Copy of the data directory" actions={<Badge tone={tones[phase]}>{phase}</Badge>}>
      <Facts
        rows={[
          ["Address", <code key="address">{address}</code>],
          ["Reason", reason],
          ["Store", storeFault],
          ...areas.map((area) => [area.area, areaText(area)] as const),
        ]}
      />
    </Card>
  );
}

function areaText({ behindBytes, behindSeconds, completeTo, fault }: CopyState["areas"][number]): string {
  return [
    completeTo === null ? "not copied yet" : `complete to ${momentText(Date.parse(completeTo), { isShort: true })}`,
    ...(behindBytes > 0 ? [`${bytesText(behindBytes)} and ${durationText(behindSeconds * 1_000)} behind`] : []),
    ...(fault === null ? [] : [fault]),
  ].join(", ");
}
