import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImageManager } from '../../src/images/image-manager.js';
import { type NodePod } from '../../src/model/node-pod.js';
import { type PodEvent } from '../../src/model/pod-event-recorder.js';
import { readPod } from '../../src/model/read-pod.js';
import { toStaticPod } from '../../src/model/static-pod.js';
import { CriRuntime } from '../../src/runtime/cri-runtime.js';
import { CriRuntimeChanges } from '../../src/runtime/cri-runtime-changes.js';
import { PodPaths } from '../../src/runtime/pod-paths.js';
import { emptyPodStatus, type PodStatus } from '../../src/runtime/runtime.js';
import { StartFailures } from '../../src/status/start-failures.js';
import { StatusManager } from '../../src/status/status-manager.js';
import { PodPlanner } from '../../src/sync/sync-pod-planner.js';
import { PodStatusUpdater } from '../../src/sync/sync-pod-status.js';
import { SyncPod } from '../../src/sync/sync-pod.js';
import { SystemClock } from '../../src/util/clock.js';
import { type SyncPodResult } from '../../src/workers/pod-syncer.js';
import { EmbeddedNode, HOST_IMAGE, ISOLATIONS, until } from './embedded-node.js';

const NEVER = new AbortController().signal;
const NO_PROBES = {
  hasFailedLiveness: () => false,
  hasFailedStartup: () => false,
  hasStarted: () => true,
  readiness: () => undefined,
  started: () => undefined,
};

/** Everything that a sync needs, on an embedded runtime in this process, with parts of their own beside it. */
class SyncLab implements AsyncDisposable {
  readonly events: PodEvent[] = [];
  readonly paths: PodPaths;
  readonly syncer: SyncPod;
  readonly changes: CriRuntimeChanges;
  readonly statuses: StatusManager;
  readonly #runtime: CriRuntime;

  private constructor(
    readonly node: EmbeddedNode,
    readonly folder: string,
    canMount: boolean,
  ) {
    const clock = new SystemClock();
    const events = { record: (_pod: unknown, event: PodEvent) => void this.events.push(event) };
    const { client } = node;
    this.#runtime = new CriRuntime({ client });
    this.changes = new CriRuntimeChanges({ client });
    this.paths = new PodPaths({ rootDir: join(folder, 'agent'), podLogsDir: join(folder, 'logs') });
    this.statuses = new StatusManager({ clock });
    const startFailures = new StartFailures();
    const common = { paths: this.paths, clock, startFailures };
    this.syncer = new SyncPod({
      ...common,
      changes: this.changes,
      runtime: this.#runtime,
      images: new ImageManager({ changes: this.changes, events }),
      volumes: {
        setUp: () => Promise.resolve(),
        mountsFor: () => Promise.resolve([]),
        tearDown: () => Promise.resolve(),
      },
      probes: {
        addPod: () => undefined,
        stopLivenessAndStartup: () => undefined,
        removePod: () => undefined,
      },
      statuses: new PodStatusUpdater({
        ...common,
        manager: this.statuses,
        probes: NO_PROBES,
        node: () => ({ hostIps: ['192.0.2.1'], runtimeName: 'podloop' }),
      }),
      planner: new PodPlanner({ clock, probes: NO_PROBES }),
      baselines: { keep: () => Promise.resolve() },
      networkProblem: () => undefined,
      events,
      containerLogLinksDir: join(folder, 'links'),
      node: () => ({
        ...{ nodeInstance: 'lab', hostname: 'node-1', clusterDns: [], clusterDomain: '' },
        resolver: { servers: ['192.0.2.53'], searches: [], options: [] },
        ...{ memoryCapacityBytes: 8n * 1024n ** 3n, cpuCfsQuota: true, cpuCfsPeriodUs: 100_000 },
        ...{ cgroupParent: '', seccompDir: '/var/lib/kubelet/seccomp', canMount },
      }),
    });
  }

  static async start(isolation: 'none' | 'namespaces'): Promise<SyncLab> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-sync-'));
    const network = isolation === 'none' ? {} : { network: 'host' as const };
    const node = await EmbeddedNode.start({ isolation, ...network });
    return new SyncLab(node, folder, isolation === 'namespaces');
  }

  async observe(pod: NodePod): Promise<PodStatus> {
    const { uid } = pod.metadata;
    const seen = await this.#runtime.findPod(uid);
    return seen === undefined ? emptyPodStatus(uid) : await this.#runtime.getPodStatus(seen);
  }

  async sync(pod: NodePod): Promise<SyncPodResult> {
    return await this.syncer.syncPod({ reason: 'sync', pod, observed: await this.observe(pod) }, NEVER);
  }

  async syncUntil(pod: NodePod, wanted: () => boolean): Promise<void> {
    await until(
      () => this.sync(pod),
      () => wanted(),
    );
  }

  async end(pod: NodePod, gracePeriodSeconds: number): Promise<void> {
    const observed = await this.observe(pod);
    await this.syncer.syncTerminatingPod({ pod, observed, gracePeriodSeconds }, NEVER);
    await this.syncer.syncTerminatedPod({ pod, observed: await this.observe(pod) }, NEVER);
  }

  phase(pod: NodePod): string | undefined {
    return this.statuses.find(pod.metadata.uid)?.status.phase;
  }

  told(reason: string): string[] {
    return this.events.filter((event) => event.reason === reason).map(({ message }) => message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.changes.settled();
    await this.node[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function podOf(name: string, spec: Record<string, unknown>): NodePod {
  // The runtime of this test has no other network to give.
  const full = { hostNetwork: true, ...spec };
  const { pod, problems } = readPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: full });
  if (pod === undefined) throw new Error(JSON.stringify(problems));
  return toStaticPod(pod, { source: 'file', nodeName: 'node-1' }).pod;
}

function shell(name: string, script: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const common = { image: HOST_IMAGE, imagePullPolicy: 'IfNotPresent' };
  return { name, ...common, command: ['sh', '-c', script], ...more };
}

describe.each(ISOLATIONS)('a pod that is synced on the embedded runtime with isolation %s', (isolation) => {
  let lab: SyncLab;
  beforeEach(async () => {
    lab = await SyncLab.start(isolation);
  });
  afterEach(() => lab[Symbol.asyncDispose]());

  it('lives from its init container to its graceful end', { timeout: 60_000 }, async () => {
    const mark = join(lab.folder, 'mark');
    const pod = podOf('web', {
      terminationGracePeriodSeconds: 20,
      initContainers: [shell('prepare', `echo prepared >${mark}`)],
      containers: [
        shell('app', `trap 'echo ended >>${mark}; exit 0' TERM; while :; do sleep 0.05; done`, {
          env: [
            { name: 'WHO', value: 'world' },
            { name: 'GREETING', value: 'hello $(WHO)' },
          ],
          lifecycle: {
            postStart: { exec: { command: ['sh', '-c', `echo "$GREETING" >>${mark}`] } },
            preStop: { exec: { command: ['sh', '-c', `echo stopping >>${mark}`] } },
          },
        }),
      ],
    });

    await lab.syncUntil(pod, () => lab.phase(pod) === 'Running');
    const running = await lab.observe(pod);
    expect(running.containers.map(({ name, attempt, state }) => [name, attempt, state])).toEqual([
      ['prepare', 0, 'exited'],
      ['app', 0, 'running'],
    ]);
    expect(running.owner).toBe('podloop');
    expect(await lab.sync(pod)).toEqual({ isTerminal: false });
    expect((await lab.observe(pod)).containers).toHaveLength(2);

    await lab.end(pod, 20);
    expect(await readFile(mark, 'utf8')).toBe('prepared\nhello world\nstopping\nended\n');
    expect((await lab.observe(pod)).containers.every(({ state }) => state === 'exited')).toBe(true);
    expect(lab.statuses.find(pod.metadata.uid)?.isFinished).toBe(true);
    expect(lab.events.map(({ reason }) => reason)).toEqual([
      ...['Pulled', 'Created', 'Started', 'Pulled', 'Created', 'Started', 'Killing'],
    ]);
    expect(lab.told('Killing')).toEqual(['Stopping container app']);
    const logs = await readdir(join(lab.folder, 'logs'));
    expect(logs).toEqual([`default_web-node-1_${pod.metadata.uid}`]);
    expect(await readdir(join(lab.folder, 'links'))).toHaveLength(2);
  });

  it('that failed starts again at once, then waits for its back-off', { timeout: 60_000 }, async () => {
    const pod = podOf('crash', { containers: [shell('fails', 'echo last words; exit 3')] });
    await lab.syncUntil(pod, () => lab.told('BackOff').length > 0);
    const { containers } = await lab.observe(pod);
    expect(containers.map(({ restartCount, exitCode }) => [restartCount, exitCode])).toEqual([
      [0, 3],
      [1, 3],
    ]);
    const waiting = lab.statuses.find(pod.metadata.uid)?.status.containerStatuses[0];
    expect(waiting).toMatchObject({ restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } });
    const { requeueAfterMs = 0 } = await lab.sync(pod);
    expect(requeueAfterMs).toBeGreaterThan(0);
    expect(requeueAfterMs).toBeLessThanOrEqual(10_000);
    await lab.end(pod, 1);
  });

  it('that runs once succeeds', { timeout: 60_000 }, async () => {
    const pod = podOf('job', { restartPolicy: 'Never', containers: [shell('once', 'exit 0')] });
    let result: SyncPodResult = { isTerminal: false };
    await until(
      async () => (result = await lab.sync(pod)),
      () => result.isTerminal,
    );
    expect(lab.phase(pod)).toBe('Succeeded');
    expect((await lab.observe(pod)).containers).toHaveLength(1);
    await lab.end(pod, 1);
  });

  it('whose image is not there says so, and backs off', { timeout: 60_000 }, async () => {
    const pod = podOf('wrong', {
      containers: [{ name: 'a', image: 'registry.invalid/none:1', command: ['true'] }],
    });
    await expect(lab.sync(pod)).rejects.toMatchObject({
      code: 'POD_SYNC_FAILED',
      message: expect.stringMatching(/^failed to "StartContainer" for "a" with ErrImagePull: /) as string,
    });
    const { requeueAfterMs = 0 } = await lab.sync(pod);
    expect(requeueAfterMs).toBeGreaterThan(0);
    expect(lab.statuses.find(pod.metadata.uid)?.status.containerStatuses[0]?.state.waiting).toMatchObject({
      reason: 'ImagePullBackOff',
    });
    expect(lab.told('BackOff')).toEqual(['Back-off pulling image "registry.invalid/none:1"']);
    await lab.end(pod, 1);
  });

  it('whose command is wrong says so', { timeout: 60_000 }, async () => {
    const pod = podOf('typo', {
      containers: [{ ...shell('a', ''), command: ['/does/not/exist'] }],
    });
    await expect(lab.sync(pod)).rejects.toThrow(
      /failed to "StartContainer" for "a" with RunContainerError: /,
    );
    expect(lab.told('Failed')[0]).toMatch(/^Error: /);
    await lab.end(pod, 1);
  });

  it.runIf(isolation === 'namespaces')(
    'says with what words its container ended',
    { timeout: 60_000 },
    async () => {
      const script = 'echo done >/dev/termination-log; exit 4';
      const pod = podOf('words', { restartPolicy: 'Never', containers: [shell('a', script)] });
      await lab.syncUntil(pod, () => lab.phase(pod) === 'Failed');
      const [status] = lab.statuses.find(pod.metadata.uid)?.status.containerStatuses ?? [];
      expect(status?.state.terminated).toMatchObject({ exitCode: 4, message: 'done\n' });
      await lab.end(pod, 1);
    },
  );
});
