import { type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { showInvisible } from '#base/text/show-invisible.js';
import { type HistoryFeed } from '../data/history-feed.js';
import {
  type ContainerStatus,
  describeEnd,
  describeProbe,
  describeVolume,
  judgeContainer,
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
import { type Mark, type Track } from '../timeline/tracks.js';
import { Action } from './actions.js';
import { Card, Fact } from './card.js';
import { LogView } from './log-view.js';
import { TerminalView } from './terminal-view.js';
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
  ['terminal', 'Terminal'],
] as const;

/** One pod in depth. */
export function PodView(props: PodViewProps): JSX.Element {
  const { session, pods, history, namespace, name, tab, query } = props;
  useStore(pods);
  const now = useNow(1_000);
  const pod = pods.find(namespace, name);
  const uid =
    pod?.metadata.uid ??
    [...history.tracks.byKey.values()].find(
      (track) => track.workload === undefined && track.namespace === namespace && track.name === name,
    )?.key;
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
        {TABS.filter(([key]) => key !== 'terminal' || session.canWrite).map(([key, label]) => (
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
          {pod !== undefined && <Overview pod={pod} now={now} track={history.tracks.byKey.get(uid ?? '')} />}
        </>
      )}
      {tab === 'logs' && pod !== undefined && <LogView session={session} pod={pod} query={query} />}
      {tab === 'events' && <Events history={history} uid={uid} now={now} />}
      {tab === 'manifest' && pod !== undefined && (
        <Manifest session={session} namespace={namespace} name={name} />
      )}
      {tab === 'terminal' && !session.canWrite && (
        <p class="empty">
          This page only reads. Start it with <code>podloop web --write</code> to open terminals.
        </p>
      )}
      {tab === 'terminal' && session.canWrite && pod !== undefined && (
        <TerminalView key={pod.metadata.uid} session={session} pod={pod} />
      )}
    </section>
  );
}

interface OverviewProps {
  readonly pod: PodObject;
  readonly now: number;
  readonly track: Track | undefined;
}

function Overview({ pod, now, track }: OverviewProps): JSX.Element {
  const { metadata, spec = {}, status = {} } = pod;
  const conditions = status.conditions ?? [];
  return (
    <div class="cards">
      {statusesOf(pod).map((container) => (
        <ContainerCard
          key={container.name}
          {...{ container, pod, now }}
          results={track?.containers.get(container.name)?.marks ?? []}
        />
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
            <VolumeFact key={volume.name} volume={volume} spec={spec} />
          ))}
        </Card>
      )}
    </div>
  );
}

type Spec = NonNullable<PodObject['spec']>;

function VolumeFact({
  volume,
  spec,
}: {
  volume: NonNullable<Spec['volumes']>[number];
  spec: Spec;
}): JSX.Element {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const { source, mounts } = describeVolume(volume, containers);
  return (
    <Fact name={volume.name}>
      {source}
      {mounts.map((mount) => (
        <span key={mount} class="muted sub line-of-its-own">
          {mount}
        </span>
      ))}
    </Fact>
  );
}

interface ContainerCardProps {
  readonly container: ContainerStatus;
  readonly pod: PodObject;
  readonly now: number;
  /** Among them those of its probes. */
  readonly results: readonly Mark[];
}

function ContainerCard({ container, pod, now, results }: ContainerCardProps): JSX.Element {
  const { name, image, state = {}, lastState, restartCount = 0 } = container;
  const { metadata, spec = {} } = pod;
  const written = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].find(
    (each) => each.name === name,
  );
  const { word, tone } = judgeContainer(container);
  const probes = (['startupProbe', 'readinessProbe', 'livenessProbe'] as const).filter(
    (each) => written?.[each] !== undefined,
  );
  const began = Date.parse(state.running?.startedAt ?? '');
  const beganMs = Number.isNaN(began) ? -Infinity : began;
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
      {probes.length === 0 && <Fact name="Probes">none</Fact>}
      {probes.map((each) => (
        <Fact key={each} name={`${each[0]!.toUpperCase()}${each.slice(1).replace('Probe', ' probe')}`}>
          {describeProbe(written![each]!)}
          <ProbeVerdict results={results} kind={each} sinceMs={beganMs} now={now} />
        </Fact>
      ))}
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

/** How a probe of the container that runs went the last time that its result changed. */
function ProbeVerdict({
  results,
  kind,
  sinceMs,
  now,
}: {
  results: readonly Mark[];
  kind: string;
  /** When the container began: what came before was of the one before. */
  sinceMs: number;
  now: number;
}): JSX.Element | null {
  const last = results.findLast(
    ({ entry, atMs }) =>
      entry.kind === 'probe' &&
      atMs >= sinceMs &&
      entry.reason.toLowerCase().startsWith(kind.replace('Probe', '')),
  );
  if (last === undefined) return null;
  const { tone, atMs, entry } = last;
  return (
    <span class="sub line-of-its-own">
      <i class={`dot ${tone}`} aria-hidden="true" /> {tone === 'bad' ? 'Fails' : 'Succeeds'} since{' '}
      {formatMoment(atMs, now)}
      {tone === 'bad' && <span class="muted"> {entry.message}</span>}
    </span>
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
  // A record may be later than what it is about, as of an event that repeats.
  const entries = history.tracks.entries
    .filter(({ pod }) => pod?.uid === uid)
    .sort((one, other) => other.atMs - one.atMs);
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
    session.text(`/agent/api/v1/namespaces/${namespace}/pods/${name}?format=yaml`).then(
      (yaml) => setText(showInvisible(yaml)),
      (error: unknown) => setText(`# ${(error as Error).message}`),
    );
  }, [session, namespace, name]);
  return (
    <>
      <p class="muted">
        As the agent has it, with its status. <span class="default"># default</span> marks values that are
        Kubernetes&apos; defaults, written or not. Nothing of a Secret is shown.
      </p>
      <pre class="manifest" tabIndex={0} aria-label="Manifest">
        {text === undefined
          ? 'Reading…'
          : text.split('\n').map((line, at) => (
              <span key={at} class={line.endsWith(' # default') ? 'default' : ''}>
                {line}
                {'\n'}
              </span>
            ))}
      </pre>
    </>
  );
}
