import { type ComponentChildren, type JSX } from 'preact';
import { formatSpan } from '../time-text.js';
import { type TimelineSource } from './timeline-source.js';

/** What is drawn. */
export interface Shown {
  /** Kinds that are left out. */
  readonly hidden: ReadonlySet<string>;
  /** Normal events are many, and are drawn when somebody wants them. */
  readonly showsAll: boolean;
  /** Pods with problems alone. */
  readonly onlyTrouble: boolean;
}

/** Lengths of time to choose from, in milliseconds. */
export const RANGES = [
  ['1m', 60_000],
  ['5m', 300_000],
  ['15m', 900_000],
  ['1h', 3_600_000],
  ['6h', 21_600_000],
  ['1d', 86_400_000],
  ['7d', 604_800_000],
] as const;
const KINDS = [
  ['life', 'Containers'],
  ['pull', 'Pulls'],
  ['restart', 'Restarts'],
  ['probe', 'Probes'],
  ['call', 'Slow calls'],
  ['sync', 'Syncs'],
  ['event', 'Events'],
] as const;

interface TimeToolsProps {
  /** What stands in front. */
  readonly children: ComponentChildren;
  readonly lengthMs: number;
  readonly isLive: boolean;
  readonly onRange: (lengthMs: number) => void;
  /** By a part of what is shown. */
  readonly onPan: (part: number) => void;
  readonly onZoom: (factor: number) => void;
  /** Absent where nothing more happens. */
  readonly onLive: (() => void) | undefined;
  /** Shows that moment. */
  readonly onGoTo: (ms: number) => void;
  /** Lists the warnings. */
  readonly onList: () => void;
  /** Undefined where one pod is shown alone. */
  readonly podCount: number | undefined;
  readonly warnings: number;
  readonly restarts: number;
}

/** Which part of time is shown, and how much happened in it. */
export function TimeTools(props: TimeToolsProps): JSX.Element {
  const { children, lengthMs, isLive, onRange, onPan, onZoom, onLive, onGoTo, onList } = props;
  const { podCount, warnings, restarts } = props;
  return (
    <div class="tools">
      {children}
      <div class="group" role="group" aria-label="Length of time">
        {RANGES.map(([label, ms]) => (
          <button
            key={label}
            type="button"
            aria-pressed={Math.abs(lengthMs - ms) < 1}
            onClick={() => onRange(ms)}
          >
            {label}
          </button>
        ))}
      </div>
      <div class="group" role="group" aria-label="Zoom and move">
        <button type="button" title="Earlier (←)" aria-label="Earlier" onClick={() => onPan(-0.5)}>
          ◀
        </button>
        <button type="button" title="Zoom out (−)" aria-label="Zoom out" onClick={() => onZoom(2)}>
          −
        </button>
        <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={() => onZoom(0.5)}>
          +
        </button>
        <button type="button" title="Later (→)" aria-label="Later" onClick={() => onPan(0.5)}>
          ▶
        </button>
      </div>
      {onLive !== undefined && (
        <button
          type="button"
          class="live"
          aria-pressed={isLive}
          onClick={onLive}
          title="Follow what happens (L)"
        >
          <i aria-hidden="true" /> Live
        </button>
      )}
      <label class="go-to">
        Go to{' '}
        <input
          type="datetime-local"
          onChange={(event) => {
            const ms = Date.parse(event.currentTarget.value);
            if (!Number.isNaN(ms)) onGoTo(ms);
          }}
        />
      </label>
      <span class="spacer" />
      <span class="count">
        {podCount !== undefined && `${countOf(podCount, 'pod')} · `}
        {countOf(restarts, 'restart')} ·{' '}
        <button
          type="button"
          class={warnings > 0 ? 'inline warn' : 'inline'}
          title="List them"
          onClick={onList}
        >
          {countOf(warnings, 'warning')}
        </button>{' '}
        in {formatSpan(lengthMs)}
      </span>
    </div>
  );
}

interface ChipsProps {
  readonly shown: Shown;
  readonly onChange: (shown: Shown) => void;
  readonly hasManyPods: boolean;
  readonly history: TimelineSource;
}

/** What is drawn and what is left out, which is a legend at the same time. */
export function Chips({ shown, onChange, hasManyPods, history }: ChipsProps): JSX.Element {
  const { hidden, showsAll, onlyTrouble } = shown;
  const toggle = (kind: string): void => {
    const next = new Set(hidden);
    if (!next.delete(kind)) next.add(kind);
    onChange({ ...shown, hidden: next });
  };
  return (
    <div class="tools chips" role="group" aria-label="What is shown">
      {KINDS.map(([kind, label]) => (
        <button
          key={kind}
          type="button"
          class={`chip ${kind}`}
          aria-pressed={!hidden.has(kind)}
          onClick={() => toggle(kind)}
        >
          <i aria-hidden="true" />
          {label}
        </button>
      ))}
      <button
        type="button"
        class="chip plain"
        aria-pressed={showsAll}
        onClick={() => onChange({ ...shown, showsAll: !showsAll })}
      >
        Routine events
      </button>
      {hasManyPods && (
        <button
          type="button"
          class="chip plain"
          aria-pressed={onlyTrouble}
          onClick={() => onChange({ ...shown, onlyTrouble: !onlyTrouble })}
        >
          Only pods with problems
        </button>
      )}
      <span class="spacer" />
      {history.isLoadingOlder && <span class="hint busy">Reading older records…</span>}
      {history.olderProblem !== '' && !history.isLoadingOlder && (
        <span class="hint">Older records cannot be read: {history.olderProblem}</span>
      )}
      {history.isFull && (
        <span class="hint">
          Older records are not shown: there are too many. Zoom in, or use podloop events.
        </span>
      )}
    </div>
  );
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
