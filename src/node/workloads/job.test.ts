import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkloadNode } from '#support/harness/workload-node.js';
import { countPods, isFinished } from './job.js';

let node: WorkloadNode;
beforeEach(async () => void (node = await WorkloadNode.open()));
afterEach(async () => node[Symbol.asyncDispose]());

const jobOf = (spec: object = {}, podSpec: object = {}) => ({
  ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'sum' } },
  spec: {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a:1' }], ...podSpec } },
    ...spec,
  },
});
const root = () => node.trees[0]!.root;
const reasons = () => node.events.map(({ reason }) => reason);
const running = () => node.states().filter(({ end }) => end === undefined);
const endOne = async (how: 'Succeeded' | 'Failed', exitCode?: number) =>
  node.end(running()[0]!.pod.metadata.name, how, exitCode);
const conditions = () => (root().progress.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);

describe('a Job', () => {
  it('runs one pod, named after it, and is complete when that has succeeded', async () => {
    await node.apply(jobOf());
    expect(node.names()).toEqual([expect.stringMatching(/^sum-[bcdf-hj-np-tv-z2-9]{5}$/)]);
    const [{ pod }] = node.states() as [ReturnType<WorkloadNode['state']>];
    expect(pod.metadata.ownerReferences).toMatchObject([{ kind: 'Job', name: 'sum', controller: true }]);
    expect(pod.metadata.labels).toMatchObject({ 'job-name': 'sum', 'batch.kubernetes.io/job-name': 'sum' });
    await endOne('Succeeded');
    expect(conditions()).toEqual(['Complete CompletionsReached']);
    expect(reasons()).toEqual(['SuccessfulCreate', 'Completed']);
    // It stays to be read, and never runs again.
    expect(node.names()).toHaveLength(1);
    await node.restart();
    node.deliver();
    await node.pass(1_000);
    expect(node.all.size).toBe(1);
  });

  it('runs as many at a time as its parallelism says, until enough have succeeded', async () => {
    await node.apply(jobOf({ completions: 5, parallelism: 2 }));
    for (let done = 0; done < 5; done++) {
      expect(running().length).toBe(Math.min(2, 5 - done));
      await endOne('Succeeded');
    }
    expect(node.all.size).toBe(5);
    expect(isFinished(root())).toBe(true);
  });

  it('without completions ends with the first success, once no pod is left', async () => {
    await node.apply(jobOf({ parallelism: 3 }));
    await endOne('Succeeded');
    expect([running().length, isFinished(root())]).toEqual([2, false]);
    await endOne('Failed');
    expect(running()).toHaveLength(1);
    await endOne('Succeeded');
    expect(conditions()).toEqual(['Complete CompletionsReached']);
  });

  it('waits longer after each failure, and fails after backoffLimit of them', async () => {
    await node.apply(jobOf({ backoffLimit: 2 }));
    await endOne('Failed');
    expect(running()).toHaveLength(0);
    await node.pass(9);
    expect(running()).toHaveLength(0);
    await node.pass(1);
    expect(running()).toHaveLength(1);
    await endOne('Failed');
    await node.pass(19);
    expect(running()).toHaveLength(0);
    await node.pass(1);
    await endOne('Failed');
    expect(conditions()).toEqual(['Failed BackoffLimitExceeded']);
    expect(reasons().at(-1)).toBe('BackoffLimitExceeded');
    expect(node.all.size).toBe(3);
  });

  it('counts restarts of containers where they restart in place', async () => {
    await node.apply(jobOf({ backoffLimit: 3 }, { restartPolicy: 'OnFailure' }));
    running()[0]!.restarts = 3;
    await node.settle();
    await node.gone();
    expect(conditions()).toEqual(['Failed BackoffLimitExceeded']);
    expect(countPods(root()).failed).toBe(1);
  });

  it('is over at its deadline, and what still ran has failed', async () => {
    await node.apply(jobOf({ activeDeadlineSeconds: 60, completions: 2, parallelism: 2 }));
    await node.apply(jobOf({ activeDeadlineSeconds: 60, completions: 2, parallelism: 1 }));
    await node.pass(59);
    expect(running()).toHaveLength(1);
    await node.pass(1);
    expect(node.names()).toEqual([]);
    expect(isFinished(root())).toBe(false);
    await node.gone();
    expect(conditions()).toEqual(['Failed DeadlineExceeded']);
    // The other one was one too many.
    expect(countPods(root()).failed).toBe(1);
  });

  it('gives each pod an index where it is indexed, and a failed one again', async () => {
    await node.apply(jobOf({ completionMode: 'Indexed', completions: 3, parallelism: 3 }));
    const byIndex = () =>
      running().map(({ pod }) => pod.metadata.labels!['batch.kubernetes.io/job-completion-index']);
    expect(byIndex()).toEqual(['0', '1', '2']);
    const [{ pod: first }] = running() as [ReturnType<WorkloadNode['state']>];
    expect(first.metadata.name).toMatch(/^sum-0-[a-z0-9]{5}$/);
    expect(first.spec.hostname).toBe('sum-0');
    expect(first.spec.containers[0]!.env).toMatchObject([{ name: 'JOB_COMPLETION_INDEX' }]);
    await node.end(first.metadata.name, 'Failed');
    await node.pass(10);
    expect(byIndex().sort()).toEqual(['0', '1', '2']);
    for (let left = 3; left > 0; left--) await endOne('Succeeded');
    expect(countPods(root())).toEqual({ succeeded: 3, failed: 1, indexes: [0, 1, 2] });
    expect(isFinished(root())).toBe(true);
  });

  it('is suspended and resumed, which counts as no failure', async () => {
    await node.apply(jobOf());
    await node.apply(jobOf({ suspend: true }));
    expect(node.names()).toEqual([]);
    await node.gone();
    await node.apply(jobOf());
    expect(running()).toHaveLength(1);
    expect(countPods(root()).failed).toBe(0);
    expect(reasons()).toEqual([
      ...['SuccessfulCreate', 'SuccessfulDelete', 'Suspended', 'Resumed', 'SuccessfulCreate'],
    ]);
  });

  it.each([
    ['FailJob', { onExitCodes: { operator: 'In', values: [42] } }, ['Failed PodFailurePolicy'], 1],
    ['Ignore', { onExitCodes: { containerName: 'a', operator: 'NotIn', values: [1] } }, [], 0],
    ['Count', { onExitCodes: { operator: 'In', values: [42] } }, ['Failed BackoffLimitExceeded'], 1],
    ['FailJob', { onExitCodes: { operator: 'In', values: [7] } }, ['Failed BackoffLimitExceeded'], 1],
  ])('follows its rules for failures: %s %j', async (action, on, expected, failed) => {
    await node.apply(jobOf({ backoffLimit: 0, podFailurePolicy: { rules: [{ action, ...on }] } }));
    await endOne('Failed', 42);
    await node.pass(60);
    expect(conditions()).toEqual(expected);
    expect(countPods(root()).failed).toBe(failed);
  });

  it('is forgotten after its time, and does not begin again while its manifest is the same', async () => {
    await node.apply(jobOf({ ttlSecondsAfterFinished: 100 }));
    await endOne('Succeeded');
    await node.pass(99);
    expect(node.names()).toHaveLength(1);
    await node.pass(1);
    expect(node.names()).toEqual([]);
    await node.restart();
    node.deliver();
    await node.pass(1_000);
    expect(node.all.size).toBe(1);
    await node.apply();
    await node.apply(jobOf({ ttlSecondsAfterFinished: 100 }));
    expect(node.all.size).toBe(2);
  });

  it('counts a pod that somebody has deleted as failed', async () => {
    await node.apply(jobOf());
    running()[0]!.isStopped = true;
    await node.gone();
    expect(countPods(root()).failed).toBe(1);
    await node.pass(10);
    expect(running()).toHaveLength(1);
  });

  it('runs nothing twice and counts nothing twice, whenever its agent is killed', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('end'), at: fc.nat(7), isGood: fc.boolean() }),
      fc.record({ kind: fc.constant('kill') }),
      fc.record({ kind: fc.constant('pass'), seconds: fc.nat(700) }),
      fc.record({ kind: fc.constant('stop'), at: fc.nat(7) }),
    );
    const sizes = {
      completions: fc.integer({ min: 1, max: 5 }),
      parallelism: fc.integer({ min: 1, max: 4 }),
    };
    await fc.assert(
      fc.asyncProperty(
        fc.record({ ...sizes, backoffLimit: fc.nat(3), isIndexed: fc.boolean() }),
        fc.array(step, { maxLength: 15 }),
        async ({ completions, parallelism, backoffLimit, isIndexed }, steps) => {
          await using lab = await WorkloadNode.open();
          const completionMode = isIndexed ? 'Indexed' : 'NonIndexed';
          await lab.apply(jobOf({ completions, parallelism, backoffLimit, completionMode }));
          for (const each of steps) {
            const live = lab.states().filter(({ end, isStopped }) => end === undefined && !isStopped);
            const pod = 'at' in each ? live[each.at % Math.max(1, live.length)] : undefined;
            if (each.kind === 'kill') {
              await lab.restart();
              lab.deliver();
            } else if ('seconds' in each) await lab.clock.advance(each.seconds * 1_000);
            else if (pod !== undefined && 'isGood' in each) pod.end = each.isGood ? 'Succeeded' : 'Failed';
            else if (pod !== undefined) pod.isStopped = true;
            await lab.gone();
            // And those that the Job has ended at that.
            await lab.gone();
            const [{ root: record }] = lab.trees as [(typeof lab.trees)[0]];
            const all = [...lab.all.values()];
            const good = all.filter(({ end }) => end === 'Succeeded').length;
            const { succeeded, failed } = countPods(record);
            expect(succeeded).toBeLessThanOrEqual(completions);
            if (!isIndexed) expect(succeeded).toBe(good);
            const running = lab.states().filter(({ end, isStopped }) => end === undefined && !isStopped);
            // What still ran as the Job failed has failed with it.
            const hasFailed = record.progress.ending?.type === 'Failed';
            const bad = all.filter((state) => {
              if (state.end !== undefined) return state.end === 'Failed';
              return state.isStopped || (hasFailed && !running.includes(state));
            });
            expect(failed).toBe(bad.length);
            expect(running.length).toBeLessThanOrEqual(Math.min(parallelism, completions - succeeded));
            const uids = record.pods.map(({ uid }) => uid);
            expect(new Set(uids).size).toBe(uids.length);
            if (isFinished(record)) expect(running).toEqual([]);
          }
        },
      ),
      { numRuns: 10 },
    );
  });
});
