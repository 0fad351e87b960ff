import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AgentOptions } from '../../../src/node/options/agent-options.js';
import { ownCgroupRoot } from '../../../src/node/resources/cgroups/build-pod-cgroups.js';
import { cri } from '../../../src/watch/cri/index.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { until } from '../embedded-node.js';
import { AgentNode } from '../pod-stories/agent-node.js';
import { type StoryRuntime } from '../pod-stories/story-suite.js';
import { ForeignNode } from '../whose-pods/foreign-node.js';
import { cpuGroupOf, findByWord, readWeight, removeGroups, treesWith } from './machine-groups.js';
import { patiently } from '#support/patience.js';

/** In the command lines of this run's containers and of no others. */
const MARK = `podloop-groups-${randomBytes(4).toString('hex')}`;
const SCRIPT = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const wordOf = (name: string): string => `${MARK}-${name}`;

const manifest = (name: string, resources = ''): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, uid: ${name}-0123-45 }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 2
  containers:
    - name: main
      image: podloop.test/programs:1
      command: [sh, -c, '${SCRIPT}', ${wordOf(name)}]
      resources: { ${resources} }
`;
/** Starts that many processes and ends; where it cannot, it fails. */
const forking = (name: string, count: number): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, uid: ${name}-0123-45 }
spec:
  hostNetwork: true
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: podloop.test/programs:1
      command: [sh, -c, 'i=0; while test $i -lt ${count}; do sleep 1 & i=$((i + 1)); done']
`;
const PODS = {
  calm: manifest('calm'),
  busy: manifest('busy', 'requests: { cpu: 500m }'),
  sure: manifest('sure', 'limits: { cpu: "1", memory: 64Mi }'),
};

/** To be called inside of a `describe`; each test goes on where the one before ended. */
export function definePodCgroupTests(
  start: (folder: string) => Promise<StoryRuntime>,
  toldBy: 'RuntimeConfig' | 'Status',
): void {
  const otherRoot = `/${MARK}`;
  const logger = new LogRecorder();
  let folder: string;
  let runtime: StoryRuntime;
  let node: AgentNode | undefined;
  let root: string;
  const kubeletParent = `/${MARK}-kubelet/besteffort/podold-0123-45`;

  const startAgent = async (agent: Partial<AgentOptions> = {}): Promise<void> => {
    node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent, logger });
  };
  const stopAgent = async (): Promise<void> => {
    await node?.stop();
    node = undefined;
  };
  const put = async (name: string, text: string): Promise<void> =>
    writeFile(join(folder, 'manifests', `${name}.yaml`), text);
  const pidOf = async (name: string): Promise<number> =>
    (await until(
      () => findByWord(wordOf(name)),
      (pid) => pid !== undefined,
    ))!;
  /** The group of a pod: that of its container is right in it. */
  const podGroupOf = async (name: string): Promise<string> => {
    const pid = await pidOf(name);
    // A runtime may start a process and then move it.
    const group = await until(
      () => cpuGroupOf(pid),
      (path) => path.includes(name),
    );
    return group.slice(0, group.indexOf(`pod${name}-0123-45`) + `pod${name}-0123-45`.length);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-groups-'));
    runtime = await start(folder);
    await startAgent();
    for (const [name, text] of Object.entries(PODS)) await put(name, text);
    const id = await readFile(join(folder, 'node', 'instance-id'), 'utf8');
    root = `/${ownCgroupRoot(id).join('/')}`;
  }, patiently(120_000));

  afterAll(async () => {
    await stopAgent();
    await runtime.end();
    const other = ['besteffort', 'burstable', ''].map((name) => join(otherRoot, 'kubepods', name));
    await removeGroups(...other, otherRoot, kubeletParent, join(kubeletParent, '..'), `/${MARK}-kubelet`);
    await rm(folder, { recursive: true, force: true });
  }, patiently(120_000));

  it('are where a kubelet would have them, below a root of the agent’s own', async () => {
    expect(await podGroupOf('calm')).toBe(`${root}/kubepods/besteffort/podcalm-0123-45`);
    expect(await podGroupOf('busy')).toBe(`${root}/kubepods/burstable/podbusy-0123-45`);
    expect(await podGroupOf('sure')).toBe(`${root}/kubepods/podsure-0123-45`);
  });

  it('are made in the way that the runtime tells, where it tells', () => {
    const told = logger.lines.filter(({ message }) => message === 'Cgroup driver');
    expect(told.map(({ fields }) => fields)).toEqual([{ cgroupDriver: 'cgroupfs', source: toldBy }]);
  });

  it('weigh what their pods ask for of the CPU', async () => {
    const weights = await Promise.all(
      ['calm', 'busy', 'sure'].map(async (name) => readWeight(await podGroupOf(name))),
    );
    expect([
      ['2', '512', '1024'],
      ['1', '20', '39'],
    ]).toContainEqual(weights);
    const burstable = await until(
      () => readWeight(`${root}/kubepods/burstable`),
      (text) => text === weights[1],
    );
    expect(burstable).toBe(weights[1]);
  });

  it('stay theirs under a new agent that puts others elsewhere, also for a container that is started anew', async () => {
    const before = await pidOf('calm');
    await stopAgent();
    await startAgent({ cgroupRoot: otherRoot, stopPods: true });
    process.kill(before, 'SIGKILL');
    const after = await until(
      () => pidOf('calm'),
      (pid) => pid !== before,
    );
    expect(after).not.toBe(before);
    expect(await podGroupOf('calm')).toBe(`${root}/kubepods/besteffort/podcalm-0123-45`);
    await put('late', manifest('late'));
    expect(await podGroupOf('late')).toBe(`${otherRoot}/kubepods/besteffort/podlate-0123-45`);
    const statuses = node!.agent.statuses().filter(({ pod }) => /^(?:busy|sure)/.test(pod.name));
    const restarts = statuses
      .flatMap(({ status }) => status.containerStatuses)
      .map((each) => each.restartCount);
    expect(restarts).toEqual([0, 0]);
  });

  it('stay those that a kubelet gave them when the agent takes a pod over', async () => {
    await stopAgent();
    using kubelet = new ForeignNode({ endpoint: runtime.endpoint, podLogsDir: join(folder, 'pod-logs') });
    const annotations = { 'io.kubernetes.container.hash': '9f0a1b2c' };
    const { sandboxId } = await kubelet.make({
      ...{ name: 'old-test', uid: 'old-0123-45', cgroupParent: kubeletParent },
      containers: [{ name: 'main', script: SCRIPT, word: wordOf('old'), annotations }],
    });
    const before = await pidOf('old');
    await startAgent({ cgroupRoot: otherRoot, adopt: true, stopPods: true });
    await put('old', manifest('old'));
    await until(
      () =>
        node!.agent
          .statuses()
          .some(({ pod, status }) => pod.name === 'old-test' && status.phase === 'Running'),
      Boolean,
    );
    process.kill(before, 'SIGKILL');
    await until(
      () => pidOf('old'),
      (pid) => pid !== before,
    );
    expect(await podGroupOf('old')).toBe(kubeletParent);
    const { items } = await kubelet.client.listPodSandbox({ filter: { id: sandboxId } });
    expect(items.map(({ state }) => state)).toEqual([cri.PodSandboxState.SANDBOX_READY]);
  });

  it('hold no more processes than the agent was told', async () => {
    await stopAgent();
    await startAgent({ cgroupRoot: otherRoot, podPidsLimit: 24, adopt: true, stopPods: true });
    await put('few', forking('few', 10));
    await put('many', forking('many', 60));
    const phaseOf = (name: string): string | undefined =>
      node!.agent.statuses().find(({ pod }) => pod.name === `${name}-test`)?.status.phase;
    const ended = await until(
      () => [phaseOf('few'), phaseOf('many')],
      (phases) => phases.every((phase) => phase === 'Succeeded' || phase === 'Failed'),
    );
    expect(ended).toEqual(['Succeeded', 'Failed']);
    for (const name of ['few', 'many']) await rm(join(folder, 'manifests', `${name}.yaml`));
  });

  it('are gone with their pods, and the agent’s own root with the last of them', async () => {
    const late = await podGroupOf('late');
    for (const name of [...Object.keys(PODS), 'late', 'old'])
      await rm(join(folder, 'manifests', `${name}.yaml`));
    await until(
      () => treesWith(late),
      (trees) => trees.length === 0,
    );
    expect(
      await until(
        () => treesWith(root),
        (trees) => trees.length === 0,
      ),
    ).toEqual([]);
    // A root that others may use stays.
    expect(await treesWith(`${otherRoot}/kubepods`)).not.toEqual([]);
    const said = logger.lines.filter(({ level, message }) => level !== 'info' && /cgroup/i.test(message));
    expect(said).toEqual([]);
  });
}
