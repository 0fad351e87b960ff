import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type AgentFacts } from '../data/agent-facts.js';
import { usePolled } from '../data/polled.js';
import { type PodsFeed } from '../data/pods-feed.js';
import { type Session } from '../data/session.js';
import { useNow, useStore } from '../data/store.js';
import {
  type Disk,
  formatCpu,
  type Summary,
  SUMMARY,
  type Usage,
  USAGE_MS,
  useUsagePoints,
} from '../data/usage.js';
import { podPath } from '../route.js';
import { formatAge, formatBytes } from '../time-text.js';
import { Card, Fact } from './card.js';
import { UsageCharts } from './usage-charts.js';

interface NodeList {
  readonly items?: readonly {
    readonly metadata: { readonly name: string; readonly creationTimestamp?: string };
    readonly status?: {
      readonly capacity?: Readonly<Record<string, string>>;
      readonly allocatable?: Readonly<Record<string, string>>;
      readonly conditions?: readonly Condition[];
      readonly addresses?: readonly { readonly type: string; readonly address: string }[];
      readonly nodeInfo?: Readonly<Record<string, string>>;
    };
  }[];
}

interface NodeViewProps {
  readonly session: Session;
  readonly facts: AgentFacts;
  readonly pods: PodsFeed;
}

const NODE_MS = 10_000;
const SHOWN_PODS = 20;
const IMAGES_MS = 30_000;
const SHOWN_IMAGES = 50;

/** The node: what it has, what is used, and by whom. */
export function NodeView({ session, facts, pods }: NodeViewProps): JSX.Element {
  useStore(pods);
  const now = useNow(5_000);
  const usage = usePolled<Summary>(session, SUMMARY, USAGE_MS);
  const nodes = usePolled<NodeList>(session, '/agent/api/v1/nodes', NODE_MS);
  const points = useUsagePoints(usage.value?.node);
  const [node] = nodes.value?.items ?? [];
  const {
    capacity = {},
    allocatable = {},
    conditions = [],
    addresses = [],
    nodeInfo = {},
  } = node?.status ?? {};
  const { fs, runtime, rlimit } = usage.value?.node ?? {};
  return (
    <section class="view">
      <div class="tools">
        <h1>{node?.metadata.name ?? facts.nodeName ?? 'Node'}</h1>
        {conditions
          .filter((each) => each.type === 'Ready' || !isGood(each))
          .map((each) => (
            <span key={each.type} class={`pill ${isGood(each) ? 'ok' : 'bad'}`} title={each.message}>
              {isGood(each) ? each.type : describeTrouble(each)}
            </span>
          ))}
      </div>
      {usage.isAbsent ? (
        <p class="empty">
          What is used is measured by an agent that runs pods. This is an observer, which only watches; see
          the Generator and the timeline.
        </p>
      ) : (
        <UsageCharts points={points} />
      )}
      {usage.error !== undefined && !usage.isAbsent && (
        <p class="notice warn">What is used cannot be read: {usage.error}</p>
      )}
      <div class="cards">
        {node !== undefined && (
          <Card title="What it has">
            {Object.keys(capacity).map((name) => (
              <Fact key={name} name={name}>
                {toAmount(capacity[name])} <span class="muted">for pods {toAmount(allocatable[name])}</span>
              </Fact>
            ))}
          </Card>
        )}
        {usage.value !== undefined && (
          <Card title="Disks">
            <DiskBar name="Root folder" disk={fs} />
            <DiskBar name="Images" disk={runtime?.imageFs} />
            <DiskBar name="Containers" disk={runtime?.containerFs} />
            {rlimit?.curproc !== undefined && (
              <Fact name="Processes">
                {rlimit.curproc} <span class="muted">of {rlimit.maxpid ?? '–'}</span>
              </Fact>
            )}
          </Card>
        )}
        <Card title={facts.isObserver ? 'Observer' : 'Agent'}>
          <Fact name="podloop">{facts.version ?? '–'}</Fact>
          {facts.startedAt !== undefined && <Fact name="Started">{formatAge(facts.startedAt, now)} ago</Fact>}
          <Fact name="Runtime">
            {nodeInfo['containerRuntimeVersion'] ??
              (facts.runtime === undefined
                ? '–'
                : `${facts.runtime.name ?? ''} ${facts.runtime.version ?? ''}`)}
          </Fact>
          {nodeInfo['kernelVersion'] !== undefined && <Fact name="Kernel">{nodeInfo['kernelVersion']}</Fact>}
          {addresses.length > 0 && (
            <Fact name="Addresses">{addresses.map(({ address }) => address).join(', ')}</Fact>
          )}
          {(facts.manifests ?? []).map((place) => (
            <Fact key={place} name="Manifests">
              <span class="mono">{place}</span>
            </Fact>
          ))}
          {facts.rootDir !== undefined && (
            <Fact name="Root folder">
              <span class="mono">{facts.rootDir}</span>
            </Fact>
          )}
        </Card>
      </div>
      <Images session={session} />
      <LargestPods summary={usage.value} />
    </section>
  );
}

const ORDERS = [
  ['cpu', 'CPU', ({ cpu }: Usage) => cpu?.usageNanoCores ?? 0],
  ['memory', 'Memory', ({ memory }: Usage) => memory?.workingSetBytes ?? 0],
] as const;

/** Who uses most. */
function LargestPods({ summary }: { summary: Summary | undefined }): JSX.Element | null {
  const [order, setOrder] = useState<'cpu' | 'memory'>('cpu');
  const amountOf = ORDERS.find(([key]) => key === order)![2];
  const pods = [...(summary?.pods ?? [])].sort((one, other) => amountOf(other) - amountOf(one));
  if (pods.length === 0) return null;
  return (
    <div class="table-box">
      <table>
        <caption>Who uses most</caption>
        <thead>
          <tr>
            <th scope="col">Pod</th>
            {ORDERS.map(([key, label]) => (
              <th key={key} scope="col" class="number" aria-sort={order === key ? 'descending' : undefined}>
                <button type="button" onClick={() => setOrder(key)}>
                  {label}
                  <span aria-hidden="true">{order === key ? ' ↓' : ''}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {pods.slice(0, SHOWN_PODS).map((pod) => {
            const { name, namespace } = pod.podRef;
            return (
              <tr key={`${namespace}/${name}`}>
                <th scope="row">
                  <a href={podPath(namespace, name)}>{name}</a> <span class="muted sub">{namespace}</span>
                </th>
                <td class="number">{formatCpu(pod)}</td>
                <td class="number">{formatBytes(pod.memory?.workingSetBytes)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

/** Of pressure it is good that there is none. */
function isGood({ type, status }: Condition): boolean {
  return /Pressure$|Unavailable$/.test(type) ? status === 'False' : status === 'True';
}

function describeTrouble({ type, status, message }: Condition): string {
  const what = status === 'False' ? `Not ${type.toLowerCase()}` : type;
  return message === undefined || message === '' ? what : `${what}: ${message}`;
}

interface ImageList {
  readonly images?: readonly {
    readonly id: string;
    readonly repoTags?: readonly string[];
    readonly repoDigests?: readonly string[];
    /** In bytes. */
    readonly size?: string;
  }[];
}

/** The images of the runtime, the largest first. */
function Images({ session }: { session: Session }): JSX.Element {
  const { value, error } = usePolled<ImageList>(session, '/images', IMAGES_MS);
  const images = [...(value?.images ?? [])].sort((one, other) => sizeOf(other) - sizeOf(one));
  const bytes = images.reduce((sum, each) => sum + sizeOf(each), 0);
  if (error !== undefined) return <p class="notice warn">The images cannot be listed: {error}</p>;
  return (
    <div class="table-box">
      <table>
        <caption>
          Images{' '}
          <span class="muted sub">
            {value === undefined ? 'Reading…' : `${images.length}, ${formatBytes(bytes)}`}
          </span>
        </caption>
        <tbody>
          {images.slice(0, SHOWN_IMAGES).map((image) => (
            <tr key={image.id}>
              <th scope="row" class="mono">
                {nameOf(image)}
              </th>
              <td class="number">{formatBytes(sizeOf(image))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {images.length > SHOWN_IMAGES && (
        <p class="empty">{images.length - SHOWN_IMAGES} smaller ones are not shown: podloop images</p>
      )}
    </div>
  );
}

type Image = NonNullable<ImageList['images']>[number];

function sizeOf({ size }: Image): number {
  return Number(size ?? 0);
}

function nameOf({ id, repoTags = [], repoDigests = [] }: Image): string {
  return repoTags.length > 0 ? repoTags.join(', ') : (repoDigests[0] ?? id);
}

function DiskBar({ name, disk }: { name: string; disk: Disk | undefined }): JSX.Element | null {
  const { capacityBytes: all, availableBytes: free } = disk ?? {};
  if (all === undefined || free === undefined) return null;
  const part = 1 - free / all;
  const tone = part > 0.9 ? 'bad' : part > 0.8 ? 'warn' : 'ok';
  return (
    <Fact name={name}>
      <meter
        class={tone}
        min={0}
        max={1}
        value={part}
        aria-label={`${name}: ${Math.round(part * 100)} percent used, ${formatBytes(free)} free`}
        title={`${formatBytes(free)} free`}
      />
      {Math.round(part * 100)}% <span class="muted">of {formatBytes(all)}</span>
    </Fact>
  );
}

/** `16302876Ki` as people read it. */
function toAmount(text: string | undefined): string {
  const [, number, unit] = /^(\d+)(Ki|Mi|Gi)?$/.exec(text ?? '') ?? [];
  const factor = { Ki: 1_024, Mi: 1_048_576, Gi: 1_073_741_824 }[unit ?? ''];
  return number === undefined || factor === undefined ? (text ?? '–') : formatBytes(Number(number) * factor);
}
