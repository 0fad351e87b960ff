import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkloadNode } from '#support/harness/workload-node.js';
import { countPods, isFinished } from './job.js';
import { toV1Workloads } from './v1-workload.js';

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

  describe('with a limit for each index', () => {
    const indexed = (spec: object) => jobOf({ completionMode: 'Indexed', ...spec });
    const indexOf = ({ pod }: ReturnType<WorkloadNode['state']>) =>
      Number(pod.metadata.labels!['batch.kubernetes.io/job-completion-index']);
    const live = () => running().map(indexOf).sort();
    const endIndex = (index: number, how: 'Succeeded' | 'Failed', exitCode?: number) =>
      node.end(running().find((state) => indexOf(state) === index)!.pod.metadata.name, how, exitCode);
    const status = () => {
      const progressOf = () => ({
        ...{ end: undefined, isRunning: false, readySinceMs: undefined, restarts: 0 },
        ...{ isStopped: false, isGone: false, exitCodes: {}, conditions: {} },
      });
      const [job] = toV1Workloads(node.trees[0]!, { nowMs: node.clock.now(), progressOf });
      return job!.status as {
        readonly failedIndexes?: string;
        readonly completedIndexes?: string;
        readonly conditions: readonly { readonly type: string; readonly reason: string }[];
      };
    };

    it('gives up an index after so many failures of it, and goes on with the others', async () => {
      await node.apply(indexed({ completions: 3, parallelism: 3, backoffLimitPerIndex: 1 }));
      await endIndex(1, 'Failed');
      expect(live()).toEqual([0, 2]);
      await node.pass(9);
      expect(live()).toEqual([0, 2]);
      await node.pass(1);
      expect(live()).toEqual([0, 1, 2]);
      const second = running().find((state) => indexOf(state) === 1)!;
      expect(second.pod.metadata.annotations).toMatchObject({
        'batch.kubernetes.io/job-index-failure-count': '1',
      });
      await endIndex(1, 'Failed');
      await node.pass(10_000);
      expect(live()).toEqual([0, 2]);
      expect(status()).toMatchObject({ failedIndexes: '1', completedIndexes: '', conditions: [] });
      await endIndex(0, 'Succeeded');
      await endIndex(2, 'Succeeded');
      expect(conditions()).toEqual(['Failed FailedIndexes']);
      expect(status()).toMatchObject({
        ...{ failedIndexes: '1', completedIndexes: '0,2' },
        conditions: [
          { type: 'FailureTarget', reason: 'FailedIndexes' },
          { type: 'Failed', reason: 'FailedIndexes', message: 'Job has failed indexes' },
        ],
      });
    });

    it('has no other limit by default, and fails with too many failed indexes', async () => {
      const spec = { completions: 20, parallelism: 20, backoffLimitPerIndex: 0 };
      await node.apply(indexed({ ...spec, maxFailedIndexes: 8 }));
      for (let index = 0; index < 8; index++) await endIndex(index, 'Failed');
      expect(conditions()).toEqual([]);
      await endIndex(9, 'Failed');
      await node.gone();
      expect(conditions()).toEqual(['Failed MaxFailedIndexesExceeded']);
      expect(status().failedIndexes).toBe('0-7,9');
      expect(reasons().at(-1)).toBe('MaxFailedIndexesExceeded');
      // What still ran has failed with it, as pods and not as indexes.
      expect(countPods(root())).toMatchObject({ failed: 20, failedIndexes: { length: 9 } });
    });

    it('lets an index in its back-off hold its place, as Kubernetes does', async () => {
      await node.apply(indexed({ completions: 3, parallelism: 1, backoffLimitPerIndex: 3 }));
      await endIndex(0, 'Failed');
      expect(live()).toEqual([]);
      await node.pass(10);
      expect(live()).toEqual([0]);
      await endIndex(0, 'Failed');
      await node.pass(19);
      expect(live()).toEqual([]);
      await node.pass(1);
      await endIndex(0, 'Succeeded');
      expect(live()).toEqual([1]);
    });

    it('fails an index at once, or counts nothing, by rules for failures', async () => {
      const on = (code: number) => ({ onExitCodes: { operator: 'In', values: [code] } });
      const rules = [
        { action: 'FailIndex', ...on(42) },
        { action: 'Ignore', ...on(7) },
      ];
      const spec = { completions: 2, parallelism: 2, backoffLimitPerIndex: 1 };
      await node.apply(indexed({ ...spec, podFailurePolicy: { rules } }));
      await endIndex(0, 'Failed', 42);
      await node.pass(1_000);
      expect(live()).toEqual([1]);
      expect(status().failedIndexes).toBe('0');
      for (let times = 0; times < 3; times++) {
        await endIndex(1, 'Failed', 7);
        await node.pass(1_000);
      }
      expect(live()).toEqual([1]);
      expect(running()[0]!.pod.metadata.annotations).toMatchObject({
        'batch.kubernetes.io/job-index-failure-count': '0',
        'batch.kubernetes.io/job-index-ignored-failure-count': '3',
      });
      await endIndex(1, 'Failed', 1);
      await node.pass(1_000);
      await endIndex(1, 'Failed', 1);
      expect(conditions()).toEqual(['Failed FailedIndexes']);
      expect(countPods(root())).toMatchObject({ failed: 3, failedIndexes: [0, 1] });
    });

    it('is done by a rule for success, whatever still runs', async () => {
      const rules = [{ succeededIndexes: '0,3' }, { succeededIndexes: '1-3', succeededCount: 2 }];
      await node.apply(indexed({ completions: 4, parallelism: 4, successPolicy: { rules } }));
      await endIndex(0, 'Succeeded');
      await endIndex(2, 'Succeeded');
      expect(conditions()).toEqual([]);
      await endIndex(1, 'Succeeded');
      expect(status().conditions).toMatchObject([
        { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message: 'Matched rules at index 1' },
      ]);
      expect([live(), isFinished(root())]).toEqual([[], false]);
      await node.gone();
      expect(conditions()).toEqual(['Complete SuccessPolicy']);
      expect(status()).toMatchObject({
        ...{ completedIndexes: '0-2', succeeded: 3, failed: 0 },
        conditions: [{ type: 'SuccessCriteriaMet' }, { type: 'Complete', reason: 'SuccessPolicy' }],
      });
    });

    it.each([
      [[{ succeededCount: 2 }], [3, 1], true],
      [[{ succeededCount: 2 }], [3], false],
      [[{ succeededIndexes: '0' }, { succeededCount: 3 }], [0], true],
      [[{ succeededIndexes: '' }], [0, 1], false],
      [[{ succeededIndexes: '0-1' }], [0, 2], false],
    ])('is done by %j where %j have succeeded: %s', async (rules, indexes, isDone) => {
      await node.apply(indexed({ completions: 4, parallelism: 4, successPolicy: { rules } }));
      for (const index of indexes) await endIndex(index, 'Succeeded');
      await node.gone();
      expect(isFinished(root())).toBe(isDone);
    });
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
        fc.record({
          ...{ ...sizes, backoffLimit: fc.nat(3), isIndexed: fc.boolean() },
          ...{ perIndex: fc.option(fc.nat(1), { nil: undefined }), enough: fc.option(fc.nat(5)) },
        }),
        fc.array(step, { maxLength: 15 }),
        async ({ completions, parallelism, backoffLimit, isIndexed, perIndex, enough }, steps) => {
          await using lab = await WorkloadNode.open();
          const completionMode = isIndexed ? 'Indexed' : 'NonIndexed';
          const ofIndexes = {
            ...(perIndex === undefined ? {} : { backoffLimitPerIndex: perIndex }),
            ...(enough === null
              ? {}
              : { successPolicy: { rules: [{ succeededCount: Math.min(enough, completions) }] } }),
          };
          const spec = { completions, parallelism, backoffLimit, completionMode };
          await lab.apply(jobOf({ ...spec, ...(isIndexed ? ofIndexes : {}) }));
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
            const { succeeded, failed, failedIndexes } = countPods(record);
            // An index gets one pod more than its limit, and no more.
            if (isIndexed && perIndex !== undefined) {
              const ofIndex = new Map<string, number>();
              for (const { end, isStopped, pod: made } of all) {
                const index = made.metadata.labels!['batch.kubernetes.io/job-completion-index']!;
                if (end === 'Failed' || isStopped) ofIndex.set(index, (ofIndex.get(index) ?? 0) + 1);
              }
              const over = [...ofIndex].filter(([, count]) => count > perIndex);
              expect(failedIndexes).toEqual(expect.arrayContaining(over.map(([index]) => Number(index))));
              expect(Math.max(0, ...ofIndex.values())).toBeLessThanOrEqual(perIndex + 1);
            }
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
