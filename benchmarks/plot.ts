/**
 * Plots as SVG, small enough to lie beside the results in the repository.
 *
 * Lines over a linear or logarithmic axis, or bars; the colours are told apart by everybody and on both dark and light
 * pages. Nothing here knows what is plotted.
 *
 * @module
 */

/** A plot and the file that it is written to. */
export interface Plot {
  /** Of its file, without the ending. */
  readonly name: string;
  /** For those who do not see it. */
  readonly alt: string;
  readonly svg: string;
}

/** A point, and the interval that its y is known by. */
export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  readonly low?: number;
  readonly high?: number;
}

/** Points that belong together. */
export interface Series {
  readonly label: string;
  readonly points: readonly PlotPoint[];
}

/** How an axis is drawn. */
export interface Axis {
  readonly label: string;
  /** Linear unless told; a logarithmic one leaves out what is not above 0. */
  readonly scale?: 'linear' | 'log';
}

/** What {@link linePlot} draws. */
export interface LinePlotOptions {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Steps instead of straight lines, as for a distribution. */
  readonly steps?: boolean;
}

/** What {@link barPlot} draws: a group of bars for each label. */
export interface BarPlotOptions {
  readonly title: string;
  readonly y: Axis;
  readonly groups: readonly string[];
  /** One value for each group, in their order; NaN is left out. */
  readonly series: readonly { readonly label: string; readonly values: readonly number[] }[];
}

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 70;
const RIGHT = 700;
const TOP = 48;
const BOTTOM = 340;
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
const GREY = '#808080';

/** Lines with their points. */
export function linePlot({ title, x, y, series, steps = false }: LinePlotOptions): string {
  const isDrawn = (point: PlotPoint): boolean =>
    (x.scale !== 'log' || point.x > 0) && (y.scale !== 'log' || point.y > 0);
  const drawn = series.map(({ label, points }) => ({ label, points: points.filter(isDrawn) }));
  const all = drawn.flatMap(({ points }) => points);
  const toX = scaleOf(
    x.scale,
    rangeOf(
      x.scale,
      all.map((point) => point.x),
    ),
    LEFT,
    RIGHT,
  );
  const values = all.flatMap(({ y: value, low = value, high = value }) => [value, low, high]);
  const toY = scaleOf(
    y.scale,
    rangeOf(
      y.scale,
      values.filter((value) => y.scale !== 'log' || value > 0),
    ),
    BOTTOM,
    TOP,
  );
  const lines = drawn.flatMap(({ points }, index) => {
    const colour = COLOURS[index % COLOURS.length]!;
    const path = points.map((point, at) => {
      const place = `${toX.place(point.x)},${toY.place(point.y)}`;
      return at === 0 ? `M${place}` : steps ? `H${toX.place(point.x)}V${toY.place(point.y)}` : `L${place}`;
    });
    return [
      `<path d="${path.join('')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...(steps ? [] : points.map((point) => markOf(toX.place(point.x), toY, point, colour))),
    ];
  });
  return frame(title, [
    ...axisX(
      x,
      toX.ticks.map((tick) => ({ at: toX.place(tick), text: tickText(tick) })),
    ),
    ...axisY(y, toY),
    ...lines,
    ...legend(drawn.map(({ label }) => label)),
  ]);
}

/** Bars from 0, in groups. */
export function barPlot({ title, y, groups, series }: BarPlotOptions): string {
  const values = series.flatMap((each) => each.values).filter((value) => !Number.isNaN(value));
  const toY = scaleOf('linear', [0, Math.max(...values, 0) || 1], BOTTOM, TOP);
  const groupWidth = (RIGHT - LEFT) / Math.max(1, groups.length);
  const barWidth = (groupWidth * 0.8) / Math.max(1, series.length);
  const bars = series.flatMap((each, index) =>
    each.values.flatMap((value, group) => {
      if (Number.isNaN(value)) return [];
      const left = LEFT + groupWidth * (group + 0.1) + barWidth * index;
      const top = toY.place(value);
      const size = `width="${round(barWidth - 2)}" height="${round(BOTTOM - top)}"`;
      return [`<rect x="${round(left)}" y="${top}" ${size} fill="${COLOURS[index % COLOURS.length]!}"/>`];
    }),
  );
  const ticks = groups.map((text, group) => ({ at: round(LEFT + groupWidth * (group + 0.5)), text }));
  return frame(title, [
    ...axisX({ label: '' }, ticks),
    ...axisY(y, toY),
    ...bars,
    ...legend(series.map(({ label }) => label)),
  ]);
}

/** The points of a distribution: for each value, the share of values that are no larger. */
export function distributionOf(label: string, values: readonly number[]): Series {
  const sorted = Float64Array.from(values).sort();
  return { label, points: [...sorted].map((x, index) => ({ x, y: (index + 1) / sorted.length })) };
}

interface Scale {
  readonly ticks: readonly number[];
  readonly place: (value: number) => number;
}

function rangeOf(scale: Axis['scale'], values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(low)) return scale === 'log' ? [1, 10] : [0, 1];
  if (scale === 'log') return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high * 1.001))];
  return [Math.min(0, low), high === 0 && low >= 0 ? 1 : Math.max(high, 0)];
}

function scaleOf(scale: Axis['scale'], [low, high]: [number, number], from: number, to: number): Scale {
  if (scale === 'log') {
    const [first, last] = [Math.log10(low), Math.log10(high)];
    const ticks = Array.from({ length: Math.round(last - first) + 1 }, (_, index) => 10 ** (first + index));
    return {
      ticks,
      place: (value) => round(from + ((Math.log10(value) - first) / (last - first || 1)) * (to - from)),
    };
  }
  const step = niceStep((high - low) / 5);
  const end = Math.ceil(high / step - 1e-9) * step;
  const begin = Math.floor(low / step + 1e-9) * step;
  const ticks = Array.from(
    { length: Math.round((end - begin) / step) + 1 },
    (_, index) => begin + index * step,
  );
  return { ticks, place: (value) => round(from + ((value - begin) / (end - begin)) * (to - from)) };
}

/** 1, 2 or 5 times a power of ten. */
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10) * power;
}

function markOf(x: number, toY: Scale, { y, low, high }: PlotPoint, colour: string): string {
  const circle = `<circle cx="${x}" cy="${toY.place(y)}" r="3" fill="${colour}"/>`;
  if (low === undefined || high === undefined) return circle;
  return `<path d="M${x},${toY.place(low)}V${toY.place(high)}" stroke="${colour}"/>${circle}`;
}

function axisX({ label }: Axis, ticks: readonly { readonly at: number; readonly text: string }[]): string[] {
  return [
    `<path d="M${LEFT},${BOTTOM}H${RIGHT}" stroke="${GREY}"/>`,
    ...ticks.map(({ at, text }) => textAt(at, BOTTOM + 18, text, 'middle')),
    textAt((LEFT + RIGHT) / 2, BOTTOM + 40, label, 'middle'),
  ];
}

function axisY({ label }: Axis, { ticks, place }: Scale): string[] {
  return [
    ...ticks.flatMap((tick) => [
      `<path d="M${LEFT},${place(tick)}H${RIGHT}" stroke="${GREY}" stroke-opacity="0.25"/>`,
      textAt(LEFT - 8, place(tick) + 4, tickText(tick), 'end'),
    ]),
    `<text x="16" y="${(TOP + BOTTOM) / 2}" text-anchor="middle" transform="rotate(-90 16 ${(TOP + BOTTOM) / 2})">${escape(label)}</text>`,
  ];
}

function legend(labels: readonly string[]): string[] {
  let at = LEFT;
  return labels.flatMap((label, index) => {
    const box = `<rect x="${at}" y="${HEIGHT - 14}" width="10" height="10" fill="${COLOURS[index % COLOURS.length]!}"/>`;
    const text = textAt(at + 14, HEIGHT - 5, label, 'start');
    at += 34 + label.length * 7;
    return [box, text];
  });
}

function frame(title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="${GREY}">`,
    `<text x="${LEFT}" y="24" font-size="15">${escape(title)}</text>`,
    ...parts.filter((part) => part !== ''),
    '</svg>',
    '',
  ].join('\n');
}

function textAt(x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end'): string {
  return text === ''
    ? ''
    : `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escape(text)}</text>`;
}

function tickText(value: number): string {
  return String(Number(value.toPrecision(6)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
