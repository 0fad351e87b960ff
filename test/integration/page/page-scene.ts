import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { aKubePod } from '#support/harness/agent-command-harness.js';

const MINUTE = 60_000;
const MIB = 1_048_576;
const NAMES = ['api', 'cache', 'db', 'front', 'jobs', 'mail', 'queue', 'search', 'web'];

/** A node with something of everything, for a page to show: pods in good and bad states, and each of the agent's answers. */
export function setScene(agent: FakeAgentServer, nowMs = Date.now()): void {
  const pods = NAMES.map((name) => aScenePod(name, nowMs));
  agent.on('GET /agent', () => ({
    ...{ kind: 'Agent', nodeName: 'node-1', version: '9', manifests: ['/etc/podloop/pods'], problems: [] },
    ...{ runtime: { name: 'containerd', version: '2.1.9' }, startedAt: new Date(nowMs - 3_600_000) },
  }));
  agent.on('GET /events', ({ query }, answer) => {
    answer.setHeader('content-type', 'text/event-stream');
    if (query['follow'] === 'false') answer.end();
    else answer.write(query['after'] === undefined ? historyOf(nowMs) : ':\n\n');
    return undefined;
  });
  agent.on('WATCH /api/v1/pods', (_, answer) => {
    for (const object of pods) answer.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
    answer.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
    return undefined;
  });
  for (const name of NAMES)
    agent.on(`GET /api/v1/namespaces/default/pods/${name}`, () => ({
      ...{ kind: 'Pod', apiVersion: 'v1' },
      ...aScenePod(name, nowMs),
    }));
  agent.on('GET /api/v1/namespaces/default/pods/web/log', (_, answer) => {
    for (let second = 0; second < 9; second++)
      answer.write(`2026-01-02T03:04:0${second}Z GET /index.html ${second === 7 ? 'error' : 200}\n`);
    return undefined;
  });
  agent.on('GET /api/v1/namespaces/default/pods/mail/log', (_, answer) => {
    const died = nowMs - 12 * MINUTE + NAMES.indexOf('mail') * 20_000 + 4 * 2 * MINUTE + 70_000;
    const line = (afterMs: number, words: string): string =>
      `${new Date(died + afterMs).toISOString()} ${words}\n`;
    answer.write(line(-9_000, 'connecting to smtp.example:25'));
    answer.write(line(-200, 'fatal: certificate of smtp.example has expired'));
    return undefined;
  });
  agent.on('GET /stopped', () => ({ items: [{ metadata: { namespace: 'default', name: 'old' } }] }));
  agent.on('GET /stats/summary', () => ({
    node: {
      ...{ cpu: { usageNanoCores: 1.3e9 }, memory: { workingSetBytes: 3_900 * MIB } },
      ...{ fs: disk(0.4), runtime: { imageFs: disk(0.85), containerFs: disk(0.95) } },
      rlimit: { maxpid: 32_768, curproc: 412 },
    },
    pods: NAMES.map((name, at) => ({
      ...{ podRef: { name, namespace: 'default' }, cpu: { usageNanoCores: 2e8 / (at + 1) } },
      memory: { workingSetBytes: (90 + ((at * 7) % 9) * 25) * MIB },
    })),
  }));
  agent.on('GET /api/v1/nodes', () => ({ items: [NODE] }));
  agent.on('GET /debug/pleg', () => reportOf(nowMs));
  agent.on('GET /incidents', () => ({ items: incidentsOf(nowMs) }));
}

/** Ends again and again: its exit code, the reason, and how often it was restarted. */
const FAILING: Readonly<Record<string, readonly [number, string, number]>> = {
  jobs: [137, 'OOMKilled', 12],
  mail: [1, 'Error', 4],
};
/** Runs, and its readiness probe fails. */
const UNREADY = 'search';

function isFailing(name: string): boolean {
  return name in FAILING;
}

function aScenePod(name: string, nowMs: number): object {
  const ago = (ms: number): string => new Date(nowMs - ms).toISOString();
  const [exitCode = 0, reason = '', restartCount = 0] = FAILING[name] ?? [];
  const startedAt = ago(12 * MINUTE);
  const isReady = !isFailing(name) && name !== UNREADY;
  const state = isFailing(name)
    ? {
        waiting: {
          reason: 'CrashLoopBackOff',
          message: `back-off 40s restarting failed container=main pod=${name}`,
        },
      }
    : { running: { startedAt } };
  const lastEnd = { exitCode, reason, startedAt: ago(4 * MINUTE), finishedAt: ago(3 * MINUTE) };
  const image = `registry.example/shop/${name}:1.4.2`;
  const container = {
    ...{ name: 'main', image, ready: isReady, restartCount, containerID: `containerd://${name}-now`, state },
    ...(isFailing(name) ? { lastState: { terminated: lastEnd } } : {}),
  };
  const conditions = [
    { type: 'PodScheduled', status: 'True' },
    { type: 'Initialized', status: 'True' },
    {
      ...{ type: 'Ready', status: isReady ? 'True' : 'False' },
      ...(isReady ? {} : { message: 'containers with unready status: [main]' }),
    },
  ];
  return aKubePod(name, {
    metadata: {
      ...{ name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1' },
      ...{ creationTimestamp: startedAt, labels: { app: name, tier: 'shop' } },
    },
    spec: {
      containers: [
        {
          ...{ name: 'main', image, imagePullPolicy: 'IfNotPresent' },
          resources: { requests: { cpu: '100m' }, limits: { memory: '320Mi' } },
          readinessProbe: { httpGet: { path: '/ready', port: 8080, scheme: 'HTTP' }, periodSeconds: 5 },
          volumeMounts: [{ name: 'settings', mountPath: '/etc/shop', readOnly: true }],
        },
      ],
      ...{ nodeName: 'node-1', restartPolicy: 'Always', terminationGracePeriodSeconds: 30 },
      volumes: [{ name: 'settings', configMap: { name: 'shop-settings' } }],
    },
    status: {
      ...{ phase: 'Running', podIP: `10.1.0.${10 + NAMES.indexOf(name)}`, qosClass: 'Burstable' },
      ...{ conditions, containerStatuses: [container] },
    },
  });
}

const NODE = {
  metadata: { name: 'node-1', creationTimestamp: '2026-01-01T00:00:00Z' },
  status: {
    capacity: { cpu: '4', memory: '16302876Ki', pods: '110' },
    allocatable: { cpu: '3800m', memory: '15302876Ki', pods: '110' },
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'MemoryPressure', status: 'False', message: 'there is enough' },
      { type: 'DiskPressure', status: 'True', message: 'the disk of containers is nearly full' },
    ],
    addresses: [{ type: 'InternalIP', address: '10.0.0.7' }],
    nodeInfo: { containerRuntimeVersion: 'containerd://2.1.9', kernelVersion: '6.12.9' },
  },
};

function disk(part: number): object {
  const capacityBytes = 200_000 * MIB;
  return { capacityBytes, availableBytes: capacityBytes * (1 - part), usedBytes: capacityBytes * part };
}

/** The records of twelve minutes: lives, crashes, probes, pulls, and a call that hung. */
function historyOf(nowMs: number): string {
  const records: { readonly agoMs: number; readonly fields: object }[] = [];
  const add = (agoMs: number, name: string, kind: string, reason: string, more: object = {}): void => {
    const pod = { uid: `uid-${name}`, namespace: 'default', name };
    const fields = { kind, type: 'Normal', reason, message: `${reason} of ${name}`, pod, container: 'main' };
    records.push({ agoMs, fields: { ...fields, ...more } });
  };
  for (const [at, name] of NAMES.entries()) {
    const begin = 12 * MINUTE - at * 20_000;
    add(begin + 9_000, name, 'event', 'Pulling');
    add(begin + 1_000, name, 'event', 'Pulled');
    const lives = isFailing(name) ? 5 : 1;
    for (let life = 0; life < lives; life++) {
      const from = begin - life * 2 * MINUTE;
      const id = life === lives - 1 && !isFailing(name) ? `${name}-now` : `${name}-${life}`;
      const facts = { containerId: id, containerKind: 'container' };
      add(from, name, 'lifecycle', 'ContainerStarted', { details: facts });
      if (life > 0) add(from, name, 'restart', 'ContainerRestarted', { type: 'Warning' });
      if (!isFailing(name)) continue;
      const [exitCode, containerReason] = FAILING[name]!;
      const end = { ...facts, exitCode, containerReason };
      add(from - 70_000, name, 'lifecycle', 'ContainerDied', { type: 'Warning', details: end });
    }
    add(begin - 15_000, name, 'probe', 'ReadinessSucceeded');
  }
  add(4 * MINUTE, UNREADY, 'probe', 'ReadinessFailed', {
    ...{ type: 'Warning', message: 'HTTP probe failed with statuscode: 503' },
  });
  const call = { method: 'ContainerStatus', forMs: 10_000, containerId: 'db-0' };
  add(6 * MINUTE, 'db', 'call', 'CallHangs', { type: 'Warning', details: call });
  add(4.5 * MINUTE, 'db', 'call', 'CallReturned', { details: { ...call, durationMs: 100_000 } });
  records.sort((one, other) => other.agoMs - one.agoMs);
  return records
    .map(({ agoMs, fields }, at) => {
      const atMs = nowMs - agoMs;
      const id = `${Math.floor(atMs)}-${at}`;
      return `id: ${id}\ndata: ${JSON.stringify({ id, atMs, ...fields })}\n\n`;
    })
    .join('');
}

function incidentsOf(nowMs: number): object[] {
  const [beganAt, endedAt] = [6 * MINUTE, 4.5 * MINUTE].map((ago) => new Date(nowMs - ago).toISOString());
  const finding = {
    ...{ code: 'CallHangs', severity: 'critical', message: 'ContainerStatus of default/db is not answered' },
    ...{ evidence: ['for 100 s'], remedy: 'look at its shim', follows: [], beganAt, endedAt, spells: 1 },
  };
  return [{ id: 1, state: 'over', beganAt, endedAt, findings: [finding], gaps: [] }];
}

function reportOf(nowMs: number): object {
  const pod = { uid: 'uid-db', namespace: 'default', name: 'db' };
  const history = Array.from({ length: 60 }, (_, at) => ({
    ...{ startedAtMs: nowMs - (60 - at) * 1_000, trigger: 'relist', durationMs: 4 + (at % 7) },
    ...{ listMs: 3, diffMs: 0.2, inspectMs: 0.5, pods: NAMES.length, due: 0 },
  }));
  return {
    ...{ atMs: nowMs, forMs: 3_600_000, mode: 'auto', periodMs: 1_000 },
    runtime: { name: 'containerd', version: '2.1.9', endpoint: 'unix:///run/containerd/containerd.sock' },
    health: { healthy: true, thresholdMs: 180_000, lastSeenAgoMs: 400 },
    relists: { count: 3_600, ofOnePod: 41, history },
    stuckPods: [{ pod, state: 'hung', sinceMs: nowMs - 9_000, forMs: 9_000, failures: 0 }],
    ...{ stuckPodCount: 1, callsInFlightCount: 1 },
    callsInFlight: [
      {
        method: 'ContainerStatus',
        operation: 'container_status',
        pod,
        startedAtMs: nowMs - 9_000,
        ageMs: 9_000,
      },
    ],
    operations: [
      { operation: 'list_containers', count: 3_600, failed: 0, p50Ms: 1.2, p99Ms: 4, maxMs: 9 },
      { operation: 'container_status', count: 210, failed: 2, p50Ms: 0.8, p99Ms: 30, maxMs: 9_000 },
    ],
    slowestPods: [{ pod, lastMs: 12, longestMs: 900, count: 4, failed: 1 }],
    inspections: { count: 210, failed: 2, displaced: 0, inFlight: 1, queued: 0, due: 1 },
    stream: {
      state: 'up',
      connects: 1,
      failures: 0,
      received: 90,
      announced: 88,
      missed: 1,
      contradicted: 0,
    },
    queues: { requests: { queued: 0, coalesced: 0, folded: 0 }, subscriptions: [] },
    pods: { count: NAMES.length, running: 7, containersByState: { running: 7, exited: 8 } },
    ...{ events: {}, eventLoop: { meanMs: 0.1, p99Ms: 2, maxMs: 14 } },
  };
}
