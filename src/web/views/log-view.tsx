import { type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type PodObject, statusesOf } from '../data/shown-pod.js';
import { type Session } from '../data/session.js';
import { podPath } from '../route.js';
import { formatMoment, formatTime } from '../time-text.js';
import { type LogLine, parseLogLine, splitAt } from './log-line-text.js';

interface LogViewProps {
  readonly session: Session;
  readonly pod: PodObject;
  readonly query: URLSearchParams;
}

/** The newest lines; more are in the files, which podloop logs prints. */
const MAX_LINES = 20_000;
const FIRST_LINES = 2_000;
const LINE_PX = 19;
const NEWS_MS = 100;
/** What is read before a moment that somebody wants to see. */
const BEFORE_MS = 60_000;

/** The log of a container: followed, searched, and opened at a moment. */
export function LogView({ session, pod, query }: LogViewProps): JSX.Element {
  const { metadata, spec = {} } = pod;
  const names = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name);
  const container = query.get('container') ?? names[0] ?? '';
  const atMs = Number(query.get('at') ?? NaN);
  const isPrevious = query.get('previous') === 'true' || wasBefore(pod, container, atMs);
  const [sought, setSought] = useState('');
  const [onlyFound, setOnlyFound] = useState(false);
  const [isFollowing, setFollowing] = useState(Number.isNaN(atMs));
  const [withTimes, setWithTimes] = useState(true);
  const [problem, setProblem] = useState<string | undefined>();
  const [isOver, setOver] = useState(false);
  const [, setVersion] = useState(0);
  const [scrollPx, setScroll] = useState(0);
  const [viewPx, setView] = useState(500);
  const lines = useRef<LogLine[]>([]);
  const dropped = useRef(0);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    lines.current = [];
    dropped.current = 0;
    setProblem(undefined);
    setOver(false);
    setVersion((version) => version + 1);
    const range = Number.isNaN(atMs)
      ? `tailLines=${FIRST_LINES}`
      : `sinceTime=${encodeURIComponent(new Date(atMs - BEFORE_MS).toISOString())}`;
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/log`;
    const query_ = `container=${encodeURIComponent(container)}&timestamps=true&follow=${!isPrevious}&previous=${isPrevious}&${range}`;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stream = session.stream(`${path}?${query_}`, {
      onLines: (more) => {
        for (const line of more) lines.current.push(parseLogLine(line));
        if (lines.current.length > MAX_LINES * 1.1) {
          dropped.current += lines.current.length - MAX_LINES;
          lines.current = lines.current.slice(-MAX_LINES);
        }
        timer ??= setTimeout(() => {
          timer = undefined;
          setVersion((version) => version + 1);
        }, NEWS_MS);
      },
      onEnd: ({ status, message, isWhole }) => {
        setOver(true);
        if (!isWhole || status !== undefined)
          setProblem(message === '' ? 'the connection has ended' : message);
      },
    });
    return () => {
      stream.close();
      clearTimeout(timer);
    };
  }, [session, metadata.uid, container, isPrevious, query.get('at')]);

  const all = lines.current;
  const wanted = sought.toLowerCase();
  const found = wanted === '' ? [] : all.filter(({ text }) => text.toLowerCase().includes(wanted));
  const shown = onlyFound && wanted !== '' ? found : all;

  useLayoutEffect(() => {
    const element = box.current!;
    setView(element.clientHeight);
    if (isFollowing) element.scrollTop = element.scrollHeight;
  });
  // Once the lines of that moment are there.
  const [hasJumped, setJumped] = useState(false);
  useEffect(() => setJumped(false), [query.get('at'), container]);
  useEffect(() => {
    if (hasJumped || Number.isNaN(atMs) || all.length === 0) return;
    const at = all.findIndex((line) => (line.atMs ?? 0) >= atMs);
    if (at < 0 && !isOver) return;
    const index = at < 0 ? all.length : at;
    box.current!.scrollTop = Math.max(0, index * LINE_PX - viewPx / 2);
    setJumped(true);
  });

  const jumpTo = (way: 1 | -1): void => {
    if (found.length === 0) return;
    const top = Math.round(scrollPx / LINE_PX);
    const places = shown.flatMap(({ text }, at) => (text.toLowerCase().includes(wanted) ? [at] : []));
    const middle = top + Math.floor(viewPx / LINE_PX / 2);
    const next =
      way > 0
        ? (places.find((at) => at > middle) ?? places[0]!)
        : (places.findLast((at) => at < middle) ?? places.at(-1)!);
    setFollowing(false);
    box.current!.scrollTop = next * LINE_PX - viewPx / 2;
  };

  const first = Math.max(0, Math.floor(scrollPx / LINE_PX) - 10);
  const last = Math.min(shown.length, Math.ceil((scrollPx + viewPx) / LINE_PX) + 10);
  return (
    <div class="log">
      <div class="tools">
        <label>
          Container{' '}
          <select
            value={container}
            onChange={(event) =>
              (location.hash = podPath(metadata.namespace, metadata.name, 'logs', {
                container: event.currentTarget.value,
              }))
            }
          >
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="search">
          <span class="visually-hidden">Search in the log</span>
          <input
            type="search"
            placeholder="Search in the log (Enter: next)"
            value={sought}
            onInput={(event) => setSought(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && jumpTo(event.shiftKey ? -1 : 1)}
          />
        </label>
        {sought !== '' && (
          <span class="count" role="status">
            {found.length} {found.length === 1 ? 'line' : 'lines'}
          </span>
        )}
        <div class="group">
          <button
            type="button"
            aria-pressed={onlyFound}
            onClick={() => setOnlyFound(!onlyFound)}
            title="Only lines with it"
          >
            Only these
          </button>
          <button type="button" aria-pressed={withTimes} onClick={() => setWithTimes(!withTimes)}>
            Times
          </button>
        </div>
        <button
          type="button"
          class="live"
          aria-pressed={isFollowing}
          onClick={() => setFollowing(!isFollowing)}
        >
          <i aria-hidden="true" /> Follow
        </button>
        <span class="spacer" />
        <span class="hint">
          {isPrevious && 'Of the container before. '}
          {!Number.isNaN(atMs) && `Around ${formatTime(atMs)}. `}
          {dropped.current > 0 && `${dropped.current} older lines are not shown. `}
          {isOver && problem === undefined && 'The log has ended.'}
        </span>
      </div>
      {problem !== undefined && (
        <p class="notice bad" role="alert">
          {problem}
        </p>
      )}
      <div
        class={`log-lines${withTimes ? '' : ' bare'}`}
        ref={box}
        tabIndex={0}
        role="log"
        aria-label={`Log of ${container}`}
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          setScroll(scrollTop);
          setView(clientHeight);
          if (scrollTop + clientHeight < scrollHeight - LINE_PX * 3) setFollowing(false);
        }}
      >
        <div class="log-sheet" style={{ height: `${shown.length * LINE_PX}px` }}>
          {shown.slice(first, last).map((line, at) => (
            <LogRow
              key={first + at}
              line={line}
              top={(first + at) * LINE_PX}
              sought={sought}
              isMoment={isNear(line, atMs)}
            />
          ))}
        </div>
        {shown.length === 0 && problem === undefined && (
          <p class="empty">
            {isOver
              ? 'The log is empty.'
              : onlyFound && sought !== ''
                ? 'No line has it.'
                : 'Nothing has been written yet.'}
          </p>
        )}
      </div>
    </div>
  );
}

/** Whether a moment is of the container before: the one that runs now has begun later. */
function wasBefore(pod: PodObject, name: string, atMs: number): boolean {
  const { state, lastState } = statusesOf(pod).find((each) => each.name === name) ?? {};
  const beganMs = Date.parse(state?.running?.startedAt ?? '');
  return lastState?.terminated !== undefined && atMs < beganMs;
}

function isNear({ atMs }: LogLine, wantedMs: number): boolean {
  return atMs !== undefined && Math.abs(atMs - wantedMs) < 500;
}

interface LogRowProps {
  readonly line: LogLine;
  readonly top: number;
  readonly sought: string;
  readonly isMoment: boolean;
}

function LogRow({ line: { atMs, text }, top, sought, isMoment }: LogRowProps): JSX.Element {
  return (
    <div class={isMoment ? 'line moment' : 'line'} style={{ top: `${top}px` }}>
      <time title={atMs === undefined ? '' : new Date(atMs).toISOString()}>
        {atMs === undefined ? '' : formatMoment(atMs)}
      </time>
      <span>
        {splitAt(text, sought).map((part, at) =>
          part.isFound ? <mark key={at}>{part.text}</mark> : part.text,
        )}
      </span>
    </div>
  );
}
