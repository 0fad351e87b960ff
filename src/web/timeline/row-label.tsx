import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { describeItem } from './describe-item.js';
import { type Hit } from './draw-lanes.js';
import { type Row } from './rows.js';

/** The name of a row, in front of it. */
export function RowLabel({
  row,
  isSelected,
  onSelect,
}: {
  row: Row;
  isSelected: boolean;
  onSelect: () => void;
}): JSX.Element {
  const { kind, label, more, tone, topPx, heightPx, track } = row;
  return (
    <button
      type="button"
      tabIndex={-1}
      class={`row-label ${kind}${isSelected ? ' selected' : ''}`}
      style={{ top: `${topPx}px`, height: `${heightPx}px` }}
      title={`${track.namespace}/${track.name}`}
      onClick={onSelect}
    >
      {kind !== 'container' && <i class={`dot ${tone}`} aria-hidden="true" />}
      <span class="name">{label}</span>
      {more !== '' && <span class="more">{more}</span>}
      {track.restarts > 0 && kind === 'pod' && <span class="badge">↻{track.restarts}</span>}
      <span class="visually-hidden">
        {tone === 'bad' && ', in trouble'}, {track.warnings} warnings
      </span>
    </button>
  );
}

/** What is under the pointer, and where that is. */
export interface Hover {
  readonly hit: Hit;
  readonly x: number;
  readonly y: number;
}

interface TipProps {
  /** Gets what shows something, and nothing again: who moves the pointer has no more drawn again than that. */
  readonly showTip: { current: (hover: Hover | undefined) => void };
  readonly getNowMs: () => number;
}

/** Says what is under the pointer. */
export function Tip({ showTip, getNowMs }: TipProps): JSX.Element | null {
  const [hover, setHover] = useState<Hover | undefined>();
  showTip.current = setHover;
  if (hover === undefined) return null;
  const { hit, x, y } = hover;
  const nowMs = getNowMs();
  const item = hit.span ?? hit.marks![0]!;
  const { title, time, text } = describeItem(item, nowMs);
  const isRight = x > innerWidth - 340;
  return (
    <div
      class="tip"
      aria-hidden="true"
      style={{ left: `${isRight ? x - 332 : x + 14}px`, top: `${Math.min(y + 14, innerHeight - 130)}px` }}
    >
      <b>{title}</b>
      <span class="when">{time}</span>
      <span class="words">{text}</span>
      {(hit.marks?.length ?? 0) > 1 && (
        <span class="when">and {hit.marks!.length - 1} more here: click to see them</span>
      )}
    </div>
  );
}
