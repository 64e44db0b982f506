import "uplot/dist/uPlot.min.css";
import uPlot, { type AlignedData } from "uplot";

export interface ChartView {
  set(data: readonly (readonly (number | null)[])[]): void;
  destroy(): void;
}

export interface ChartOptions {
  readonly parent: HTMLElement;
  readonly labels: readonly string[];
  readonly format: (value: number) => string;
  readonly data: readonly (readonly (number | null)[])[];
}

const HEIGHT_PX = 150;

export function openChart({ parent, labels, format, data }: ChartOptions): ChartView {
  const style = getComputedStyle(parent);
  const axis = { stroke: style.getPropertyValue("--quiet"), grid: { stroke: style.getPropertyValue("--line") } };
  const plot = new uPlot(
    {
      width: parent.clientWidth || 300,
      height: HEIGHT_PX,
      cursor: { y: false },
      series: [
        {},
        ...labels.map((label, index) => ({
          label,
          stroke: style.getPropertyValue(`--series-${(index % 5) + 1}`),
          width: 1.5,
          points: { show: false },
          value: (_: uPlot, value: number | null) => (value === null ? "–" : format(value)),
        })),
      ],
      axes: [axis, { ...axis, size: 64, values: (_, splits) => splits.map(format) }],
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    },
    data as unknown as AlignedData,
    parent,
  );
  const observer = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height: HEIGHT_PX }));
  observer.observe(parent);
  return {
    set: (next) => plot.setData(next as unknown as AlignedData),
    destroy() {
      observer.disconnect();
      plot.destroy();
    },
  };
}
