import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkloadNode } from '#support/harness/workload-node.js';

let node: WorkloadNode;
beforeEach(async () => void (node = await WorkloadNode.open()));
afterEach(async () => node[Symbol.asyncDispose]());

const MINUTE = 60;
const cronOf = (spec: object = {}, jobSpec: object = {}) => ({
  ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'tick' } },
  spec: {
    schedule: '*/5 * * * *',
    jobTemplate: {
      spec: {
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a:1' }] } },
        ...jobSpec,
      },
    },
    ...spec,
  },
});
const jobs = () => node.trees[0]!.owned.map(({ object }) => object.metadata.name);
const reasons = () => node.events.filter(({ object }) => object === 'tick').map(({ reason }) => reason);
const running = () => node.states().filter(({ end }) => end === undefined);
const endAll = async (how: 'Succeeded' | 'Failed' = 'Succeeded') => {
  for (const { pod } of running()) await node.end(pod.metadata.name, how);
};
/** The number in the name of the Job of the next time. */
const nextJob = (minutes = 5) => {
  const at = Math.floor(node.clock.now() / 60_000 / minutes + 1) * minutes;
  return `tick-${at}`;
};
const untilNext = async () => {
  const ms = 300_000 - (node.clock.now() % 300_000);
  await node.pass(ms / 1_000);
};

describe('a CronJob', () => {
  it('starts a Job at each of its times, named after the time', async () => {
    await node.apply(cronOf());
    expect(jobs()).toEqual([]);
    const name = nextJob();
    await untilNext();
    expect(jobs()).toEqual([name]);
    expect(node.names()).toEqual([expect.stringMatching(new RegExp(`^${name}-[a-z0-9]{5}$`))]);
    await endAll();
    await untilNext();
    expect(jobs()).toHaveLength(2);
    expect(reasons()).toEqual(['SuccessfulCreate', 'SawCompletedJob', 'SuccessfulCreate']);
  });

  it('starts nothing twice, whenever its agent is killed', async () => {
    await node.apply(cronOf());
    await untilNext();
    for (let lives = 0; lives < 3; lives++) {
      await node.restart();
      node.deliver();
      await node.pass(MINUTE);
    }
    expect([jobs().length, node.all.size]).toEqual([1, 1]);
  });

  it('makes up for the last time that was missed, once', async () => {
    await node.apply(cronOf());
    await node.clock.advance(3 * 3_600_000 + 17 * 60_000);
    await node.restart();
    node.deliver();
    await node.settle();
    expect(jobs()).toHaveLength(1);
    await node.pass(MINUTE);
    expect(jobs().length).toBeLessThanOrEqual(1);
  });

  it('does not make up for one whose deadline is over', async () => {
    await node.apply(cronOf({ startingDeadlineSeconds: 60 }));
    await untilNext();
    await node.apply(cronOf({ startingDeadlineSeconds: 60, suspend: true }));
    await untilNext();
    await node.clock.advance(120_000);
    await node.apply(cronOf({ startingDeadlineSeconds: 60 }));
    expect(jobs()).toHaveLength(1);
  });

  it('warns when more than a hundred times were missed, and starts one', async () => {
    await node.apply(cronOf({ schedule: '* * * * *' }));
    await node.clock.advance(5 * 3_600_000);
    await node.settle();
    expect(reasons()).toEqual(['TooManyMissedTimes', 'SuccessfulCreate']);
    expect(jobs()).toHaveLength(1);
  });

  it.each([
    ['Allow', 2, ['SuccessfulCreate', 'SuccessfulCreate']],
    ['Forbid', 1, ['SuccessfulCreate', 'JobAlreadyActive']],
    ['Replace', 1, ['SuccessfulCreate', 'SuccessfulDelete', 'SuccessfulCreate']],
  ])('does with a Job that still runs what it says: %s', async (concurrencyPolicy, count, expected) => {
    await node.apply(cronOf({ concurrencyPolicy }));
    await untilNext();
    const [first] = node.names();
    await untilNext();
    await node.gone();
    expect(running()).toHaveLength(count);
    expect(node.names().includes(first!)).toBe(concurrencyPolicy !== 'Replace');
    expect([...new Set(reasons())]).toEqual([...new Set(expected)]);
  });

  it('with Forbid starts the time that it missed once the former Job has ended', async () => {
    await node.apply(cronOf({ concurrencyPolicy: 'Forbid' }));
    await untilNext();
    await untilNext();
    await node.pass(MINUTE);
    await endAll();
    expect(running()).toHaveLength(1);
  });

  it('starts nothing while it is suspended', async () => {
    await node.apply(cronOf({ suspend: true }));
    await node.pass(60 * MINUTE);
    expect(jobs()).toEqual([]);
  });

  it('keeps as many finished Jobs as it says', async () => {
    await node.apply(
      cronOf({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 }, { backoffLimit: 0 }),
    );
    for (const how of ['Failed', 'Succeeded', 'Failed', 'Succeeded', 'Succeeded'] as const) {
      await untilNext();
      await endAll(how);
    }
    await node.settle();
    const ends = node.trees[0]!.owned.map(({ progress }) => progress.conditions![0]!.type);
    expect(ends).toEqual(['Failed', 'Complete', 'Complete']);
    expect(node.names()).toHaveLength(3);
  });

  it('goes by its time zone', async () => {
    const zone = 'Asia/Kolkata';
    await node.apply(cronOf({ schedule: '0 9 * * *', timeZone: zone }));
    await node.pass(24 * 60 * MINUTE);
    const [job] = jobs();
    const at = new Date(Number(job!.slice(5)) * 60_000);
    expect(at.toLocaleTimeString('en-GB', { timeZone: zone })).toBe('09:00:00');
  });
});
