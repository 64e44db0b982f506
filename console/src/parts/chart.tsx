/** A line chart over time. uPlot comes when the first chart appears. */
import { useEffect, useRef } from "preact/hooks";
import type { ChartView } from "./chart-view.ts";
import { theme } from "./theme.ts";

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  readonly label: string;
  /** Unix seconds, ascending; each series has a value for each. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

export function Chart({ label, times, series, format }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<ChartView>(undefined);
  const data = [times, ...series.map(({ values }) => values)];
  const latest = useRef(data);
  latest.current = data;
  const names = series.map((one) => one.label).join("\n");
  const chosenTheme = theme.value;
  const isEmpty = times.length === 0;
  // Data follows below; other colours or lines need another chart.
  useEffect(() => {
    let isGone = false;
    void import("./chart-view.ts").then(({ openChart }) => {
      if (isGone || box.current === null) return;
      view.current = openChart({ parent: box.current, labels: names.split("\n"), format, data: latest.current });
    });
    return () => {
      isGone = true;
      view.current?.destroy();
      view.current = undefined;
    };
  }, [names, chosenTheme, isEmpty]);
  useEffect(() => view.current?.set(latest.current));
  // Without a time, the chart would show years.
  if (isEmpty) return <p class="chart hint">The line begins in a few seconds.</p>;
  return <div class="chart" role="img" aria-label={label} ref={box} />;
}
