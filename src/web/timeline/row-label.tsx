import { type JSX } from 'preact';
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

/** What is under the pointer. */
export function Tip({ hit, x, y, nowMs }: { hit: Hit; x: number; y: number; nowMs: number }): JSX.Element {
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
