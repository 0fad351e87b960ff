import { type JSX } from 'preact';
import { type AgentFacts } from '../data/agent-facts.js';
import { type Polled, usePolled } from '../data/polled.js';
import { type PodsFeed } from '../data/pods-feed.js';
import { type Session } from '../data/session.js';
import { useNow, useStore } from '../data/store.js';
import { type Disk, type Summary, SUMMARY, USAGE_MS, useUsagePoints } from '../data/usage.js';
import { podPath } from '../route.js';
import { formatAge, formatBytes } from '../time-text.js';
import { Card, Fact } from './pod.js';
import { UsageCharts } from './usage-charts.js';

interface NodeList {
  readonly items?: readonly {
    readonly metadata: { readonly name: string; readonly creationTimestamp?: string };
    readonly status?: {
      readonly capacity?: Readonly<Record<string, string>>;
      readonly allocatable?: Readonly<Record<string, string>>;
      readonly conditions?: readonly {
        readonly type: string;
        readonly status: string;
        readonly message?: string;
      }[];
      readonly addresses?: readonly { readonly type: string; readonly address: string }[];
      readonly nodeInfo?: Readonly<Record<string, string>>;
    };
  }[];
}

interface NodeViewProps {
  readonly session: Session;
  readonly facts: Polled<AgentFacts>;
  readonly pods: PodsFeed;
}

const NODE_MS = 10_000;
const SHOWN_PODS = 20;

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
  const used = [...(usage.value?.pods ?? [])].sort(
    (one, other) => (other.cpu?.usageNanoCores ?? 0) - (one.cpu?.usageNanoCores ?? 0),
  );
  return (
    <section class="view">
      <div class="tools">
        <h1>{node?.metadata.name ?? facts.value?.nodeName ?? 'Node'}</h1>
        {conditions.map(({ type, status, message }) => (
          <span key={type} class={`pill ${status === 'True' ? 'ok' : 'bad'}`} title={message}>
            {status === 'True' ? type : `Not ${type.toLowerCase()}: ${message ?? ''}`}
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
        <Card title="Agent">
          <Fact name="podloop">{facts.value?.version ?? '–'}</Fact>
          <Fact name="Started">{formatAge(facts.value?.startedAt, now)} ago</Fact>
          <Fact name="Runtime">
            {nodeInfo['containerRuntimeVersion'] ?? facts.value?.runtime?.name ?? '–'}
          </Fact>
          <Fact name="Kernel">{nodeInfo['kernelVersion'] ?? '–'}</Fact>
          <Fact name="Addresses">{addresses.map(({ address }) => address).join(', ') || '–'}</Fact>
          {(facts.value?.manifests ?? []).map((place) => (
            <Fact key={place} name="Manifests">
              <span class="mono">{place}</span>
            </Fact>
          ))}
          {facts.value?.rootDir !== undefined && (
            <Fact name="Root folder">
              <span class="mono">{facts.value.rootDir}</span>
            </Fact>
          )}
        </Card>
      </div>
      {used.length > 0 && (
        <div class="table-box">
          <table>
            <caption>Pods by CPU</caption>
            <thead>
              <tr>
                <th scope="col">Pod</th>
                <th scope="col" class="number">
                  CPU
                </th>
                <th scope="col" class="number">
                  Memory
                </th>
              </tr>
            </thead>
            <tbody>
              {used.slice(0, SHOWN_PODS).map(({ podRef: { name, namespace }, cpu, memory }) => (
                <tr key={`${namespace}/${name}`}>
                  <th scope="row">
                    <a href={podPath(namespace, name)}>{name}</a> <span class="muted sub">{namespace}</span>
                  </th>
                  <td class="number">{Math.round((cpu?.usageNanoCores ?? 0) / 1e6)}m</td>
                  <td class="number">{formatBytes(memory?.workingSetBytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
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
