import { type JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { formatTime } from './time-text.js';

/** A line of a chart. */
export interface Series {
  readonly label: string;
  /** Name of the colour in the style sheet, without its dashes. */
  readonly colour: string;
}

interface ChartProps {
  readonly title: string;
  /** Seconds since the epoch, then the values of each series; null where nothing is known. */
  readonly data: readonly (readonly (number | null)[])[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly isBars?: boolean;
  /** The value of each line that is shown in words: the newest (default) or the largest. */
  readonly summary?: 'newest' | 'largest';
}

const HEIGHT_PX = 150;
/** What a chart shows at least: of one moment alone there is no axis. */
const LEAST_S = 60;

/** Values over time. */
export function Chart({
  title,
  data,
  series,
  format,
  isBars = false,
  summary = 'newest',
}: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  useEffect(() => {
    const element = box.current!;
    const make = (): void => {
      plot.current?.destroy();
      const style = getComputedStyle(element);
      const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
      const axis = {
        stroke: colour('muted'),
        grid: { stroke: colour('grid'), width: 1 },
        ticks: { show: false },
        font: '11px system-ui',
      };
      plot.current = new UPlot(
        {
          ...{
            width: element.clientWidth,
            height: HEIGHT_PX,
            legend: { show: false },
            cursor: { show: false },
          },
          scales: {
            x: { range: (_, min, max) => rangeOfTimes(min, max, isBars) },
            y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
          },
          axes: [
            {
              ...axis,
              size: 26,
              space: 70,
              values: (_, values) => values.map((value) => formatTime(value * 1_000)),
            },
            { ...axis, size: 62, values: (_, values) => values.map((value) => format(value)) },
          ],
          series: [
            {},
            ...series.map((each) => ({
              ...{ label: each.label, stroke: colour(each.colour), width: 1.75, points: { show: false } },
              fill: `color-mix(in srgb, ${colour(each.colour)} ${isBars ? 80 : 16}%, transparent)`,
              ...(isBars ? { paths: UPlot.paths.bars!({ size: [0.8, 14, 3], align: 1 }), width: 0 } : {}),
            })),
          ],
        },
        data as unknown as UPlot.AlignedData,
        element,
      );
    };
    make();
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    observer.observe(element);
    addEventListener('podloop-theme', make);
    return () => {
      observer.disconnect();
      removeEventListener('podloop-theme', make);
      plot.current?.destroy();
    };
  }, [series.map(({ label }) => label).join()]);
  useEffect(() => plot.current?.setData(data as unknown as UPlot.AlignedData), [data]);
  const words = series.map(({ label }, at) => {
    const values = data[at + 1] ?? [];
    const value = summary === 'newest' ? values.at(-1) : values.reduce(larger, null);
    const text = typeof value === 'number' ? format(value) : 'unknown';
    return summary === 'newest' ? `${label} ${text}` : `${label} at most ${text}`;
  });
  return (
    <figure class="chart-box">
      <figcaption>
        <b>{title}</b>
        {series.map(({ label, colour }, at) => (
          <span key={label} class="legend-item">
            <i class={`swatch ${colour}`} aria-hidden="true" />
            {words[at]}
          </span>
        ))}
      </figcaption>
      <div
        ref={box}
        role="img"
        aria-label={`${title}: ${summary === 'newest' ? 'now ' : ''}${words.join(', ')}`}
      />
    </figure>
  );
}

/** From the first time to the last one; a bar stands behind its time. */
export function rangeOfTimes(fromS: number, toS: number, isBars: boolean): [number, number] {
  if (!Number.isFinite(fromS)) return [0, 1];
  const from = Math.min(fromS, toS - LEAST_S);
  return [from, isBars ? toS + (toS - from) / 60 : toS];
}

function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}
