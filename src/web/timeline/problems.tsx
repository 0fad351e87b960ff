import { type JSX } from 'preact';
import { formatMoment } from '../time-text.js';
import { describeItem } from './describe-item.js';
import { type Problem } from './rows.js';
import { type TimeWindow } from './time-window.js';

const MAX_LISTED = 300;

interface ProblemsProps {
  readonly problems: readonly Problem[];
  readonly window: TimeWindow;
  readonly nowMs: number;
  readonly onSelect: (problem: Problem) => void;
  readonly onClose: () => void;
}

/** All problems of the time that is shown; a click leads to one. */
export function Problems({ problems, window, nowMs, onSelect, onClose }: ProblemsProps): JSX.Element {
  return (
    <aside class="details" aria-label="Problems">
      <header>
        <div>
          <h2>Problems</h2>
          <p class="muted">
            {formatMoment(window.fromMs, nowMs)} – {formatMoment(window.toMs, nowMs)}
          </p>
        </div>
        <button type="button" class="icon" aria-label="Close" title="Close (Esc)" onClick={onClose}>
          ✕
        </button>
      </header>
      {problems.length === 0 && <p class="muted">Nothing went wrong in the time that is shown.</p>}
      <ul class="entries">
        {problems.slice(0, MAX_LISTED).map((problem, at) => {
          const { row, item, atMs } = problem;
          const { title, text } = describeItem(item, nowMs);
          const container = row.kind === 'container' ? ` / ${row.label}` : '';
          return (
            <li key={at}>
              <button type="button" onClick={() => onSelect(problem)}>
                <i class={`dot ${item.tone}`} aria-hidden="true" />
                <span class="reason">
                  {row.track.name}
                  {container}: {title}
                </span>
                <time>{Number.isFinite(atMs) ? formatMoment(atMs, nowMs) : 'before'}</time>
                <span class="words">{text}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {problems.length > MAX_LISTED && (
        <p class="muted">{problems.length - MAX_LISTED} more: zoom in or filter to see them.</p>
      )}
    </aside>
  );
}
