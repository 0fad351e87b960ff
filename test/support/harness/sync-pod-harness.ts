import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PodPaths, type PodStatus } from '#watch';
import { ImageManager } from '../../../src/node/images/image-manager.js';
import { type PodObjects } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { StartFailures } from '../../../src/node/status/start-failures.js';
import { StatusManager } from '../../../src/node/status/status-manager.js';
import { ContainerResizes } from '../../../src/node/pods/containers/container-resizes.js';
import { ReplacedParts } from '../../../src/node/pods/actions/replaced-parts.js';
import { PodPlanner } from '../../../src/node/pods/sync/sync-pod-planner.js';
import { PodStatusUpdater } from '../../../src/node/pods/sync/sync-pod-status.js';
import { SyncPod } from '../../../src/node/pods/sync/sync-pod.js';
import { type SyncPodResult } from '../../../src/node/pods/workers/pod-syncer.js';
import { Channels } from '#base/channels/publishing-channel.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntimeChanges } from '../fakes/fake-runtime-changes.js';
import { LogRecorder } from '../fakes/log-recorder.js';
import { someNodeFacts } from '../builders/node-pods.js';
import { NO_OBJECTS, someEnvironments } from '../fakes/some-environments.js';

const NEVER = new AbortController().signal;

/** A node in memory, on which one pod at a time is synced. */
export class SyncPodHarness implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly channels = new Channels();
  readonly runtime = new FakeRuntimeChanges({ clock: this.clock });
  readonly logger = new LogRecorder();
  statuses = new StatusManager({ clock: this.clock });
  /** Events: type, container, reason and message. */
  readonly told: string[] = [];
  readonly probing: string[] = [];
  networkProblem: string | undefined;
  /** What the last sync was given. */
  observed: PodStatus | undefined;
  volumeProblem: Error | undefined;
  /** Why pods can have no users of their own. */
  usersProblem: string | undefined;
  /** For each time that volumes were set up, whether something of the pod ran. */
  readonly volumesSetUp: ('new' | 'running')[] = [];
  failedLiveness = new Set<string>();
  tornDown = 0;
  memoryUsage = 0n;
  readonly limited: string[] = [];
  syncer: SyncPod;
  /** What pods find; a test puts it in. */
  readonly referred: string[] = [];
  readonly objects: { -readonly [Name in keyof PodObjects]: PodObjects[Name] } = { ...NO_OBJECTS };

  private constructor(readonly folder: string) {
    this.runtime.addImage('registry.example/app:1');
    this.syncer = this.#makeSyncer();
  }

  /** Another agent on the same node: all that the one before had in memory is gone, as after a kill. */
  restartAgent(): void {
    this.statuses = new StatusManager({ clock: this.clock });
    this.syncer = this.#makeSyncer();
  }

  /** A new one, with a folder of its own. */
  static async open(): Promise<SyncPodHarness> {
    return new SyncPodHarness(await mkdtemp(join(tmpdir(), 'podloop-bench-')));
  }

  /** As the worker of the pod does, with what the runtime shows of it now. */
  async sync(pod: NodePod, signal: AbortSignal = NEVER): Promise<SyncPodResult> {
    const observed = this.runtime.observe(pod.metadata.uid);
    this.observed = observed;
    return await this.syncer.syncPod({ reason: 'sync', pod, observed }, signal);
  }

  async end(pod: NodePod, gracePeriodSeconds: number, signal: AbortSignal = NEVER): Promise<void> {
    const observed = this.runtime.observe(pod.metadata.uid);
    await this.syncer.syncTerminatingPod({ pod, observed, gracePeriodSeconds }, signal);
  }

  /** What was changed since the last call, without commands and images. */
  changes(): string[] {
    const changes = this.runtime.calls.filter((call) => !/^(?:findImage|pullImage)/.test(call));
    this.runtime.calls.length = 0;
    return changes;
  }

  status(uid = 'u1'): V1PodStatus {
    return this.statuses.find(uid)!.status;
  }

  container(name: string): V1ContainerStatus {
    const { initContainerStatuses = [], containerStatuses } = this.status();
    return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name)!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  #makeSyncer(): SyncPod {
    const { clock, runtime, folder } = this;
    const record = (_pod: unknown, { type, reason, message, container }: PodEvent): void => {
      this.told.push(`${type} ${container ?? '-'} ${reason}: ${message}`);
    };
    const paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
    const probes = {
      hasFailedLiveness: (id: string) => this.failedLiveness.has(id),
      hasFailedStartup: () => false,
      failure: (id: string) => (this.failedLiveness.has(id) ? 'liveness' : undefined),
      hasStarted: () => true,
      // What an earlier agent has found out is known once the pod is probed again.
      readiness: () => (this.probing.includes('add') ? true : undefined),
      started: () => (this.probing.includes('add') ? true : undefined),
    };
    const startFailures = new StartFailures();
    const resizes = new ContainerResizes({ node: () => someNodeFacts() });
    const replaced = new ReplacedParts({ paths, logger: this.logger });
    const common = { paths, clock, startFailures, replaced };
    return new SyncPod({
      channels: this.channels,
      users: {
        findProblem: () => this.usersProblem,
        take: (_uid, present) =>
          Promise.resolve(
            present === undefined || present === 'unknown' ? { hostId: 131_072, length: 65_536 } : present,
          ),
      },
      ...{ ...common, changes: runtime, commands: runtime, runtime, events: { record }, logger: this.logger },
      images: new ImageManager({ changes: runtime, events: { record }, clock }),
      volumes: {
        setUp: (_pod, _signal, { isRunning }) => {
          this.volumesSetUp.push(isRunning ? 'running' : 'new');
          return this.volumeProblem === undefined ? Promise.resolve() : Promise.reject(this.volumeProblem);
        },
        mountsFor: () => Promise.resolve([{ containerPath: '/data', hostPath: '/host', readOnly: true }]),
        tearDown: () => {
          this.tornDown++;
          return Promise.resolve();
        },
      },
      environments: someEnvironments(this.objects),
      referents: {
        fetchForVolumes: (pod) => Promise.resolve(void this.referred.push(`volumes of ${pod.metadata.uid}`)),
        fetchForContainer: (_pod, { name }) => Promise.resolve(void this.referred.push(`container ${name}`)),
        getRuntimeHandler: (pod) => {
          this.referred.push(`handler of ${pod.metadata.uid}`);
          const { runtimeClassName = '' } = pod.spec;
          if (runtimeClassName === 'none') return Promise.reject(new Error('there is no such class'));
          return Promise.resolve(runtimeClassName && 'runsc');
        },
        forget: (uid) => void this.referred.push(`forget ${uid}`),
      },
      probes: {
        addPod: () => void this.probing.push('add'),
        stopLivenessAndStartup: () => void this.probing.push('stop'),
        removePod: () => void this.probing.push('remove'),
      },
      statuses: new PodStatusUpdater({
        ...{ ...common, manager: this.statuses, probes },
        node: () => ({ hostIps: ['192.0.2.1'], runtimeName: 'fake' }),
      }),
      planner: new PodPlanner({ clock, probes, resizes, replaced }),
      resizes,
      memoryUsage: () => Promise.resolve(this.memoryUsage),
      podLimits: {
        grow: () => Promise.resolve(void this.limited.push('grow')),
        settle: () => Promise.resolve(void this.limited.push('settle')),
      },
      baselines: { keep: () => Promise.resolve() },
      networkProblem: () => this.networkProblem,
      node: () => someNodeFacts(),
    });
  }
}
