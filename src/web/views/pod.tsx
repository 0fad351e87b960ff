import { type ComponentChildren, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type HistoryFeed } from '../data/history-feed.js';
import {
  type ContainerStatus,
  describeEnd,
  judgePod,
  type PodObject,
  restartsOf,
  statusesOf,
} from '../data/shown-pod.js';
import { type PodsFeed } from '../data/pods-feed.js';
import { type Session } from '../data/session.js';
import { useNow, useStore } from '../data/store.js';
import { podPath } from '../route.js';
import { formatAge, formatMoment } from '../time-text.js';
import { Timeline } from '../timeline/timeline-view.js';
import { Action } from './actions.js';
import { LogView } from './log-view.js';
import { PodUsage } from './usage-charts.js';

interface PodViewProps {
  readonly session: Session;
  readonly pods: PodsFeed;
  readonly history: HistoryFeed;
  readonly namespace: string;
  readonly name: string;
  readonly tab: string;
  readonly query: URLSearchParams;
}

const TABS = [
  ['overview', 'Overview'],
  ['logs', 'Logs'],
  ['events', 'Events'],
  ['manifest', 'Manifest'],
] as const;

/** One pod in depth. */
export function PodView(props: PodViewProps): JSX.Element {
  const { session, pods, history, namespace, name, tab, query } = props;
  useStore(pods);
  const now = useNow(1_000);
  const pod = pods.find(namespace, name);
  const uid =
    pod?.metadata.uid ??
    [...history.tracks.byKey.values()].find((track) => track.namespace === namespace && track.name === name)
      ?.key;
  const verdict = pod === undefined ? undefined : judgePod(pod);
  return (
    <section class="view pod">
      <p class="crumbs">
        <a href="#/pods">Pods</a> / {namespace}
      </p>
      <header class="pod-head">
        <h1>{name}</h1>
        {verdict !== undefined && (
          <span class={`pill ${verdict.tone}`}>
            <i class={`dot ${verdict.tone}`} aria-hidden="true" />
            {verdict.word}
          </span>
        )}
        {pod === undefined && pods.state !== 'loading' && <span class="pill quiet">Gone</span>}
        <span class="spacer" />
        {pod !== undefined && <Action {...{ session, namespace, name }} verb="restart" />}
        {pod !== undefined && <Action {...{ session, namespace, name }} verb="stop" />}
      </header>
      {verdict?.why !== undefined && <p class={`verdict ${verdict.tone}`}>{verdict.why}</p>}
      <nav class="tabs" aria-label="Of this pod">
        {TABS.map(([key, label]) => (
          <a key={key} href={podPath(namespace, name, key)} aria-current={tab === key ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {pod === undefined && pods.state === 'loading' && <p class="empty">Reading the pod…</p>}
      {pod === undefined && pods.state !== 'loading' && tab !== 'events' && tab !== 'overview' && (
        <p class="empty">
          This pod is not on the node any more. What it did is in the timeline and its events.
        </p>
      )}
      {tab === 'overview' && (
        <>
          {uid !== undefined && <Timeline history={history} pods={pods} uid={uid} />}
          {pod !== undefined && <PodUsage {...{ session, namespace, name }} />}
          {pod !== undefined && <Overview pod={pod} now={now} />}
        </>
      )}
      {tab === 'logs' && pod !== undefined && <LogView session={session} pod={pod} query={query} />}
      {tab === 'events' && <Events history={history} uid={uid} now={now} />}
      {tab === 'manifest' && pod !== undefined && (
        <Manifest session={session} namespace={namespace} name={name} />
      )}
    </section>
  );
}

function Overview({ pod, now }: { pod: PodObject; now: number }): JSX.Element {
  const { metadata, spec = {}, status = {} } = pod;
  const conditions = status.conditions ?? [];
  return (
    <div class="cards">
      {statusesOf(pod).map((container) => (
        <ContainerCard key={container.name} container={container} pod={pod} now={now} />
      ))}
      <Card title="Pod">
        <Fact name="Age">{formatAge(metadata.creationTimestamp, now)}</Fact>
        <Fact name="IP">{status.podIP ?? '–'}</Fact>
        <Fact name="QoS class">{status.qosClass ?? '–'}</Fact>
        <Fact name="Restart policy">{spec.restartPolicy ?? 'Always'}</Fact>
        <Fact name="Restarts">{restartsOf(pod)}</Fact>
        <Fact name="uid">{metadata.uid}</Fact>
        {Object.entries(metadata.labels ?? {}).map(([key, value]) => (
          <Fact key={key} name={key}>
            {value}
          </Fact>
        ))}
      </Card>
      <Card title="Conditions">
        {conditions.map(({ type, status: is, reason, message }) => (
          <Fact key={type} name={type}>
            <i class={`dot ${is === 'True' ? 'ok' : 'warn'}`} aria-hidden="true" /> {is}
            {(message ?? reason) !== undefined && <span class="muted"> {message ?? reason}</span>}
          </Fact>
        ))}
      </Card>
      {(spec.volumes?.length ?? 0) > 0 && (
        <Card title="Volumes">
          {spec.volumes!.map((volume) => (
            <Fact key={volume.name} name={volume.name}>
              {Object.keys(volume).find((key) => key !== 'name') ?? '–'}
            </Fact>
          ))}
        </Card>
      )}
    </div>
  );
}

function ContainerCard({
  container,
  pod,
  now,
}: {
  container: ContainerStatus;
  pod: PodObject;
  now: number;
}): JSX.Element {
  const { name, image, state = {}, lastState, restartCount = 0, ready } = container;
  const { metadata, spec = {} } = pod;
  const written = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].find(
    (each) => each.name === name,
  );
  const [word, tone] =
    state.running !== undefined
      ? [ready === true ? 'Running' : 'Running, not ready', ready === true ? 'ok' : 'warn']
      : state.terminated !== undefined
        ? [
            `Ended with ${state.terminated.exitCode ?? '?'}`,
            state.terminated.exitCode === 0 ? 'quiet' : 'bad',
          ]
        : [
            state.waiting?.reason ?? 'Waiting',
            (state.waiting?.reason ?? '').includes('Creating') ||
            (state.waiting?.reason ?? '').includes('Initializing')
              ? 'info'
              : 'bad',
          ];
  const probes = (['startupProbe', 'readinessProbe', 'livenessProbe'] as const).filter(
    (each) => written?.[each] !== undefined,
  );
  const before = describeEnd({ name, ...(lastState && { state: lastState }) });
  const { requests = {}, limits = {} } = written?.resources ?? {};
  const amounts = Object.keys({ ...requests, ...limits }).map(
    (each) => `${each} ${requests[each] ?? '–'} / ${limits[each] ?? 'no limit'}`,
  );
  return (
    <Card title={name} tone={tone}>
      <Fact name="State">
        <i class={`dot ${tone}`} aria-hidden="true" /> {word}
        {state.running !== undefined && (
          <span class="muted"> for {formatAge(state.running.startedAt, now)}</span>
        )}
        {state.waiting?.message !== undefined && <span class="muted"> {state.waiting.message}</span>}
      </Fact>
      <Fact name="Image">
        <span class="mono">{image ?? written?.image ?? '–'}</span>
      </Fact>
      <Fact name="Restarts">{restartCount}</Fact>
      {before !== undefined && <Fact name="Before">{before.replace(`${name} `, '')}</Fact>}
      <Fact name="Probes">
        {probes.length === 0 ? 'none' : probes.map((each) => each.replace('Probe', '')).join(', ')}
      </Fact>
      {amounts.length > 0 && <Fact name="Request / limit">{amounts.join(' · ')}</Fact>}
      <p class="links">
        <a href={podPath(metadata.namespace, metadata.name, 'logs', { container: name })}>Logs</a>
        {lastState?.terminated !== undefined && (
          <a href={podPath(metadata.namespace, metadata.name, 'logs', { container: name, previous: 'true' })}>
            Log of the one before
          </a>
        )}
      </p>
    </Card>
  );
}

/** A box with facts. */
export function Card({
  title,
  tone,
  children,
}: {
  title: string;
  tone?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={`card ${tone ?? ''}`} aria-label={title}>
      <h2>{title}</h2>
      <div class="card-body">{children}</div>
    </section>
  );
}

/** A name and what it is. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="fact">
      <span class="fact-name">{name}</span>
      <span class="fact-value">{children}</span>
    </div>
  );
}

const MAX_EVENTS = 500;

function Events({
  history,
  uid,
  now,
}: {
  history: HistoryFeed;
  uid: string | undefined;
  now: number;
}): JSX.Element {
  useStore(history);
  const entries = history.tracks.entries.filter(({ pod }) => pod?.uid === uid).reverse();
  return (
    <>
      <p class="tools">
        <span class="muted">
          Since {formatMoment(history.fromMs, now)}: {entries.length}
        </span>
        <button
          type="button"
          disabled={history.isLoadingOlder || history.isFull}
          onClick={() => void history.loadSince(history.fromMs - 6 * 3_600_000)}
        >
          {history.isLoadingOlder ? 'Reading…' : 'Read 6 hours more'}
        </button>
      </p>
      {entries.length === 0 && <p class="empty">Nothing is recorded of this pod in that time.</p>}
      <ol class="event-list">
        {entries
          .slice(0, MAX_EVENTS)
          .map(({ id, atMs, type, kind, reason, message, container, count = 1 }) => (
            <li key={id} class={type === 'Warning' ? 'warn' : ''}>
              <time>{formatMoment(atMs, now)}</time>
              <span class="kind">{kind}</span>
              <b>
                {reason}
                {count > 1 && ` ×${count}`}
              </b>
              <span class="muted">{container ?? ''}</span>
              <span class="words">{message}</span>
            </li>
          ))}
      </ol>
    </>
  );
}

function Manifest({
  session,
  namespace,
  name,
}: {
  session: Session;
  namespace: string;
  name: string;
}): JSX.Element {
  const [text, setText] = useState<string | undefined>();
  useEffect(() => {
    session
      .text(`/agent/api/v1/namespaces/${namespace}/pods/${name}?format=yaml`)
      .then(setText, (error: unknown) => setText(`# ${(error as Error).message}`));
  }, [session, namespace, name]);
  return (
    <>
      <p class="muted">As the agent has it, with defaults and its status. Nothing of a Secret is shown.</p>
      <pre class="manifest" tabIndex={0} aria-label="Manifest">
        {text ?? 'Reading…'}
      </pre>
    </>
  );
}
