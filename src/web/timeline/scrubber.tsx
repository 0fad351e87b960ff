import { type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { SPEEDS } from '../data/recorded-feed.js';
import { formatMoment, formatSpan } from '../time-text.js';
import { readPalette } from './draw-lanes.js';
import { type TimeWindow } from './time-window.js';
import { type Band, type Player, type TimelineSource } from './timeline-source.js';

interface ScrubberProps {
  readonly history: TimelineSource;
  readonly player: Player;
  readonly bands: readonly Band[];
  /** What the timeline shows. */
  readonly window: TimeWindow;
}

/** Half of the handle, as the style sheet has it: the range of a browser ends so far before its edges. */
const HANDLE_PX = 7;
const BAR_PX = 3;
/** A key moves by the whole divided by this. */
const STEPS = 1_000;

/** Where a recording is: plays it, and goes to any moment of it. */
export function Scrubber({ history, player, bands, window }: ScrubberProps): JSX.Element {
  const { momentMs, isPlaying, speed } = player;
  const [fromMs, toMs] = [history.fromMs, history.endMs()];
  const canvas = useRef<HTMLCanvasElement>(null);
  const [widthPx, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const box = canvas.current!.parentElement!;
    const observer = new ResizeObserver(() => setWidth(box.clientWidth));
    observer.observe(box);
    const onTheme = (): void => setTheme((count) => count + 1);
    addEventListener('podloop-theme', onTheme);
    return () => {
      observer.disconnect();
      removeEventListener('podloop-theme', onTheme);
    };
  }, []);
  const { entries } = history.tracks;
  useEffect(
    () => drawOverview(canvas.current!, { entries, fromMs, toMs, bands, window, widthPx }),
    [entries.length, bands, window.fromMs, window.toMs, widthPx, theme],
  );
  const speeds = SPEEDS.includes(speed) ? SPEEDS : [...SPEEDS, speed].sort((one, other) => one - other);
  return (
    <div class="scrubber" role="group" aria-label="Moment of the recording">
      <button type="button" class="play" title="Play or stop (Space)" onClick={() => player.toggle()}>
        <span aria-hidden="true">{isPlaying ? '❚❚' : '▶'}</span>
        <span class="visually-hidden">{isPlaying ? 'Stop' : 'Play'}</span>
      </button>
      <select
        aria-label="Speed"
        value={String(speed)}
        onChange={(event) => player.setSpeed(Number(event.currentTarget.value))}
      >
        {speeds.map((each) => (
          <option key={each} value={String(each)}>
            {each}×
          </option>
        ))}
      </select>
      <div class="strip">
        <canvas ref={canvas} aria-hidden="true" />
        <input
          type="range"
          aria-label="Moment"
          aria-valuetext={`${formatMoment(momentMs, toMs)}, ${formatSpan(momentMs - fromMs)} of ${formatSpan(toMs - fromMs)}`}
          min={fromMs}
          max={toMs}
          step={Math.max(1, (toMs - fromMs) / STEPS)}
          value={momentMs}
          onInput={(event) => player.goTo(Number(event.currentTarget.value))}
        />
      </div>
      <output class="moment">
        <b>{formatMoment(momentMs, toMs)}</b>{' '}
        <span class="muted">
          {formatSpan(momentMs - fromMs)} of {formatSpan(toMs - fromMs)}
        </span>
      </output>
    </div>
  );
}

interface Overview {
  readonly entries: readonly { readonly atMs: number; readonly type: string }[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly bands: readonly Band[];
  readonly window: TimeWindow;
  readonly widthPx: number;
}

/** How much happened when, with the warnings in their colour, and the part that the timeline shows. */
function drawOverview(
  element: HTMLCanvasElement,
  { entries, fromMs, toMs, bands, window, widthPx }: Overview,
): void {
  const scale = devicePixelRatio;
  const heightPx = element.clientHeight;
  if (widthPx === 0 || heightPx === 0) return;
  element.width = Math.round(widthPx * scale);
  element.height = Math.round(heightPx * scale);
  const context = element.getContext('2d')!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const palette = readPalette(element);
  const room = Math.max(1, widthPx - 2 * HANDLE_PX);
  const toX = (ms: number): number => HANDLE_PX + ((ms - fromMs) / Math.max(1, toMs - fromMs)) * room;
  context.fillStyle = palette.bad;
  context.globalAlpha = 0.12;
  for (const band of bands) {
    const [from, to] = [toX(band.fromMs), toX(band.toMs ?? toMs)];
    context.fillRect(from, 0, Math.max(2, to - from), heightPx);
  }
  context.globalAlpha = 1;
  const bars = Array.from({ length: Math.ceil(room / BAR_PX) + 1 }, () => ({ all: 0, warnings: 0 }));
  for (const { atMs, type } of entries) {
    const bar = bars[Math.floor((toX(atMs) - HANDLE_PX) / BAR_PX)];
    if (bar === undefined) continue;
    bar.all++;
    if (type === 'Warning') bar.warnings++;
  }
  // The root lets a few be seen beside many.
  const most = Math.sqrt(Math.max(1, ...bars.map(({ all }) => all)));
  const heightOf = (count: number): number =>
    count === 0 ? 0 : Math.max(2, (Math.sqrt(count) / most) * (heightPx - 4));
  for (const [at, { all, warnings }] of bars.entries()) {
    for (const [count, colour] of [
      [all, palette.sync],
      [warnings, palette.bad],
    ] as const) {
      context.fillStyle = colour;
      const height = heightOf(count);
      context.fillRect(HANDLE_PX + at * BAR_PX, heightPx - height, BAR_PX - 1, height);
    }
  }
  const from = Math.max(HANDLE_PX, toX(window.fromMs));
  const to = Math.min(widthPx - HANDLE_PX, toX(window.toMs));
  context.strokeStyle = palette.now;
  context.lineWidth = 1.5;
  context.strokeRect(from, 1, Math.max(2, to - from), heightPx - 2);
}
