import { HOST_IMAGE } from './cluster-agent.js';

/** An object of a manifest, and what has become of it once nothing changes any more. */
export interface WorkloadCase {
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: { readonly name: string };
    readonly spec: object;
  };
  /** As {@link summarize} says it. */
  readonly end: string;
}

const STAY = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1; done'];
const NEVER_READY = { exec: { command: ['false'] }, periodSeconds: 1 };
const SOON_READY = { exec: { command: ['true'] }, periodSeconds: 1 };

const container = (command: readonly string[] = STAY, more: object = {}) => ({
  ...{ name: 'main', image: HOST_IMAGE, command, ...more },
});
const podSpec = (main: object = container(), more: object = {}) => ({
  ...{ terminationGracePeriodSeconds: 1, containers: [main], ...more },
});
const template = (name: string, spec: object) => ({ metadata: { labels: { app: name } }, spec });

function app(
  kind: string,
  name: string,
  more: object = {},
  spec: object = podSpec(),
): WorkloadCase['object'] {
  const isOld = kind === 'ReplicationController';
  const selector = isOld ? { app: name } : { matchLabels: { app: name } };
  const service = kind === 'StatefulSet' ? { serviceName: name } : {};
  return {
    ...{ apiVersion: isOld ? 'v1' : 'apps/v1', kind, metadata: { name } },
    spec: { selector, template: template(name, spec), ...service, ...more },
  };
}

/** A script that runs once, in a Job. */
function job(name: string, script: string, more: object = {}, pod: object = {}): WorkloadCase['object'] {
  const spec = podSpec(container(['sh', '-c', script]), { restartPolicy: 'Never', ...pod });
  return {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name } },
    spec: { template: template(name, spec), ...more },
  };
}

function cronJob(name: string, schedule: string, more: object = {}): WorkloadCase['object'] {
  const spec = podSpec(container(['true']), { restartPolicy: 'Never' });
  return {
    ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name } },
    spec: { schedule, jobTemplate: { spec: { template: template(name, spec) } }, ...more },
  };
}

function pod(name: string, main: object, more: object = {}): WorkloadCase['object'] {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: podSpec(main, more) };
}

const sidecar = { ...container(), name: 'sidecar', restartPolicy: 'Always' };
const once = (script: string) => ({ ...container(['sh', '-c', script]), name: 'init' });
const failsOnce = '[ -e /kept/tried ] || { touch /kept/tried; exit 3; }';
const kept = { volumes: [{ name: 'kept', emptyDir: {} }] };
const onExit = (action: string, code: number) => ({
  rules: [{ action, onExitCodes: { operator: 'In', values: [code] } }],
});

/** What people write, of every kind, with the ends that a control plane gives it. */
export const MANY_WORKLOADS: readonly WorkloadCase[] = [
  { object: app('Deployment', 'plain', { replicas: 2 }), end: '2 of 2 ready: Running, Running' },
  {
    object: app('Deployment', 'probed', {}, podSpec(container(STAY, { readinessProbe: SOON_READY }))),
    end: '1 of 1 ready: Running',
  },
  {
    object: app('Deployment', 'not-ready', {}, podSpec(container(STAY, { readinessProbe: NEVER_READY }))),
    end: '0 of 1 ready: Running',
  },
  { object: app('Deployment', 'none', { replicas: 0 }), end: '0 of 0 ready' },
  { object: app('Deployment', 'paused', { paused: true }), end: '0 of 0 ready' },
  {
    object: app('Deployment', 'recreate', { strategy: { type: 'Recreate' } }),
    end: '1 of 1 ready: Running',
  },
  {
    object: app(
      'Deployment',
      'helped',
      {},
      podSpec(container(), { initContainers: [once('true'), sidecar] }),
    ),
    end: '1 of 1 ready: Running',
  },
  {
    object: app('Deployment', 'slow-to-count', { minReadySeconds: 2 }),
    end: '1 of 1 ready: Running',
  },
  { object: app('ReplicaSet', 'set', { replicas: 2 }), end: '2 of 2 ready: Running, Running' },
  { object: app('ReplicaSet', 'small-set', { minReadySeconds: 1 }), end: '1 of 1 ready: Running' },
  { object: app('ReplicationController', 'old', { replicas: 2 }), end: '2 of 2 ready: Running, Running' },
  {
    object: app('StatefulSet', 'ordered', { replicas: 3 }),
    end: '3 of 3 ready: ordered-0 Running, ordered-1 Running, ordered-2 Running',
  },
  {
    object: app('StatefulSet', 'parallel', { replicas: 2, podManagementPolicy: 'Parallel' }),
    end: '2 of 2 ready: parallel-0 Running, parallel-1 Running',
  },
  {
    object: app('StatefulSet', 'later', { replicas: 2, ordinals: { start: 5 } }),
    end: '2 of 2 ready: later-5 Running, later-6 Running',
  },
  {
    object: app(
      'StatefulSet',
      'stuck',
      { replicas: 2 },
      podSpec(container(STAY, { readinessProbe: NEVER_READY })),
    ),
    end: '0 of 1 ready: stuck-0 Running',
  },
  { object: app('DaemonSet', 'each'), end: '1 of 1 ready: Running' },
  {
    object: app('DaemonSet', 'waiting', {}, podSpec(container(), { initContainers: [once('sleep 100000')] })),
    end: '0 of 1 ready: Pending',
  },
  { object: job('sum', 'exit 0'), end: 'Complete, 1 succeeded: Succeeded' },
  {
    object: job('sums', 'sleep 1', { completions: 4, parallelism: 2 }),
    end: 'Complete, 4 succeeded: Succeeded, Succeeded, Succeeded, Succeeded',
  },
  {
    object: job('indexed', 'exit 0', { completions: 3, parallelism: 3, completionMode: 'Indexed' }),
    end: 'Complete, 3 succeeded: Succeeded, Succeeded, Succeeded',
  },
  {
    object: job('queue', 'sleep 1', { parallelism: 2 }),
    end: 'Complete, 2 succeeded: Succeeded, Succeeded',
  },
  {
    object: job('fails', 'exit 1', { backoffLimit: 0 }),
    end: 'Failed BackoffLimitExceeded, 1 failed: Failed',
  },
  {
    object: job(
      'fails-once',
      failsOnce,
      {},
      {
        ...{ restartPolicy: 'OnFailure', ...kept },
        containers: [
          container(['sh', '-c', failsOnce], { volumeMounts: [{ name: 'kept', mountPath: '/kept' }] }),
        ],
      },
    ),
    end: 'Complete, 1 succeeded: Succeeded',
  },
  {
    object: job('too-long', 'sleep 100000', { activeDeadlineSeconds: 3 }),
    end: 'Failed DeadlineExceeded, 1 failed',
  },
  {
    object: job('policy', 'exit 42', { podFailurePolicy: onExit('FailJob', 42) }),
    end: 'Failed PodFailurePolicy, 1 failed: Failed',
  },
  { object: job('suspended', 'exit 0', { suspend: true }), end: 'Suspended JobSuspended' },
  { object: cronJob('off', '* * * * *', { suspend: true }), end: 'nothing' },
  { object: cronJob('new-year', '0 0 1 1 *'), end: 'nothing' },
  { object: pod('stays', container()), end: 'Running, ready' },
  { object: pod('ends', container(['true']), { restartPolicy: 'Never' }), end: 'Succeeded PodCompleted' },
  { object: pod('breaks', container(['false']), { restartPolicy: 'Never' }), end: 'Failed PodFailed' },
  {
    object: pod('begins-badly', container(), { restartPolicy: 'Never', initContainers: [once('exit 3')] }),
    end: 'Failed PodFailed',
  },
  {
    object: pod('with-sidecar', container(['true']), { restartPolicy: 'Never', initContainers: [sidecar] }),
    end: 'Succeeded PodCompleted',
  },
  {
    object: pod('out-of-time', container(), { activeDeadlineSeconds: 3 }),
    end: 'Failed PodFailed DeadlineExceeded',
  },
];

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

/** An object as an API shows it. */
export interface ShownObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** What became of each workload: how many of its pods are ready, or how it ended. By kind and name, as in `Job/sum`. */
export function summarize(
  objects: readonly ShownObject[],
  /** The name of a pod in its manifest. */
  toWritten: (name: string) => string = (name) => name,
): Record<string, string> {
  const byUid = new Map(objects.map((each) => [each.metadata.uid, each]));
  const rootOf = (object: ShownObject): ShownObject => {
    const [owner] = object.metadata.ownerReferences ?? [];
    const above = owner === undefined ? undefined : byUid.get(owner.uid);
    return above === undefined ? object : rootOf(above);
  };
  const pods = objects.filter(({ kind }) => kind === 'Pod');
  const summary = objects
    .filter((object) => rootOf(object) === object)
    .map((object): [string, string] => {
      const { kind, metadata } = object;
      if (kind === 'Pod') return [`Pod/${toWritten(metadata.name)}`, summarizePod(object)];
      const own = pods.filter((each) => rootOf(each) === object);
      return [`${kind}/${metadata.name}`, summarizeOne(object, own)];
    });
  return Object.fromEntries(summary.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function summarizePod(pod: ShownObject): string {
  const { phase, reason } = pod.status ?? {};
  const ready = conditionOf(pod, 'Ready');
  if (phase === 'Running' || phase === 'Pending') return `${phase}, ${isReady(pod) ? 'ready' : 'not ready'}`;
  return [phase, ready?.reason, reason].filter((word) => word !== undefined).join(' ');
}

function summarizeOne(object: ShownObject, pods: readonly ShownObject[]): string {
  const { kind, status = {} } = object;
  const names = pods
    .map(({ metadata, status: of }) => `${kind === 'StatefulSet' ? `${metadata.name} ` : ''}${of?.phase}`)
    .sort();
  const list = names.length === 0 ? '' : `: ${names.join(', ')}`;
  if (kind === 'CronJob') return names.length === 0 ? 'nothing' : names.join(', ');
  if (kind !== 'Job') return `${pods.filter(isReady).length} of ${pods.length} ready${list}`;
  const end = ['Complete', 'Failed', 'Suspended']
    .map((type) => conditionOf(object, type))
    .find((each) => each?.status === 'True');
  const reason = end?.type === 'Complete' ? '' : ` ${end?.reason}`;
  const { succeeded = 0, failed = 0 } = status;
  return [
    end === undefined ? 'runs' : `${end.type}${reason}`,
    ...(succeeded > 0 ? [`${succeeded} succeeded`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ]
    .join(', ')
    .concat(list);
}

function conditionOf({ status }: ShownObject, type: string): Condition | undefined {
  return (status?.conditions ?? []).find((each) => each.type === type);
}

function isReady(pod: ShownObject): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True';
}
