/** What a server tells of the copy of its data directory: for `GET /v1/stats`, `larder stats` and `larder status`. */
import type { CopyPhase, CopyState } from "../../replication/copier.ts";

/** The copy as `GET /v1/stats` has it. */
export interface CopyFigures {
  /** Without parameters. */
  readonly address: string;
  readonly phase: CopyPhase;
  /** Why it does not copy; null: it does. */
  readonly reason: string | null;
  /** The last failure of the store, if it has not answered since. */
  readonly storeFault: string | null;
  readonly tokens: CopyState["tokens"];
  readonly areas: readonly CopiedAreaFigures[];
}

export interface CopiedAreaFigures {
  readonly area: string;
  readonly behindBytes: number;
  readonly behindSeconds: number;
  /** RFC 3339; null: the copy has not begun. */
  readonly completeTo: string | null;
  /** Moments that cannot be restored. */
  readonly lost: readonly { readonly from: string; readonly to: string }[];
  /** Why a file of it cannot be copied. */
  readonly fault: string | null;
}

export function figuresOfCopy(address: string, { phase, reason, storeFault, tokens, areas }: CopyState): CopyFigures {
  return {
    ...{ address, phase, reason: reason ?? null, storeFault: storeFault?.text ?? null, tokens },
    areas: areas.map(({ area, behindBytes, behindMs, completeToMs, lost, fault }) => ({
      ...{ area, behindBytes, behindSeconds: Math.round(behindMs) / 1_000 },
      completeTo: completeToMs === 0 ? null : printMoment(completeToMs),
      lost: lost.map(({ fromMs, toMs }) => ({ from: printMoment(fromMs), to: printMoment(toMs) })),
      fault: fault ?? null,
    })),
  };
}

/** A title, and pairs of words and a value, for people. */
export function copyLines(copy: CopyFigures): readonly (readonly [string, string?])[] {
  const { address, phase, reason, storeFault, tokens, areas } = copy;
  return [
    [`copy (${phase})`],
    ["to", address],
    ...(reason === null ? [] : [["reason", reason] as const]),
    ...(storeFault === null ? [] : [["store", storeFault] as const]),
    ["tokens", tokens],
    ...areas.map((area) => [area.area, describeArea(area)] as const),
  ];
}

function describeArea({ behindBytes, behindSeconds, completeTo, lost, fault }: CopiedAreaFigures): string {
  return [
    completeTo === null ? "not copied yet" : `complete to ${completeTo}`,
    ...(behindBytes > 0 ? [`${behindBytes} bytes and ${behindSeconds} s behind`] : []),
    ...lost.map(({ from, to }) => `moments from ${from} to ${to} are lost`),
    ...(fault === null ? [] : [fault]),
  ].join(", ");
}

/** RFC 3339. */
export function printMoment(ms: number): string {
  return new Date(ms).toISOString();
}
