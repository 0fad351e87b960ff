/**
 * The node agent with hundreds of pods: how much it looks, syncs and asks of the runtime, and that it keeps no more memory
 * than it needs. Everything is counted; nothing depends on how fast the machine is.
 *
 * A part of the pods in each run of the tests, all of them with PODLOOP_SCALE=full. The runtime is one in memory.
 *
 * @module
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { type AgentOptions } from '../../src/node/options/agent-options.js';
import { cri } from '../../src/watch/cri/index.js';
import { PLEG_MODES } from '../../src/watch/pleg/relist/relist-cadence.js';
import { recordResult, type RunResult } from './results-page.js';
import { type Effort, effortSince, ScaleNode } from './scale/scale-node.js';

const FULL = process.env['PODLOOP_SCALE'] === 'full';
/** A hang must fail; a machine that others keep busy takes its time for hundreds of pods. */
const LIMIT_MS = FULL ? 900_000 : 240_000;

/** Pods with one running container, found at the start; and so many ended ones before each. */
const FOUND_PODS = FULL ? 300 : 30;
const PAST_EACH = 5;

let scale: ScaleNode;
afterEach(async () => {
  await scale[Symbol.asyncDispose]();
}, LIMIT_MS);

const names = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `pod-${String(index).padStart(3, '0')}`);

async function until(holds: () => boolean): Promise<void> {
  await expect.poll(holds, { timeout: LIMIT_MS, interval: 20 }).toBe(true);
}

async function startAll(all: readonly string[], options: Partial<AgentOptions> = {}): Promise<void> {
  for (const name of all) await scale.writeManifest(name);
  await scale.startAgent(options);
  await until(() => scale.runningNames().length === all.length);
}

describe.each(PLEG_MODES)(
  `${FOUND_PODS} running and ${FOUND_PODS * PAST_EACH} exited containers found at the start, in mode %s`,
  (mode) => {
    it(
      'are brought into step with their manifests with a bounded number of looks and calls',
      async () => {
        scale = await ScaleNode.prepare();
        const all = names(FOUND_PODS);
        const { pods } = scale.runtime;
        await startAll(all);
        await scale.stopAgent();

        // While no agent runs: past lives, deaths, and manifests that come, go and change.
        const podOf = new Map<string, string>();
        for (const { id, sandboxId } of pods.running()) {
          podOf.set(
            pods.sandboxes.get(sandboxId)!.config.metadata!.name.replace(/-test$/, ''),
            pods.addPast(id, PAST_EACH),
          );
        }
        const removed = all.slice(0, FOUND_PODS / 10);
        const edited = all.slice(FOUND_PODS / 10, FOUND_PODS / 5);
        const killed = all.slice(FOUND_PODS / 5, (FOUND_PODS * 3) / 10);
        const well = all.slice((FOUND_PODS * 3) / 10);
        const wellIds = well.map((name) => podOf.get(name)!);
        for (const name of removed) await scale.removeManifest(name);
        for (const name of edited) await scale.writeManifest(name, { arg: 'b' });
        for (const name of killed) pods.end(podOf.get(name)!, 1);
        expect(pods.exited()).toHaveLength(FOUND_PODS * PAST_EACH + killed.length);
        pods.stopped.length = 0;

        const before = scale.effort();
        const startedMs = performance.now();
        // Those that were killed have a past, so they wait for their back-off, which is not what is tried here.
        await scale.startAgent({ mode, maxContainerRestartPeriodMs: 1 });
        const wanted = [...edited, ...killed, ...well].sort();
        // What was edited is made anew; the sandbox before is kept as long as the dead containers in it.
        const areSandboxesOf = (names: readonly string[]): boolean => {
          const sandboxes = [...pods.sandboxes.values()];
          const ready = sandboxes.filter(({ state }) => state === cri.PodSandboxState.SANDBOX_READY);
          const podNames = sandboxes.map(({ config }) => config.metadata!.name.replace(/-test$/, ''));
          return ready.length === names.length && podNames.every((name) => names.includes(name));
        };
        const isInStep = (): boolean =>
          JSON.stringify(scale.runningNames().sort()) === JSON.stringify(wanted) &&
          edited.every((name) => argsOf(name) === 'b') &&
          pods.running().length === wanted.length &&
          areSandboxesOf(wanted);
        await until(isInStep);
        const tookMs = performance.now() - startedMs;
        const effort = effortSince(before, scale.effort());
        // Each change may be looked at as it is made, as it is told of and once more; besides that there is the period.
        const changed = removed.length + edited.length + killed.length;
        const { relistsOfAll, relistsOfOne, syncs, calls } = effort;
        expect(relistsOfAll + relistsOfOne).toBeLessThan(3 * changed + tookMs / 1_000 + 10);
        expect(syncs).toBeLessThan(2 * FOUND_PODS);
        expect(calls.get('ContainerStatus')).toBeLessThan(3 * FOUND_PODS * (PAST_EACH + 1));
        expect(calls.get('PodSandboxStatus')).toBeLessThan(3 * FOUND_PODS);
        expect(pods.ranTwice).toEqual([]);
        expect(pods.running().map(({ id }) => id)).toEqual(expect.arrayContaining(wellIds));
        // But for the time before the first look, and for what only a machine has to answer for that is busy.
        const expected = ['pleg has yet to be successful', 'Housekeeping took longer than expected'];
        const complaints = scale.complaints.filter((each) => !expected.some((part) => each.includes(part)));
        expect(complaints).toEqual([]);
        await recordScale({
          name: `${FOUND_PODS} running and ${FOUND_PODS * PAST_EACH} exited containers found at the start, mode ${mode}`,
          what: 'A tenth of the manifests went, a tenth changed and a tenth of the containers died while no agent ran. Until every pod is as its manifest says, on a runtime in memory.',
          values: describeEffort(effort, tookMs),
        });
      },
      LIMIT_MS,
    );
  },
);

const IDLE_PODS = FULL ? 500 : 50;

describe(`${IDLE_PODS} pods to which nothing happens`, () => {
  it(
    'are held against their manifests without a look at any of them, and looked at as the mode says',
    async () => {
      scale = await ScaleNode.prepare();
      const all = names(IDLE_PODS);
      // Each is synced after ten times that, as nothing has changed.
      await startAll(all, { syncFrequencyMs: 100 });
      // What the starts have set off.
      let [before, startedMs] = [scale.effort(), performance.now()];
      await until(() => {
        const { calls, relistsOfOne } = effortSince(before, scale.effort());
        const isQuiet = relistsOfOne === 0 && !calls.has('ContainerStatus') && !calls.has('RemoveContainer');
        if (!isQuiet) [before, startedMs] = [scale.effort(), performance.now()];
        return isQuiet && performance.now() - startedMs > 2_000;
      });

      [before, startedMs] = [scale.effort(), performance.now()];
      await until(() => effortSince(before, scale.effort()).syncs >= 3 * IDLE_PODS);
      const effort = effortSince(before, scale.effort());
      const tookMs = performance.now() - startedMs;
      const seconds = tookMs / 1_000;
      const { calls, relistsOfAll, relistsOfOne } = effort;
      expect(relistsOfOne).toBe(0);
      expect(relistsOfAll).toBeLessThanOrEqual(seconds / 10 + 1);
      expect(
        [...calls.keys()].filter(
          (method) => !['Status', 'ListPodSandbox', 'ListContainers'].includes(method),
        ),
      ).toEqual([]);
      expect(calls.get('Status') ?? 0).toBeLessThanOrEqual(seconds / 5 + 1);
      expect(scale.runtime.pods.ranTwice).toEqual([]);
      if (FULL) await recordIdle();
    },
    LIMIT_MS,
  );
});

/** As an agent is that was told nothing else, half a minute after its start. */
async function recordIdle(): Promise<void> {
  await scale.stopAgent();
  await scale.startAgent();
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  const [before, cpuBefore, startedMs] = [scale.effort(), process.cpuUsage(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  const tookMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const effort = effortSince(before, scale.effort());
  await recordScale({
    name: `${IDLE_PODS} pods to which nothing happens, for a minute`,
    what: 'Every option as it is unless told. The runtime is in memory and in the same process, so its CPU is counted too.',
    values: {
      ...describeEffort(effort, tookMs),
      'CPU, % of a core': Math.round((user + system) / tookMs) / 10,
      'resident memory of agent, runtime and test runner, MiB': Math.round(
        process.memoryUsage.rss() / 2 ** 20,
      ),
    },
  });
}

const MEMORY_PODS = FULL ? 500 : 20;
/** Each kill is four events of the runtime: stopped, deleted, created, started. */
const ROUNDS = FULL ? 6 : 2;
/** What a heap differs by although nothing grows. */
const HEAP_SLACK_BYTES = 3 * 2 ** 20;

describe(`${MEMORY_PODS} pods whose containers are killed again and again`, () => {
  it(
    'cost no more memory after many events than after a few',
    async () => {
      scale = await ScaleNode.prepare();
      const { runtime } = scale;
      const all = names(MEMORY_PODS);
      await startAll(all, { maxContainerRestartPeriodMs: 1 });
      const killAll = async (): Promise<void> => {
        const ids = runtime.pods.running().map(({ id }) => id);
        for (const id of ids) runtime.pods.end(id, 1);
        await until(() => {
          const isNew = runtime.pods.running().every(({ id }) => !ids.includes(id));
          return (
            isNew &&
            runtime.pods.running().length === all.length &&
            scale.runningNames().length === all.length &&
            // What the runtime in memory has not got rid of is not what the agent keeps.
            runtime.eventsUnderWay === 0
          );
        });
      };
      // Past lives are kept up to a number, and caches have their size.
      for (let round = 0; round < 3; round++) await killAll();
      const heaps = [await settledHeap()];
      const eventsBefore = runtime.eventsSent;
      for (let round = 0; round < ROUNDS; round++) {
        await killAll();
        heaps.push(await settledHeap());
      }
      const events = runtime.eventsSent - eventsBefore;
      expect(runtime.pods.ranTwice).toEqual([]);
      expect(heaps.at(-1)! - heaps[0]!).toBeLessThan(HEAP_SLACK_BYTES);
      await recordScale({
        name: `${MEMORY_PODS} pods whose containers are killed again and again`,
        what: 'The heap after each round in which every container was killed and restarted, the runtime in memory included.',
        values: {
          'events of the runtime': events,
          'heap, MiB': heaps.map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(', '),
        },
      });
    },
    LIMIT_MS,
  );
});

async function recordScale(result: RunResult): Promise<void> {
  if (FULL) await recordResult('agent', 'The node agent', result);
}

function describeEffort(
  { relistsOfAll, relistsOfOne, syncs, calls }: Effort,
  tookMs: number,
): Record<string, string | number> {
  return {
    seconds: Math.round(tookMs / 100) / 10,
    'looks at all pods': relistsOfAll,
    'looks at one pod': relistsOfOne,
    syncs,
    'CRI calls': [...calls].map(([method, count]) => `${method} ${count}`).join(', '),
  };
}

/** Bytes in use once everything that nobody needs is gone. */
async function settledHeap(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let least = Infinity;
  for (let at = 0; at < 5; at++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    collect();
    least = Math.min(least, process.memoryUsage().heapUsed);
  }
  return least;
}

function argsOf(name: string): string | undefined {
  const { pods } = scale.runtime;
  const container = pods
    .running()
    .find(({ sandboxId }) => pods.sandboxes.get(sandboxId)?.config.metadata?.name === `${name}-test`);
  return container?.config.args[0];
}
