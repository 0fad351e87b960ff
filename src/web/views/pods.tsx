import { type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { describeLastEnd, judgePod, type PodObject, restartsOf, statusesOf } from '../data/shown-pod.js';
import { usePolled } from '../data/polled.js';
import { type PodsFeed } from '../data/pods-feed.js';
import { type Session } from '../data/session.js';
import { useNow, useStore } from '../data/store.js';
import { formatCpu, type Summary, SUMMARY, type Usage, USAGE_MS } from '../data/usage.js';
import { podPath } from '../route.js';
import { formatAge, formatBytes } from '../time-text.js';
import { Action } from './actions.js';

interface PodsViewProps {
  readonly session: Session;
  readonly pods: PodsFeed;
}

type Column = 'name' | 'state' | 'ready' | 'restarts' | 'cpu' | 'memory' | 'age' | 'ip';

const COLUMNS: readonly (readonly [Column, string])[] = [
  ['name', 'Pod'],
  ['state', 'State'],
  ['ready', 'Ready'],
  ['restarts', 'Restarts'],
  ['cpu', 'CPU'],
  ['memory', 'Memory'],
  ['age', 'Age'],
  ['ip', 'IP'],
];
/** An agent that runs pods measures what they use, an observer does not. */
const MEASURED: ReadonlySet<Column> = new Set(['cpu', 'memory']);
/** Sorted by these, the largest is what people look for. */
const DOWN_FIRST: ReadonlySet<Column> = new Set(['restarts', 'cpu', 'memory']);
const STOPPED_MS = 5_000;
/** Rows that are there at first; more come when somebody scrolls to the end. */
const ROWS = 100;
const TONES = ['bad', 'warn', 'info', 'ok', 'quiet'];

/** All pods as a table. */
export function PodsView({ session, pods }: PodsViewProps): JSX.Element {
  useStore(pods);
  const now = useNow(5_000);
  const [text, setText] = useState('');
  const [sort, setSort] = useState<{ column: Column; isDown: boolean }>({ column: 'name', isDown: false });
  const [limit, setLimit] = useState(ROWS);
  const wanted = text.trim().toLowerCase();
  const all = pods.list();
  const shown = all.filter((pod) => wordsOf(pod).some((word) => word.toLowerCase().includes(wanted)));
  const summary = usePolled<Summary>(session, SUMMARY, USAGE_MS);
  const usages = useMemo(
    () =>
      new Map(
        (summary.value?.pods ?? []).map((each) => [`${each.podRef.namespace}/${each.podRef.name}`, each]),
      ),
    [summary.value],
  );
  const usageOf = ({ metadata: { namespace, name } }: PodObject): Usage | undefined =>
    usages.get(`${namespace}/${name}`);
  const columns = COLUMNS.filter(([column]) => !summary.isAbsent || !MEASURED.has(column));
  const rank = rankBy(sort.column, usageOf);
  shown.sort((one, other) => {
    const [left, right] = [rank(one), rank(other)];
    return (left < right ? -1 : left > right ? 1 : 0) * (sort.isDown ? -1 : 1);
  });
  const counts = new Map<string, number>();
  for (const pod of all) {
    const { word } = judgePod(pod);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return (
    <section class="view">
      <div class="tools">
        <h1>Pods</h1>
        <label class="search">
          <span class="visually-hidden">Filter pods</span>
          <input
            type="search"
            placeholder="Filter by name, state, image"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <span class="spacer" />
        <span class="count" role="status">
          {[...counts].map(([word, count]) => `${count} ${word}`).join(' · ')}
        </span>
      </div>
      {pods.state === 'loading' && <p class="empty">Reading the pods…</p>}
      {pods.state !== 'loading' && all.length === 0 && (
        <p class="empty">
          There are no pods on this node. Put a manifest into the folder of the agent, or: podloop apply -f
          FILE
        </p>
      )}
      {all.length > 0 && (
        <div class="table-box">
          <table class="pods">
            <thead>
              <tr>
                {columns.map(([column, label]) => (
                  <th
                    key={column}
                    scope="col"
                    class={`of-${column}`}
                    aria-sort={
                      sort.column === column ? (sort.isDown ? 'descending' : 'ascending') : undefined
                    }
                  >
                    <button
                      type="button"
                      onClick={() =>
                        setSort({
                          column,
                          isDown: sort.column === column ? !sort.isDown : DOWN_FIRST.has(column),
                        })
                      }
                    >
                      {label}
                      <span aria-hidden="true">
                        {sort.column === column ? (sort.isDown ? ' ↓' : ' ↑') : ''}
                      </span>
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, limit).map((pod) => (
                <PodRow
                  key={pod.metadata.uid}
                  {...{ pod, now }}
                  usage={summary.isAbsent ? undefined : (usageOf(pod) ?? {})}
                />
              ))}
            </tbody>
          </table>
          {shown.length === 0 && <p class="empty">No pod matches “{text}”.</p>}
          {shown.length > limit && (
            <More key={limit} count={shown.length - limit} onMore={() => setLimit(limit + ROWS)} />
          )}
        </div>
      )}
      <Stopped session={session} />
    </section>
  );
}

interface StoppedPods {
  readonly items?: readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
}

/** Pods whose manifests are there, and which somebody has stopped. */
function Stopped({ session }: { session: Session }): JSX.Element | null {
  const { value } = usePolled<StoppedPods>(session, '/agent/stopped', STOPPED_MS);
  const items = value?.items ?? [];
  if (items.length === 0) return null;
  return (
    <div class="table-box">
      <table>
        <caption>Stopped until somebody starts them</caption>
        <tbody>
          {items.map(({ metadata: { namespace, name } }) => (
            <tr key={`${namespace}/${name}`}>
              <th scope="row">
                <a href={podPath(namespace, name)}>{name}</a> <span class="muted sub">{namespace}</span>
              </th>
              <td class="number">
                <Action {...{ session, namespace, name }} verb="start" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Adds the next rows once it is seen, or pressed. */
function More({ count, onMore }: { count: number; onMore: () => void }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) onMore();
    });
    observer.observe(button.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <button type="button" class="more-rows" ref={button} onClick={onMore}>
      {count} more
    </button>
  );
}

interface PodRowProps {
  readonly pod: PodObject;
  readonly now: number;
  /** Undefined where nobody measures it. */
  readonly usage: Usage | undefined;
}

/** Of many rows few change at a time: the others are as they were. */
function PodRow({ pod, now, usage }: PodRowProps): JSX.Element {
  const { cpu, memory } = usage ?? {};
  return useMemo(
    () => renderRow({ pod, now, usage }),
    [pod, now, usage === undefined, cpu?.usageNanoCores, memory?.workingSetBytes],
  );
}

function renderRow({ pod, now, usage }: PodRowProps): JSX.Element {
  const { name, namespace, creationTimestamp } = pod.metadata;
  const { word, tone, why } = judgePod(pod);
  const restarts = restartsOf(pod);
  // Where the state does not say it, as of a container that runs again.
  const lastEnd = why === undefined && restarts > 0 ? describeLastEnd(pod) : undefined;
  return (
    <tr>
      <th scope="row" class="of-name">
        <a href={podPath(namespace, name)}>{name}</a>
        <span class="muted sub">{namespace}</span>
      </th>
      <td class="of-state">
        <span class={`pill ${tone}`}>
          <i class={`dot ${tone}`} aria-hidden="true" />
          {word}
        </span>
        {why !== undefined && <span class="why">{why}</span>}
        {lastEnd !== undefined && <span class="why">before: {lastEnd}</span>}
      </td>
      <td class="number of-ready">{readyOf(pod)}</td>
      <td class={restarts > 0 ? 'number warn' : 'number'}>{restarts}</td>
      {usage !== undefined && <td class="number of-cpu">{formatCpu(usage)}</td>}
      {usage !== undefined && <td class="number of-memory">{formatBytes(usage.memory?.workingSetBytes)}</td>}
      <td class="number of-age">{formatAge(creationTimestamp, now)}</td>
      <td class="mono of-ip">{pod.status?.podIP ?? '–'}</td>
    </tr>
  );
}

function readyOf({ status, spec }: PodObject): string {
  const containers = status?.containerStatuses ?? [];
  const count = Math.max(containers.length, spec?.containers?.length ?? 0);
  return `${containers.filter(({ ready }) => ready === true).length}/${count}`;
}

function rankBy(
  column: Column,
  usageOf: (pod: PodObject) => Usage | undefined,
): (pod: PodObject) => string | number {
  switch (column) {
    case 'name':
      return ({ metadata: { namespace, name } }) => `${namespace}/${name}`;
    case 'state':
      return (pod) => TONES.indexOf(judgePod(pod).tone);
    case 'ready':
      return readyOf;
    case 'restarts':
      return restartsOf;
    case 'cpu':
      return (pod) => usageOf(pod)?.cpu?.usageNanoCores ?? -1;
    case 'memory':
      return (pod) => usageOf(pod)?.memory?.workingSetBytes ?? -1;
    case 'age':
      return ({ metadata: { creationTimestamp = '' } }) => -Date.parse(creationTimestamp);
    case 'ip':
      return ({ status }) => status?.podIP ?? '';
  }
}

function wordsOf(pod: PodObject): string[] {
  const { name, namespace } = pod.metadata;
  return [name, namespace, judgePod(pod).word, ...statusesOf(pod).map(({ image = '' }) => image)];
}
