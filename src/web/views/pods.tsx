import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { judgePod, type PodObject, restartsOf, statusesOf } from '../data/shown-pod.js';
import { usePolled } from '../data/polled.js';
import { type PodsFeed } from '../data/pods-feed.js';
import { type Session } from '../data/session.js';
import { useNow, useStore } from '../data/store.js';
import { podPath } from '../route.js';
import { formatAge } from '../time-text.js';
import { Action } from './actions.js';

interface PodsViewProps {
  readonly session: Session;
  readonly pods: PodsFeed;
}

type Column = 'name' | 'state' | 'ready' | 'restarts' | 'age' | 'ip';

const COLUMNS: readonly (readonly [Column, string])[] = [
  ['name', 'Pod'],
  ['state', 'State'],
  ['ready', 'Ready'],
  ['restarts', 'Restarts'],
  ['age', 'Age'],
  ['ip', 'IP'],
];
const STOPPED_MS = 5_000;
const TONES = ['bad', 'warn', 'info', 'ok', 'quiet'];

/** All pods as a table. */
export function PodsView({ session, pods }: PodsViewProps): JSX.Element {
  useStore(pods);
  const now = useNow(5_000);
  const [text, setText] = useState('');
  const [sort, setSort] = useState<{ column: Column; isDown: boolean }>({ column: 'name', isDown: false });
  const wanted = text.trim().toLowerCase();
  const all = pods.list();
  const shown = all.filter((pod) => wordsOf(pod).some((word) => word.toLowerCase().includes(wanted)));
  const rank = rankBy(sort.column);
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
            placeholder="Filter by name, namespace, state, image"
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
                {COLUMNS.map(([column, label]) => (
                  <th
                    key={column}
                    scope="col"
                    aria-sort={
                      sort.column === column ? (sort.isDown ? 'descending' : 'ascending') : undefined
                    }
                  >
                    <button
                      type="button"
                      onClick={() => setSort({ column, isDown: sort.column === column && !sort.isDown })}
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
              {shown.map((pod) => (
                <PodRow key={pod.metadata.uid} pod={pod} now={now} />
              ))}
            </tbody>
          </table>
          {shown.length === 0 && <p class="empty">No pod matches “{text}”.</p>}
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

function PodRow({ pod, now }: { pod: PodObject; now: number }): JSX.Element {
  const { name, namespace, creationTimestamp } = pod.metadata;
  const { word, tone, why } = judgePod(pod);
  const restarts = restartsOf(pod);
  return (
    <tr>
      <th scope="row">
        <a href={podPath(namespace, name)}>{name}</a>
        <span class="muted sub">{namespace}</span>
      </th>
      <td>
        <span class={`pill ${tone}`}>
          <i class={`dot ${tone}`} aria-hidden="true" />
          {word}
        </span>
        {why !== undefined && <span class="why">{why}</span>}
      </td>
      <td class="number">{readyOf(pod)}</td>
      <td class={restarts > 0 ? 'number warn' : 'number'}>{restarts}</td>
      <td class="number">{formatAge(creationTimestamp, now)}</td>
      <td class="mono">{pod.status?.podIP ?? '–'}</td>
    </tr>
  );
}

function readyOf({ status, spec }: PodObject): string {
  const containers = status?.containerStatuses ?? [];
  const count = Math.max(containers.length, spec?.containers?.length ?? 0);
  return `${containers.filter(({ ready }) => ready === true).length}/${count}`;
}

function rankBy(column: Column): (pod: PodObject) => string | number {
  switch (column) {
    case 'name':
      return ({ metadata: { namespace, name } }) => `${namespace}/${name}`;
    case 'state':
      return (pod) => TONES.indexOf(judgePod(pod).tone);
    case 'ready':
      return readyOf;
    case 'restarts':
      return restartsOf;
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
