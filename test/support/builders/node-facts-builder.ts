import { type NodeFacts } from '#doctor';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { type OperationFacts } from '../../../src/doctor/facts/call-meter.js';
import { known, notKnown } from '../../../src/doctor/looked.js';
import { type MachineFacts } from '../../../src/doctor/facts/machine-facts.js';
import {
  type InspectionFacts,
  type PopulationFacts,
  type RuntimeFacts,
  type SlowPod,
} from '../../../src/doctor/facts/runtime-facts.js';

/** What of a healthy node is to be otherwise. */
export interface NodeFactsChanges {
  readonly runtime?: Partial<RuntimeFacts>;
  readonly machine?: Partial<MachineFacts>;
  readonly rest?: Partial<NodeFacts>;
}

/** The facts of a node of a hundred pods on which nothing is wrong, but for what is said. */
export function aNode({ runtime, machine, rest }: NodeFactsChanges = {}): NodeFacts {
  return {
    ...{ atMs: Date.parse('2026-01-01T00:00:00Z'), tookMs: 3_000 },
    runtime: { ...HEALTHY_RUNTIME, ...runtime },
    machine: { ...HEALTHY_MACHINE, ...machine },
    ...{ certificates: [], certificatesUnread: [] },
    kubelet: {
      ...{ health: notKnown('nobody listens'), metrics: notKnown('nobody listens') },
      waiting: notKnown('nobody listens'),
    },
    agent: notKnown('nobody listens'),
    ...rest,
  };
}

/** The calls of one method (default: all answered at once). */
export function anOperation(method: string, changes: Partial<OperationFacts> = {}): OperationFacts {
  return { method, count: 10, hung: 0, failed: 0, p50Ms: 3, p99Ms: 8, maxMs: 8, ...changes };
}

/** What there is on a node of a hundred pods. */
export function aPopulation(changes: Partial<PopulationFacts> = {}): PopulationFacts {
  return {
    ...{ pods: 100, sandboxes: 102, sandboxesNotReady: 2, containers: 260 },
    containersByState: { running: 250, exited: 10 },
    ...{ sandboxStorms: [], crashLoops: [], crashLoopCount: 0 },
    ...changes,
  };
}

/** What asking for the status of a hundred pods showed. */
export function someInspections(changes: Partial<InspectionFacts> = {}): InspectionFacts {
  return {
    ...{ asked: 100, pods: 100, calls: 362, medianMs: 3, inSeriesMs: 1_100 },
    slowest: [aSlowPod('db', 12)],
    ...{ hung: [], failing: [] },
    ...changes,
  };
}

/** What three status calls about a pod took, of which the slowest took so long. */
export function aSlowPod(name: string, slowestMs: number): SlowPod {
  return {
    ...{ pod: { uid: `uid-${name}`, namespace: 'default', name }, ms: slowestMs + 18, calls: 3 },
    slowestCall: { method: 'ContainerStatus', container: 'app', ms: slowestMs },
  };
}

/** What a healthy agent of podloop's reports of itself, but for what is said. */
export function anAgentReport(changes: Partial<PlegReport> = {}): PlegReport {
  return {
    ...{ atMs: Date.parse('2026-01-01T00:00:00Z'), forMs: 60_000, mode: 'auto', periodMs: 1_000 },
    runtime: { name: 'containerd', version: '2.1.9', endpoint: 'unix:///run/containerd/containerd.sock' },
    health: { healthy: true, thresholdMs: 180_000, lastSeenAgoMs: 400 },
    relists: { count: 60, ofOnePod: 4, history: [] },
    ...{ stuckPods: [], stuckPodCount: 0, callsInFlight: [], callsInFlightCount: 0 },
    ...{ operations: [], slowestPods: [], events: {} },
    inspections: { count: 100, failed: 0, displaced: 0, inFlight: 0, queued: 0, due: 0 },
    stream: {
      ...{ state: 'up', connects: 1, failures: 0, received: 9, announced: 9, missed: 0, contradicted: 0 },
    },
    queues: { requests: { queued: 0, coalesced: 0, folded: 0 }, subscriptions: [] },
    pods: { count: 100, running: 99, containersByState: { running: 250 } },
    eventLoop: { meanMs: 1, p99Ms: 12, maxMs: 40 },
    ...changes,
  };
}

const QUIET = { someAvg10: 5, someAvg60: 5, fullAvg10: 1, fullAvg60: 1 };
const GIB = 1024 ** 3;

const HEALTHY_RUNTIME: RuntimeFacts = {
  ...{ endpoint: 'unix:///run/containerd/containerd.sock', name: 'containerd', version: '2.1.9' },
  connection: { connected: true, attempts: 16, failures: 0, watchedMs: 3_000 },
  conditions: known(
    ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true, reason: '', message: '' })),
  ),
  operations: ['Version', 'ListPodSandbox', 'ListContainers', 'Status', 'ContainerStatus'].map((method) =>
    anOperation(method),
  ),
  lists: [
    { method: 'ListPodSandbox', calls: 3, hung: 0, p50Ms: 3, bytes: 60_000, items: 102 },
    { method: 'ListContainers', calls: 3, hung: 0, p50Ms: 5, bytes: 200_000, items: 260 },
  ],
  population: known(aPopulation()),
  inspections: known(someInspections()),
  events: known({
    ...{ isSupported: true, watchedMs: 3_000, received: 4, changed: 2, missed: [], missedCount: 0 },
  }),
};

const HEALTHY_MACHINE: MachineFacts = {
  pressure: known({ cpu: { ...QUIET, someAvg60: 40 }, io: QUIET, memory: QUIET }),
  load: known({ cores: 8, average1: 6, average5: 5 }),
  memory: known({ totalBytes: 32 * GIB, availableBytes: 8 * GIB }),
  processes: known({
    ...{ processes: 1_200, threads: 9_000, pidMax: 4_194_304, threadsMax: 250_000 },
    ...{ zombies: 3, zombieParents: [], blocked: [], blockedCount: 0 },
  }),
  disks: [
    {
      ...{ path: '/var/lib/containerd', purpose: 'images and containers' },
      ...{ holdsImages: true, mustBeWritten: true, device: '8:1', isReadOnly: false },
      ...{ totalBytes: 100 * GIB, availableBytes: 40 * GIB, totalInodes: 1_000_000, freeInodes: 700_000 },
    },
  ],
  silentDisks: [],
  fsync: known({ path: '/var/lib/containerd', writes: 5, medianMs: 4, maxMs: 11 }),
  abandonedShims: known({ count: 0, shims: [], addresses: [] }),
  plugins: known({ running: [], count: 0 }),
  daemons: known({}),
  systemd: known({ units: [] }),
  deadMounts: known([]),
  failedFileSystems: known([]),
  kernelLog: known({ records: 900, reachesMs: 86_400_000, troubles: [], killed: [] }),
  inotify: known({ instances: 128, watches: 65_536 }),
  runtimeWork: known({
    ...{ calls: [], callCount: 0, endedCalls: [], endedCallCount: 0 },
    ...{ illShims: [], illShimCount: 0, asked: 100 },
  }),
  shims: known({ count: 100, orphans: [], orphanCount: 0, gone: [], goneCount: 0 }),
};
