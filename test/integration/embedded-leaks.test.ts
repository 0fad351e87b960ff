/**
 * Pods that were removed leave nothing behind: no process, mount, namespace, interface, cgroup, open file or memory.
 *
 * A few pods in each run of the tests; PODLOOP_LEAK_PODS says how many else. Needs root.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedNode, SANDBOX_READY, until } from './embedded-node.js';
import { RuntimeProgram } from './embedded-process.js';
import { recordResult } from './results-page.js';
import { type EnclosureFacts, RuntimeEnclosure } from './runtime-enclosure.js';

const PODS = Number(process.env.PODLOOP_LEAK_PODS ?? '4');
const AT_ONCE = 4;
const GIB = 2 ** 30;
/** What Node's heap may grow by without anything being wrong, and what a pod may cost for good: nothing, as far as that can be measured. */
const HEAP_SLACK_BYTES = 48 * 2 ** 20;
const POD_SLACK_BYTES = 16 * 2 ** 10;
const TIME_LIMIT_MS = 120_000 + PODS * 5_000;

describe.runIf(process.getuid?.() === 0)(`${PODS} pods of two containers, twice`, () => {
  const toDispose: AsyncDisposable[] = [];
  let node: EmbeddedNode;
  let enclosure: RuntimeEnclosure;
  let before: EnclosureFacts;
  const measured: Record<string, number> = { pods: PODS };

  beforeAll(async () => {
    const program = await RuntimeProgram.build();
    toDispose.unshift(program);
    node = await EmbeddedNode.prepare({ isolation: 'namespaces' });
    toDispose.unshift(node);
    enclosure = await RuntimeEnclosure.start(program, node);
    toDispose.unshift(enclosure);
    // What is made with the first pod and kept, such as the bridge, is no leak.
    await startPods('warm', 2);
    await removePods();
    before = await settled();
  }, TIME_LIMIT_MS);

  afterAll(async () => {
    await recordResult('embedded', 'The embedded runtime', {
      name: `${PODS} pods of two containers, started, listed, removed, twice`,
      what: 'Processes, mounts, namespaces, interfaces, cgroups, open files and memory are counted before and after; what is left over fails the run.',
      values: toValues(measured),
    });
    for (const each of toDispose) await each[Symbol.asyncDispose]();
  }, TIME_LIMIT_MS);

  /** Starts pods with a container that runs and one that has ended. */
  async function startPods(name: string, count: number): Promise<void> {
    await inTurns(count, async (at) => {
      const pod = await node.runPod(`${name}-${at}`);
      await node.run(pod, `${name}-${at}-a`, 'echo started; exec sleep 100000');
      await node.run(pod, `${name}-${at}-b`, 'echo started >&2; sleep 100000 & exec sleep 100000');
    });
  }

  async function removePods(): Promise<void> {
    const { items } = await node.client.listPodSandbox({});
    await inTurns(items.length, async (at) => {
      const podSandboxId = items[at]!.id;
      await node.client.stopPodSandbox({ podSandboxId });
      await node.client.removePodSandbox({ podSandboxId });
    });
  }

  /** The facts once nothing changes any more: what a removal leaves for the background is done then. */
  async function settled(): Promise<EnclosureFacts> {
    let last = await enclosure.facts();
    await until(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 500));
        const facts = await enclosure.facts();
        const same = facts.processes.length === last.processes.length && facts.openFiles === last.openFiles;
        last = facts;
        return same;
      },
      (same) => same,
    );
    return last;
  }

  function expectNothingLeft(after: EnclosureFacts): void {
    expect(after.processes).toEqual(before.processes);
    // Mounts of other tests, which were there at the start, may go meanwhile.
    expect(withoutThose(after.mounts, before.mounts)).toEqual([]);
    expect(after.namespaces).toBe(before.namespaces);
    expect(after.interfaces).toEqual(before.interfaces);
    expect(after.cgroups).toEqual([]);
  }

  it(
    'are all there, within their means',
    async () => {
      const begun = performance.now();
      await startPods('first', PODS);
      measured.startMs = performance.now() - begun;
      const facts = await enclosure.facts();
      const { items } = await node.client.listPodSandbox({ filter: { state: { state: SANDBOX_READY } } });
      expect(items).toHaveLength(PODS);
      const listBegun = performance.now();
      const { stats } = await node.client.listContainerStats({});
      measured.listContainerStatsMs = performance.now() - listBegun;
      expect(stats.filter(({ cpu }) => cpu !== undefined)).toHaveLength(2 * PODS);
      expect(facts.processes.length).toBeGreaterThanOrEqual(before.processes.length + 4 * PODS);
      expect(facts.allBytes).toBeLessThan(8 * GIB);
      // What the kernel needs for it shows only here, together with what others do meanwhile.
      expect(before.machineAvailableBytes - facts.machineAvailableBytes).toBeLessThan(8 * GIB);
      measured.machineBytes = before.machineAvailableBytes - facts.machineAvailableBytes;
      measured.processes = facts.processes.length;
      measured.namespaces = facts.namespaces;
      measured.cgroups = facts.cgroups.length;
      measured.openFiles = facts.openFiles;
      measured.runtimeBytes = facts.runtimeBytes;
      measured.allBytes = facts.allBytes;
    },
    TIME_LIMIT_MS,
  );

  it(
    'leave nothing behind when they are removed',
    async () => {
      const begun = performance.now();
      await removePods();
      measured.removeMs = performance.now() - begun;
      const after = await settled();
      expectNothingLeft(after);
      expect(after.openFiles).toBe(before.openFiles);
      measured.runtimeBytesAfter = after.runtimeBytes;
    },
    TIME_LIMIT_MS,
  );

  it(
    'leave no memory behind: the second time the runtime needs no more than the first',
    async () => {
      const first = await enclosure.facts();
      await startPods('second', PODS);
      await removePods();
      const second = await settled();
      expectNothingLeft(second);
      expect(second.openFiles).toBe(before.openFiles);
      expect(second.runtimeBytes - first.runtimeBytes).toBeLessThan(
        HEAP_SLACK_BYTES + PODS * POD_SLACK_BYTES,
      );
      measured.runtimeBytesAfterAgain = second.runtimeBytes;
    },
    TIME_LIMIT_MS,
  );

  it(
    'leave nothing behind when the runtime was killed while they were made, and while they were removed',
    async () => {
      const making = startPods('killed', 6).catch(() => undefined);
      await until(
        async () => (await enclosure.facts()).processes.length,
        (count) => count > before.processes.length + 10,
      );
      await enclosure.killRuntime();
      await making;
      const removing = removePods().catch(() => undefined);
      await until(
        async () => (await node.client.listPodSandbox({}).catch(() => undefined))?.items.length ?? 6,
        (left) => left < 5,
      );
      await enclosure.killRuntime();
      await removing;
      await removePods();
      const after = await settled();
      expectNothingLeft(after);
    },
    TIME_LIMIT_MS,
  );
});

/** Bytes in MiB and milliseconds in seconds, for people. */
function toValues(measured: Readonly<Record<string, number>>): Record<string, string | number> {
  const entries = Object.entries(measured).map(([name, value]): [string, string | number] => {
    if (name.includes('Bytes')) return [name, `${Math.round(value / 2 ** 20)} MiB`];
    return [name, name.endsWith('Ms') ? `${(value / 1_000).toFixed(2)} s` : value];
  });
  return Object.fromEntries(entries);
}

/** What is in a list more often than in the other. */
function withoutThose(list: readonly string[], those: readonly string[]): string[] {
  const left = [...those];
  return list.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

async function inTurns(count: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
