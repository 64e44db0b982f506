/** Points on a canvas, in the colour of its text: where they are, which one is under the pointer. */

export interface Scatter {
  /** Draws again, if the size, the colours or the marked point have changed. */
  draw(marked: number | undefined): void;
  /** The point at a place of the canvas, in CSS pixels; undefined if none is near. */
  pointAt(x: number, y: number): number | undefined;
}

const MARGIN_PX = 14;
const RADIUS_PX = 3;
const MARKED_RADIUS_PX = 6;
/** A pointer hits points within this distance. */
const NEAR_PX = 10;

/** One unit is as long on both axes. */
export function openScatter(canvas: HTMLCanvasElement, points: readonly (readonly [x: number, y: number])[]): Scatter {
  const bounds = boundsOf(points);
  const placeOf = ([x, y]: readonly [number, number]): readonly [number, number] => {
    const { clientWidth: width, clientHeight: height } = canvas;
    const scale = Math.min(
      (width - 2 * MARGIN_PX) / (bounds.width || 1),
      (height - 2 * MARGIN_PX) / (bounds.height || 1),
    );
    return [width / 2 + (x - bounds.x) * scale, height / 2 - (y - bounds.y) * scale];
  };
  return {
    draw(marked) {
      const context = canvas.getContext("2d");
      if (context === null) return;
      const ratio = devicePixelRatio;
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(canvas.clientHeight * ratio);
      context.scale(ratio, ratio);
      context.fillStyle = getComputedStyle(canvas).color;
      context.globalAlpha = 0.6;
      for (const point of points) drawPoint(context, placeOf(point), RADIUS_PX);
      const point = marked === undefined ? undefined : points[marked];
      context.globalAlpha = 1;
      if (point !== undefined) drawPoint(context, placeOf(point), MARKED_RADIUS_PX);
    },
    pointAt(x, y) {
      let nearest: number | undefined;
      let distance = NEAR_PX;
      for (const [index, point] of points.entries()) {
        const [left, top] = placeOf(point);
        const here = Math.hypot(left - x, top - y);
        if (here > distance) continue;
        distance = here;
        nearest = index;
      }
      return nearest;
    },
  };
}

function drawPoint(context: CanvasRenderingContext2D, [x, y]: readonly [number, number], radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/** The centre and the size of the points. */
function boundsOf(points: readonly (readonly [x: number, y: number])[]) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  return { x: (left + right) / 2, y: (bottom + top) / 2, width: right - left, height: top - bottom };
}
