import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundedLooks } from '../../src/node/volumes/bounded-looks.js';
import { type CriClient } from '../../src/watch/cri/index.js';
import { ImageManager } from '../../src/node/images/image-manager.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { readPod } from '#kube/pod/read-pod.js';
import { toStaticPod } from '#kube/pod/static-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { CriRuntime } from '../../src/watch/observed/cri-runtime.js';
import { CriRuntimeChanges } from '../../src/node/runtime/cri-runtime-changes.js';
import { PodPaths } from '../../src/watch/observed/pod-paths.js';
import { emptyPodStatus, type PodStatus } from '../../src/watch/observed/runtime.js';
import { StartFailures } from '../../src/node/status/start-failures.js';
import { StatusManager } from '../../src/node/status/status-manager.js';
import { PodPlanner } from '../../src/node/pods/sync/sync-pod-planner.js';
import { PodStatusUpdater } from '../../src/node/pods/sync/sync-pod-status.js';
import { SyncPod } from '../../src/node/pods/sync/sync-pod.js';
import { type PodUsers } from '../../src/node/pods/sync/sync-pod-ports.js';
import { someEnvironments } from '#support/fakes/some-environments.js';
import { SystemClock } from '#base/time/clock.js';
import { readOwnMounts } from '#base/proc/mountinfo.js';
import { EmptyDir } from '../../src/node/volumes/empty-dir.js';
import { HostPath } from '../../src/node/volumes/host-path.js';
import { ToolMounter } from '../../src/node/volumes/mounter.js';
import { PodVolumes } from '../../src/node/volumes/pod-volumes.js';
import { type SyncPodResult } from '../../src/node/pods/workers/pod-syncer.js';
import { until } from './embedded-node.js';

const NEVER = new AbortController().signal;
const NO_PROBES = {
  hasFailedLiveness: () => false,
  hasFailedStartup: () => false,
  hasStarted: () => true,
  readiness: () => undefined,
  started: () => undefined,
};

/** What a {@link SyncHarness} works on. */
export interface SyncHarnessOptions {
  readonly client: CriClient;
  /** A temporary folder, which it removes in the end. */
  readonly folder: string;
  readonly canMount: boolean;
  readonly cgroupParent?: string;
  /** Users of pods that are not those of the node (default: there are none). */
  readonly users?: PodUsers;
}

/** Everything that the syncs of pods need, real, on a runtime of the test's; without probes. */
export class SyncHarness implements AsyncDisposable {
  readonly events: PodEvent[] = [];
  readonly paths: PodPaths;
  readonly syncer: SyncPod;
  readonly changes: CriRuntimeChanges;
  readonly statuses: StatusManager;
  readonly folder: string;
  readonly #runtime: CriRuntime;

  constructor({ client, folder, canMount, cgroupParent = '', users }: SyncHarnessOptions) {
    const clock = new SystemClock();
    const events = { record: (_pod: unknown, event: PodEvent) => void this.events.push(event) };
    this.folder = folder;
    this.#runtime = new CriRuntime({ client });
    this.changes = new CriRuntimeChanges({ client });
    this.paths = new PodPaths({ rootDir: join(folder, 'agent'), podLogsDir: join(folder, 'logs') });
    this.statuses = new StatusManager({ clock });
    const common = { paths: this.paths, clock, startFailures: new StartFailures() };
    const looks = new BoundedLooks({ clock });
    const ports = { mounter: new ToolMounter({ clock }), readMounts: readOwnMounts, looks };
    this.syncer = new SyncPod({
      ...{ ...common, events, changes: this.changes, commands: this.changes, runtime: this.#runtime },
      images: new ImageManager({ changes: this.changes, events }),
      volumes: new PodVolumes({
        ...{ ...ports, podsFolder: this.paths.podsDir, events, clock },
        kinds: {
          emptyDir: new EmptyDir({ ...ports, memoryBytes: 1n << 30n }),
          hostPath: new HostPath({ looks: new BoundedLooks({ clock }) }),
        },
      }),
      users,
      environments: someEnvironments(),
      probes: {
        addPod: () => undefined,
        stopLivenessAndStartup: () => undefined,
        removePod: () => undefined,
      },
      statuses: new PodStatusUpdater({
        ...{ ...common, manager: this.statuses, probes: NO_PROBES },
        node: () => ({ hostIps: ['192.0.2.1'], runtimeName: 'lab' }),
      }),
      planner: new PodPlanner({ clock, probes: NO_PROBES }),
      baselines: { keep: () => Promise.resolve() },
      networkProblem: () => undefined,
      containerLogLinksDir: join(folder, 'links'),
      cgroups: {
        prepare: () => Promise.resolve(cgroupParent),
        learn: () => Promise.resolve(false),
        findParent: () => Promise.resolve(cgroupParent),
      },
      node: () => ({
        ...{ nodeInstance: 'lab', hostname: 'node-1', isInCluster: false },
        ...{ clusterDns: [], clusterDomain: '' },
        resolver: { servers: ['192.0.2.53'], searches: [], options: [] },
        pageSizeBytes: 4_096,
        ...{ memoryCapacityBytes: 8n * 1024n ** 3n, cpuCfsQuota: true, cpuCfsPeriodUs: 100_000 },
        ...{
          seccompDir: '/var/lib/kubelet/seccomp',
          seccompDefault: false,
          maskedPaths: [],
          strictGroups: undefined,
          canMount,
        },
      }),
    });
  }

  async observe(pod: NodePod): Promise<PodStatus> {
    const { uid } = pod.metadata;
    const seen = await this.#runtime.findPod(uid);
    return seen === undefined ? emptyPodStatus(uid) : await this.#runtime.getPodStatus(seen);
  }

  async sync(pod: NodePod): Promise<SyncPodResult> {
    return await this.syncer.syncPod({ reason: 'sync', pod, observed: await this.observe(pod) }, NEVER);
  }

  async syncUntil(pod: NodePod, wanted: (result: SyncPodResult) => boolean): Promise<void> {
    await until(() => this.sync(pod), wanted);
  }

  async end(pod: NodePod, gracePeriodSeconds: number): Promise<void> {
    const observed = await this.observe(pod);
    await this.syncer.syncTerminatingPod({ pod, observed, gracePeriodSeconds }, NEVER);
    await this.syncer.syncTerminatedPod({ pod, observed: await this.observe(pod) }, NEVER);
  }

  /** Nothing of the pod is left in the runtime. */
  async remove(pod: NodePod): Promise<void> {
    const { sandboxes } = await this.observe(pod);
    for (const { id } of sandboxes) await this.changes.removePodSandbox(id);
  }

  status(pod: NodePod): V1PodStatus | undefined {
    return this.statuses.find(pod.metadata.uid)?.status;
  }

  told(reason: string): string[] {
    return this.events.filter((event) => event.reason === reason).map(({ message }) => message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.changes.settled();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A pod of the node `node-1`, out of a manifest's spec. */
export function podOf(name: string, spec: Readonly<Record<string, unknown>>): NodePod {
  const { pod, problems } = readPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
  if (pod === undefined) throw new Error(JSON.stringify(problems));
  return toStaticPod(pod, { source: 'file', nodeName: 'node-1' }).pod;
}

/** A container of a manifest that runs a shell script. */
export function shell(
  name: string,
  image: string,
  script: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return { name, image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', script], ...more };
}
