/** A map of a namespace: its vectors in the plane in which they differ most, as points that open their records. */
import "./map.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useLoad } from "../../../api/load.ts";
import { countText } from "../../../parts/format.ts";
import { Card, PageHead } from "../../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../../parts/states.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import { theme } from "../../../parts/theme.ts";
import type { PageProps } from "../../pages.ts";
import { indexPage, namespaceText } from "../api.ts";
import { NamespaceField } from "../namespace-field.tsx";
import { type Plane, planeOf } from "./plane.ts";
import { loadSample, type Sample } from "./sample.ts";
import { openScatter, type Scatter } from "./scatter.ts";

interface MapPoint {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

interface VectorMap {
  readonly points: readonly MapPoint[];
  readonly shares: Plane["shares"];
  readonly sample: Pick<Sample, "recordCount" | "runCount">;
}

const columns: readonly Column<MapPoint>[] = [
  { title: "Id", width: "minmax(6rem, 1fr)", cell: ({ id }) => <bdi>{id}</bdi> },
  { title: "First axis", width: "7rem", align: "right", cell: ({ x }) => x.toFixed(4) },
  { title: "Second axis", width: "7rem", align: "right", cell: ({ y }) => y.toFixed(4) },
];

export default function MapPage({ params: { tenant = "" } }: PageProps) {
  const { query, route, path } = useLocation();
  const { namespace = "" } = query;
  const { value, error, reload } = useLoad((signal) => loadMap(tenant, namespace, signal), [tenant, namespace]);
  const hrefOf = ({ id }: MapPoint): string => indexPage(tenant, "records", { namespace, id });
  return (
    <>
      <PageHead title="Map" lead={`of index ${tenant}: near points are often near vectors`} />
      <div class="filters">
        <NamespaceField
          index={tenant}
          value={namespace}
          onChange={(next) => route(`${path}?${new URLSearchParams({ namespace: next })}`)}
        />
      </div>
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading />}
      {value?.points.length === 0 && (
        <Empty>
          {value.sample.runCount > 0
            ? "No record of the sample has a dense vector."
            : `${namespaceText(namespace)} has no dense vector.`}
        </Empty>
      )}
      {value !== undefined && value.points.length > 0 && (
        <Card>
          <p class="hint">{describe(value)}</p>
          <Points map={value} onOpen={(point) => route(hrefOf(point))} />
          <details>
            <summary>The points as a table</summary>
            <Table label="Points" rows={value.points} keyOf={({ id }) => id} hrefOf={hrefOf} columns={columns} />
          </details>
        </Card>
      )}
    </>
  );
}

async function loadMap(index: string, namespace: string, signal: AbortSignal): Promise<VectorMap> {
  const { records, vectors, ...sample } = await loadSample(index, namespace, signal);
  const { points, shares } = await planeOf(vectors, async () => {
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
  });
  return {
    points: records.map(({ id }, at) => ({ id, x: points[at]?.[0] ?? 0, y: points[at]?.[1] ?? 0 })),
    shares,
    sample,
  };
}

function describe({ points: { length }, shares: [x, y], sample }: VectorMap): string {
  return `${countOf(length, sample)}, by the two axes on which they differ most: ${percent(x)} and ${percent(y)} of their variance.`;
}

function countOf(count: number, { recordCount, runCount }: VectorMap["sample"]): string {
  if (runCount > 0)
    return `${countText(count)} of ${countText(recordCount)} records, in ${runCount} runs spread over the namespace`;
  return count === 1 ? "One vector" : `All ${countText(count)} vectors`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** The table below has the same for those who do not see it, and for the keyboard. */
function Points({ map: { points }, onOpen }: { map: VectorMap; onOpen: (point: MapPoint) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scatter = useRef<Scatter>(undefined);
  const [marked, setMarked] = useState<number>();
  const latest = useRef(marked);
  latest.current = marked;
  const chosenTheme = theme.value;
  useEffect(() => {
    if (canvas.current === null) return;
    const opened = openScatter(
      canvas.current,
      points.map(({ x, y }) => [x, y]),
    );
    scatter.current = opened;
    const observer = new ResizeObserver(() => opened.draw(latest.current));
    observer.observe(canvas.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = (): void => opened.draw(latest.current);
    scheme.addEventListener("change", redraw);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", redraw);
    };
  }, [points]);
  useEffect(() => scatter.current?.draw(marked), [marked, chosenTheme]);
  const at = ({ offsetX, offsetY }: MouseEvent): number | undefined => scatter.current?.pointAt(offsetX, offsetY);
  const point = marked === undefined ? undefined : points[marked];
  return (
    <>
      <canvas
        ref={canvas}
        class={point === undefined ? "map" : "map opens"}
        role="img"
        aria-label={`${countText(points.length)} points, which the table below lists`}
        onPointerMove={(event) => setMarked(at(event))}
        onPointerLeave={() => setMarked(undefined)}
        onClick={(event) => {
          const found = points[at(event) ?? -1];
          if (found !== undefined) onOpen(found);
        }}
      />
      <p class="map-label">{point === undefined ? "Point at a vector to see its id" : <bdi>{point.id}</bdi>}</p>
    </>
  );
}
