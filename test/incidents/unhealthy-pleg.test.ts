import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { patiently } from '#support/patience.js';
import { ChaosProxy, parseRules } from '../../src/proxy/chaos/index.js';
import { signalProcess } from '../containerd/harness/processes.js';
import { PodloopProcess, runPodloop } from '../integration/podloop-process.js';
import { IncidentNode, until } from './harness/incident-node.js';
import { findTraces } from './harness/kubelet-traces.js';
import { lockMachine } from './harness/machine-lock.js';
import { writeResult } from './harness/results.js';
import { now, RELEASES, requireKubelet } from './harness/settings.js';
import { lockLists } from './incidents/shims.js';

/** A kubelet whose lists hang looks seldom, and says then how long it was. */
const UNHEALTHY = /PLEG is not healthy: pleg was last seen active/;
const NAMED_MS = 60_000;
/** A kubelet says so after three minutes, and where a call hangs it gives that up after two. */
const UNHEALTHY_MS = 420_000;
/** It examines the node every two minutes. */
const NOTICED_MS = 180_000;
const OVER_MS = 420_000;

/** What is between the kubelet and containerd, and the pods that both know. */
interface Scene {
  readonly node: IncidentNode;
  readonly proxy: ChaosProxy;
  readonly atEnd: (undo: () => unknown) => void;
}

/** How the observer has to name it. */
interface Named {
  /** Any of these codes, as what is critical. */
  readonly codes: readonly string[];
  /** Words of that line. */
  readonly line: readonly string[];
  /** Words of the incident that name the culprit. */
  readonly words: readonly string[];
}

/** Why a generator stands still. */
interface Cause {
  readonly name: string;
  /** Whether it is made by a proxy between the runtime and everybody else. */
  readonly isByProxy?: true;
  /** Makes it. */
  readonly make: (scene: Scene) => Promise<Named>;
}

const CAUSES: readonly Cause[] = [
  {
    name: 'the list of containers is locked by a stopped shim whose container is updated',
    make: async ({ node, atEnd }) => {
      const { shim, containerId, fullName } = await node.find('web');
      await signalProcess(shim, 'SIGSTOP');
      atEnd(() => signalProcess(shim, 'SIGCONT'));
      await lockLists({ node }, containerId);
      const culprit = [fullName, `(pid ${shim.pid})`];
      return { codes: ['ShimStopped'], line: culprit, words: [...culprit, 'ListHangs'] };
    },
  },
  {
    name: 'the list of containers is larger than 16 MiB',
    make: async ({ node, atEnd }) => {
      // The kubelet keeps the hook of a container in an annotation of it.
      const preStop = { exec: { command: ['true', 'x'.repeat(1024 * 1024)] } };
      const names = Array.from({ length: 18 }, (_, at) => `wordy-${at}`);
      for (const name of names) await node.want({ name, container: { lifecycle: { preStop } } });
      atEnd(async () => {
        for (const name of names) await node.unwant(name);
        // A kubelet that sees no list ends no pod.
        await node.containerd.driver.removeAllPods();
      });
      return {
        codes: ['ListTooLarge'],
        line: ['larger than the 16MiB'],
        words: ['ListContainers', 'default/wordy-'],
      };
    },
  },
  {
    name: 'the status calls of three pods hang',
    isByProxy: true,
    make: async ({ node, proxy, atEnd }) => {
      const names = ['web', 'db', 'cache'];
      const pods = await Promise.all(names.map((name) => node.find(name)));
      const match = `{ methods: [ContainerStatus, PodSandboxStatus], pods: [${pods.map(({ fullName }) => fullName).join(', ')}] }`;
      proxy.replaceRules(
        parseRules(`rules: [{ name: hung, match: ${match}, fault: { type: hang } }]`, 'scenario.yaml'),
      );
      atEnd(() => proxy.replaceRules([]));
      for (const { processes } of pods) for (const each of processes) await signalProcess(each, 'SIGKILL');
      const line = ['Status hangs'];
      return { codes: ['PodHung', 'PodsHung'], line, words: pods.map(({ fullName }) => fullName) };
    },
  },
];

async function showIncident(root: string): ReturnType<typeof runPodloop> {
  return runPodloop([
    'incident',
    'show',
    '1',
    '--root-dir',
    root,
    '--socket',
    path.join(root, 'podloop.sock'),
  ]);
}

const kubelet = requireKubelet();

describe.each(RELEASES)('podloop observe beside a kubelet on containerd %s', (release) => {
  let node: IncidentNode;
  let proxy: ChaosProxy;
  let folder: string;
  let lock: AsyncDisposable;

  beforeEach(async () => {
    lock = await lockMachine('shared');
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-unhealthy-'));
    node = await IncidentNode.start(release, kubelet, folder);
    const listen = `unix://${path.join(folder, 'chaos.sock')}`;
    proxy = await ChaosProxy.start({ upstream: node.containerd.endpoint, listen, rules: [], seed: 1 });
  });

  afterEach(async () => {
    await node[Symbol.asyncDispose]();
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
    await lock[Symbol.asyncDispose]();
  });

  it.each(CAUSES)(
    'names why PLEG is not healthy before the kubelet says that it is not: $name',
    { timeout: patiently(NAMED_MS + UNHEALTHY_MS + NOTICED_MS + OVER_MS + 120_000) },
    async ({ name, make, isByProxy }) => {
      if (isByProxy === true) {
        await node.endKubelet();
        node.runtimeEndpoint = proxy.endpoint;
        await node.startKubelet();
      }
      for (const pod of ['web', 'db', 'cache', 'well']) await node.run({ name: pod });
      const root = path.join(folder, 'observe');
      const { url, healthzUrl } = node.kubeletUrls;
      await using observer = new PodloopProcess([
        ...['observe', '--runtime-endpoint', node.runtimeEndpoint, '--root-dir', root],
        ...['--node-name', 'incident', '--metrics-bind-address', '0'],
        ...['--kubelet-url', url, '--healthz-url', healthzUrl],
      ]);
      await observer.line('stderr', /Starting to listen".*socket/);
      const before = await node.readTraces();
      const undos: (() => unknown)[] = [];
      const began = performance.now();
      const hasSaid = (line: RegExp): boolean => observer.stderr.some((each) => line.test(each));
      const isUnhealthy = async (): Promise<boolean> =>
        UNHEALTHY.test((await node.readTraces()).log.slice(before.log.length));
      try {
        const { codes, line, words } = await make({ node, proxy, atEnd: (undo) => undos.push(undo) });
        const naming = new RegExp(`"Finding began" code="(${codes.join('|')})" severity="critical"`);
        const find = (): string | undefined =>
          observer.stderr.find((each) => naming.test(each) && line.every((word) => each.includes(word)));
        await until(`the observer says ${codes.join(' or ')}`, NAMED_MS, () =>
          Promise.resolve(find() !== undefined),
        );
        const code = naming.exec(find()!)![1]!;
        const namedMs = performance.now() - began;
        expect(await isUnhealthy()).toBe(false);
        await until('the kubelet says that PLEG is not healthy', UNHEALTHY_MS, isUnhealthy);
        const unhealthyMs = performance.now() - began;
        await until('the incident has what became of the kubelet', NOTICED_MS, async () =>
          (await showIncident(root)).stdout.includes('KubeletRelistStuck'),
        );
        const kubeletTraces = findTraces(before, await node.readTraces(), Date.now());
        for (const undo of undos.splice(0).reverse()) await undo();
        await until('the kubelet is healthy', OVER_MS, async () => (await fetch(healthzUrl)).ok);
        const isOver = new RegExp(`"Finding is over" code="${code}"`);
        await until('the finding is over', OVER_MS, () => Promise.resolve(hasSaid(isOver)));
        expect(await observer.end('SIGTERM')).toEqual({ code: 0, signal: null });

        const shown = await showIncident(root);
        console.log(`${release}, ${name}:\n${shown.stdout}`);
        expect([shown.code, shown.stderr]).toEqual([0, '']);
        for (const word of words) expect(shown.stdout).toContain(word);
        expect(shown.stdout).toContain('KubeletRelistStuck');
        await writeResult({
          ...{ incident: `observe, until PLEG is not healthy: ${name}`, containerd: release },
          ...{ verdict: 'right', why: '', tookS: namedMs / 1_000, kubelet: kubeletTraces },
          said: `${code}; the kubelet said it after ${Math.round(unhealthyMs / 1_000)} s`,
          ...now(),
        });
      } finally {
        console.log(`what the observer said:\n${observer.stderr.join('\n')}`);
        for (const undo of undos.reverse()) await undo();
      }
    },
  );
});
