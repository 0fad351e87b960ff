import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { CriClient } from '../../src/watch/cri/index.js';
import { SecurityFacts } from '../../src/node/resources/facts/security-facts.js';
import { readNodeIds } from '../../src/node/resources/users/node-ids.js';
import { PodIdRanges } from '../../src/node/resources/users/pod-id-ranges.js';
import { PodPaths } from '../../src/watch/observed/pod-paths.js';
import { LocalApiClient } from '../integration/local-api-client.js';
import { AgentNode } from '../integration/pod-stories/agent-node.js';
import { podOf, shell, SyncHarness } from '../integration/sync-harness.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { BUSYBOX_IMAGE } from './harness/image.js';
import { readInstalled, type Release } from './harness/installed.js';
import { findLeftovers } from './harness/leftovers.js';

const UNIT = 65_536;
const SLEEP = 'trap "exit 0" TERM; while :; do sleep 0.1; done';

const busybox = (name: string, script: string, more: Readonly<Record<string, unknown>> = {}) =>
  shell(name, BUSYBOX_IMAGE, script, more);

/** A containerd, and an agent's parts that start pods on it. */
class UsersHarness implements AsyncDisposable {
  readonly containerd: Containerd;
  readonly client: CriClient;
  readonly folder: string;
  sync!: SyncHarness;
  ranges!: PodIdRanges;

  private constructor(containerd: Containerd, folder: string) {
    this.containerd = containerd;
    this.folder = folder;
    this.client = new CriClient({ endpoint: containerd.endpoint });
  }

  static async start(version: Release, ociRuntime?: string): Promise<UsersHarness> {
    const containerd = await startContainerd({ version, ...(ociRuntime !== undefined && { ociRuntime }) });
    // As /run and /var/lib: roots of containers lie below it, and their users are others here.
    await chmod(containerd.folder, 0o711);
    const folder = await mkdtemp(path.join(tmpdir(), 'podloop-users-'));
    const harness = new UsersHarness(containerd, folder);
    await harness.startAgent();
    return harness;
  }

  /** Another one in place of the last: what that had in memory is gone. */
  async startAgent(): Promise<void> {
    const facts = await SecurityFacts.read();
    facts.take(await this.client.status({}, {}));
    const paths = new PodPaths({ rootDir: path.join(this.folder, 'agent'), podLogsDir: '' });
    this.ranges = await PodIdRanges.open({
      ...{ paths, idsPerPod: UNIT },
      readNodeIds: async () => readNodeIds(UNIT),
    });
    this.sync = new SyncHarness({
      ...{ client: this.client, folder: this.folder, canMount: true },
      cgroupParent: this.containerd.names.cgroupParent,
      users: {
        findProblem: (handler) => facts.findUserNamespaceProblem(handler),
        take: async (uid, present) => this.ranges.take(uid, present),
      },
    });
  }

  /** The lines of a container's log. */
  async readLog(pod: NodePod, container: string, restartCount = 0): Promise<string[]> {
    const file = this.sync.paths.containerLogFile(pod.metadata, container, restartCount);
    const log = await readFile(file, 'utf8');
    return log
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' ').slice(3).join(' '));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sync[Symbol.asyncDispose]();
    this.client.close();
    await this.containerd[Symbol.asyncDispose]();
    expect(await findLeftovers(this.containerd.names)).toEqual([]);
  }
}

describe('pods with users of their own on containerd 2.1', () => {
  let lab: UsersHarness;
  beforeAll(async () => {
    const { newRunc } = await readInstalled();
    lab = await UsersHarness.start('2.1', newRunc);
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  it('are nobody on the node, own their volumes, and go on with their ids under another agent', async () => {
    const shared = path.join(lab.folder, 'shared');
    await mkdir(shared);
    await writeFile(path.join(shared, 'given'), 'given\n', { mode: 0o600 });
    await chown(path.join(shared, 'given'), 1000, 2000);
    const mounts = [
      { name: 'room', mountPath: '/room' },
      { name: 'shared', mountPath: '/shared' },
      { name: 'room', mountPath: '/sub', subPath: 'below' },
      { name: 'memory', mountPath: '/memory' },
    ];
    const look = [
      'cat /proc/self/uid_map /proc/self/gid_map | tr -s " "',
      'id',
      'stat -c "%u:%g %n" /shared/given /room /etc/hosts /etc/resolv.conf',
      'touch /room/mine /shared/mine /sub/mine /memory/mine',
      'chown 1000:1000 /room/mine',
      'stat -c "%u:%g %n" /room/mine /shared/mine /sub/mine /memory/mine',
      'test -w /etc/hosts && echo writable',
      'echo done >/dev/termination-log',
    ];
    const pod = podOf('own', {
      hostUsers: false,
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 5,
      securityContext: { fsGroup: 3000 },
      volumes: [
        { name: 'room', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'shared', hostPath: { path: shared } },
      ],
      containers: [
        busybox('app', `${look.join(' && ')}; ${SLEEP}`, { volumeMounts: mounts }),
        busybox('user', `id -u; cat /shared/given; ${SLEEP}`, {
          volumeMounts: mounts,
          securityContext: { runAsUser: 1000 },
        }),
      ],
    });
    await lab.sync.syncUntil(pod, () => lab.sync.status(pod)?.phase === 'Running');
    const range = await lab.ranges.take(pod.metadata.uid);
    expect(range.hostId % UNIT).toBe(0);
    expect(range.hostId).toBeGreaterThanOrEqual(UNIT);

    const map = ` 0 ${range.hostId} ${UNIT}`;
    await expect
      .poll(() => lab.readLog(pod, 'app'))
      .toEqual([
        ...[map, map],
        'uid=0(root) gid=0(root) groups=0(root),3000',
        ...['1000:2000 /shared/given', '0:3000 /room', '0:0 /etc/hosts', '0:0 /etc/resolv.conf'],
        ...['1000:1000 /room/mine', '0:0 /shared/mine', '0:3000 /sub/mine', '0:3000 /memory/mine'],
        'writable',
      ]);
    await expect.poll(() => lab.readLog(pod, 'user')).toEqual(['1000', 'given']);
    // On the disk owners are those that the pod sees.
    expect(await stat(path.join(shared, 'mine'))).toMatchObject({ uid: 0, gid: 0 });

    const { containers } = await lab.sync.observe(pod);
    const app = containers.find(({ name }) => name === 'app')!;
    const { info } = await lab.client.containerStatus({ containerId: app.id, verbose: true }, {});
    const { pid } = JSON.parse(info['info']!) as { pid: number };
    expect(await readFile(`/proc/${pid}/status`, 'utf8')).toContain(`Uid:\t${range.hostId}\t`);
    const command = await lab.sync.changes.execSync(app.id, ['id', '-u'], 5);
    expect(command).toMatchObject({ exitCode: 0 });

    // A container that another agent starts joins the others.
    const taken = (await lab.sync.observe(pod)).sandboxes[0];
    expect(taken?.idRange).toEqual(range);
    await lab.startAgent();
    await lab.sync.changes.stopContainer(app.id, 1);
    await lab.sync.syncUntil(pod, () => lab.sync.status(pod)?.containerStatuses[0]?.restartCount === 1);
    await expect.poll(() => lab.readLog(pod, 'app', 1)).toContain(map);
    expect(lab.sync.status(pod)?.containerStatuses[0]?.lastState.terminated?.message).toBe('done\n');

    const other = podOf('other', { hostUsers: false, containers: [busybox('app', SLEEP)] });
    await lab.sync.syncUntil(other, () => lab.sync.status(other)?.phase === 'Running');
    const second = await lab.ranges.take(other.metadata.uid);
    expect(Math.abs(second.hostId - range.hostId)).toBeGreaterThanOrEqual(UNIT);
    for (const each of [pod, other]) {
      await lab.sync.end(each, 5);
      await lab.sync.remove(each);
    }
  });

  it('see all of /proc where they ask for it, which others do not', async () => {
    const countMasks = async (name: string, securityContext: object): Promise<number> => {
      const script = 'grep -c " /proc/" /proc/self/mounts; exit 0';
      const containers = [busybox('app', script, { securityContext })];
      const pod = podOf(name, { hostUsers: false, restartPolicy: 'Never', containers });
      await lab.sync.syncUntil(pod, ({ isTerminal }) => isTerminal);
      // The runtime writes it in its own time.
      await expect.poll(() => lab.readLog(pod, 'app')).toHaveLength(1);
      const [count] = await lab.readLog(pod, 'app');
      await lab.sync.end(pod, 1);
      await lab.sync.remove(pod);
      return Number(count);
    };
    expect(await countMasks('masked', {})).toBeGreaterThan(5);
    expect(await countMasks('unmasked', { procMount: 'Unmasked' })).toBe(0);
  });
});

describe('an agent on containerd 2.1', () => {
  it('gives pods of manifests users of their own, counts them, and takes their ids back', async () => {
    const { newRunc } = await readInstalled();
    await using lab = await UsersHarness.start('2.1', newRunc);
    const folder = path.join(lab.folder, 'whole');
    const node = await AgentNode.start({
      ...{ folder, endpoint: lab.containerd.endpoint },
      agent: { cgroupRoot: lab.containerd.names.cgroupParent, idsPerPod: 2 * UNIT, stopPods: true },
    });
    try {
      const manifest = path.join(node.manifestFolder, 'own.json');
      const containers = [busybox('app', `cat /proc/self/uid_map; ${SLEEP}`)];
      const spec = { hostUsers: false, terminationGracePeriodSeconds: 1, containers };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'own' }, spec };
      await writeFile(manifest, JSON.stringify(pod));
      await expect.poll(() => node.logOf('own', 'app')).toHaveLength(1);
      const [map = ''] = await node.logOf('own', 'app');
      const [, first, count] = map.trim().split(/\s+/).map(Number);
      expect([first! % (2 * UNIT), count]).toEqual([0, 2 * UNIT]);

      const pods = path.join(folder, 'node', 'pods');
      const [uid = ''] = await readdir(pods);
      const file = path.join(pods, uid, 'userns');
      const range = { hostId: first, containerId: 0, length: count };
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ uidMappings: [range] });
      const metrics = await new LocalApiClient(node.agent.socket).ask('/metrics');
      expect(metrics.text).toContain('\nkubelet_started_user_namespaced_pods_total 1\n');
      expect(metrics.text).toContain('\nkubelet_started_user_namespaced_pods_errors_total 0\n');

      await rm(manifest);
      await expect.poll(() => readdir(pods)).toEqual([]);
    } finally {
      await node.stop();
    }
  });
});

describe.each([
  { version: '2.1', with: 'a runc that maps no ids of mounts' },
  { version: '1.7', with: 'no word of what its handlers can do' },
] as const)('on containerd $version with $with', ({ version }) => {
  it('pods that ask for users of their own are not started with those of the node', async () => {
    await using lab = await UsersHarness.start(version);
    const pod = podOf('own', { hostUsers: false, containers: [busybox('app', SLEEP)] });
    const words = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    await expect(lab.sync.sync(pod)).rejects.toThrow(words);
    expect(lab.sync.told('FailedCreatePodSandBox')).toEqual([`Failed to create pod sandbox: ${words}`]);
    expect((await lab.sync.observe(pod)).sandboxes).toEqual([]);
  });
});
