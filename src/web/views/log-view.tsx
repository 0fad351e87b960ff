import { type JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ReconnectWaits } from '../data/reconnect-waits.js';
import { type PodObject, statusesOf } from '../data/shown-pod.js';
import { type Session } from '../data/session.js';
import { podPath } from '../route.js';
import { formatMoment, formatTime } from '../time-text.js';
import { type LogLine, splitAt } from './log-line-text.js';
import { ShownLog, MAX_LINE } from './shown-log.js';

interface LogViewProps {
  readonly session: Session;
  readonly pod: PodObject;
  readonly query: URLSearchParams;
}

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
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(
    () => new ShownLog(atMs),
    [session, metadata.uid, container, isPrevious, query.get('at')],
  );
  const containerId = statusesOf(pod).find(({ name }) => name === container)?.containerID;
  /** The container whose log is read. */
  const readId = useRef<string | undefined>(undefined);
  const [readings, setReadings] = useState(0);
  const readOn = (): void => setReadings((count) => count + 1);

  const waits = useMemo(() => new ReconnectWaits(), [lines]);
  useEffect(() => setProblem(undefined), [lines]);

  useEffect(() => {
    setOver(false);
    readId.current = containerId;
    lines.begin(isPrevious ? undefined : containerId, `${container} was started again`);
    const firstPart: Record<string, string> = Number.isNaN(atMs)
      ? { tailLines: String(FIRST_LINES) }
      : { sinceTime: new Date(atMs - BEFORE_MS).toISOString() };
    const since = lines.resume();
    // Of a container that was started meanwhile, everything: the clock may have been set back.
    const nextPart: Record<string, string> = since === undefined ? {} : { sinceTime: since };
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/log`;
    const asked = new URLSearchParams({
      ...{ container, timestamps: 'true', follow: String(!isPrevious), previous: String(isPrevious) },
      ...(lines.all.length === 0 ? firstPart : nextPart),
    });
    let [news, retry]: ReturnType<typeof setTimeout>[] = [];
    const stream = session.stream(`${path}?${asked.toString()}`, {
      // Until then, why it was lost stays readable.
      onOpen: () => {
        waits.reset();
        setProblem(undefined);
      },
      onLines: (more) => {
        lines.add(more);
        if (lines.isFull) {
          stream.close();
          setOver(true);
        }
        news ??= setTimeout(() => {
          news = undefined;
          setVersion((version) => version + 1);
        }, NEWS_MS);
      },
      onEnd: ({ status, message, isWhole }) => {
        setOver(true);
        if (isWhole) return;
        const why = message === '' ? 'the connection has ended' : message;
        // What the agent refuses, it refuses again.
        const isBroken = status === undefined || status >= 500;
        setProblem(isBroken ? `${why}; trying again…` : why);
        if (isBroken) retry = setTimeout(readOn, waits.nextMs());
      },
      maxLine: MAX_LINE,
    });
    return () => {
      stream.close();
      clearTimeout(news);
      clearTimeout(retry);
    };
  }, [lines, readings]);

  // The log of a container ends with it, and goes on with the next one.
  useEffect(() => {
    const isNew = containerId !== undefined && containerId !== readId.current;
    if (!isNew || !isOver || isPrevious || lines.isFull) return;
    readOn();
  }, [isOver, containerId]);

  // Before anything of it is shown.
  useMemo(() => lines.search(sought), [lines, sought]);
  const { all, found } = lines;
  const shown = onlyFound && sought !== '' ? found : all;

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
    const places = shown.flatMap((line, at) => (lines.isFound(line) ? [at] : []));
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
          onClick={() => {
            if (lines.isFull)
              location.hash = podPath(metadata.namespace, metadata.name, 'logs', { container });
            setFollowing(!isFollowing);
          }}
        >
          <i aria-hidden="true" /> Follow
        </button>
        <span class="spacer" />
        <span class="hint">
          {isPrevious && 'Of the container before. '}
          {!Number.isNaN(atMs) && `Around ${formatTime(atMs)}. `}
          {lines.dropped > 0 && `${lines.dropped} older lines are not shown. `}
          {lines.isFull && 'Later lines are not shown: Follow leads to them. '}
          {isOver && !lines.isFull && problem === undefined && 'The log has ended.'}
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

function LogRow({ line: { atMs, text, isNote }, top, sought, isMoment }: LogRowProps): JSX.Element {
  return (
    <div
      class={`line${isMoment ? ' moment' : ''}${isNote === true ? ' note' : ''}`}
      style={{ top: `${top}px` }}
    >
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
