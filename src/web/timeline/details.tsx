import { type JSX } from 'preact';
import { formatMoment } from '../time-text.js';
import { podPath } from '../route.js';
import { describeItem, factsOf } from './describe-item.js';
import { type Selection } from './rows.js';
import { type PodStates } from './timeline-source.js';
import { type Mark, NODE, type Span } from './tracks.js';

interface DetailsProps {
  readonly selection: Selection;
  readonly pods: PodStates;
  /** What lasts has lasted up to here. */
  readonly nowMs: number;
  /** Whether there are pages of pods. */
  readonly hasPods: boolean;
  readonly onSelect: (item: Span | Mark) => void;
  readonly onClose: () => void;
}

const MAX_LISTED = 200;

/** What was clicked at, and everything else that happened in the same row, newest first. */
export function Details({
  selection,
  pods,
  nowMs: now,
  hasPods,
  onSelect,
  onClose,
}: DetailsProps): JSX.Element {
  const { row, item, others = [] } = selection;
  const { track } = row;
  const verdict = track.key === NODE ? undefined : pods.judge(track);
  const marks = row.lanes.flatMap((lane) => lane.marks).sort((one, other) => other.atMs - one.atMs);
  const about = item === undefined ? undefined : describeItem(item, now);
  const entry = item === undefined ? undefined : 'atMs' in item ? item.entry : (item.end ?? item.entry);
  const atMs = item === undefined ? undefined : 'atMs' in item ? item.atMs : (item.toMs ?? item.fromMs);
  const container = entry?.container ?? (row.kind === 'container' ? row.label : undefined);
  return (
    <aside class="details" aria-label="Details">
      <header>
        <div>
          <h2>{row.kind === 'container' ? `${track.name} / ${row.label}` : row.label}</h2>
          {track.key !== NODE && <p class="muted">{track.namespace}</p>}
        </div>
        <button type="button" class="icon" aria-label="Close" title="Close (Esc)" onClick={onClose}>
          ✕
        </button>
      </header>
      {verdict !== undefined && item === undefined && (
        <p class={`verdict ${verdict.tone}`}>
          <b>{verdict.word}</b>
          {verdict.why !== undefined && <span> {verdict.why}</span>}
        </p>
      )}
      {about !== undefined && (
        <div class="item" role="status">
          <h3>{about.title}</h3>
          <p class="muted">{about.time}</p>
          <p class="words">{about.text}</p>
          {entry !== undefined && (
            <dl class="facts">
              {factsOf(entry).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          )}
        </div>
      )}
      {hasPods && track.key !== NODE && track.workload === undefined && (
        <p class="links">
          <a href={podPath(track.namespace, track.name)}>Open the pod</a>
          <a
            href={podPath(track.namespace, track.name, 'logs', {
              ...(container === undefined ? {} : { container }),
              ...(atMs === undefined || !Number.isFinite(atMs) ? {} : { at: String(Math.floor(atMs)) }),
            })}
          >
            {atMs === undefined ? 'Logs' : 'Log at this moment'}
          </a>
        </p>
      )}
      <h3 class="list-title">{others.length > 0 ? 'At this place' : 'What happened here'}</h3>
      <ul class="entries">
        {(others.length > 0 ? others : marks).slice(0, MAX_LISTED).map((each) => (
          <li key={`${each.entry.id}${each.kind}`}>
            <button type="button" aria-pressed={each === item} onClick={() => onSelect(each)}>
              <i class={`dot ${each.tone}`} aria-hidden="true" />
              <span class="reason">{each.entry.reason}</span>
              <time>{formatMoment(each.atMs, now)}</time>
              <span class="words">{each.entry.message}</span>
            </button>
          </li>
        ))}
        {marks.length === 0 && <li class="muted">Nothing is recorded of the time that was read.</li>}
      </ul>
    </aside>
  );
}
