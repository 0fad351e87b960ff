import { describe, expect, it } from 'vitest';
import { type CriClient } from '../cri/index.js';
import { type ContainerLifecycleEvent } from '../pleg/index.js';
import { FakeClock } from '../testing/fake-clock.js';
import { DemoDriver } from './demo-driver.js';
import { type DemoPod, type RestartPolicy } from './demo-pod.js';

const podOf = (restartPolicy: RestartPolicy): DemoPod => ({
  uid: 'u1',
  namespace: 'default',
  name: 'web',
  labels: { app: 'web' },
  annotations: {},
  restartPolicy,
  gracePeriodSeconds: 7,
  containers: [
    { name: 'main', image: 'i', command: ['c'], args: [], env: [{ name: 'A', value: 'b' }], workingDir: '' },
  ],
});

/** A driver on a runtime that only takes note of its calls; containers are c1, c2 … */
function drive(maxRestarts?: number) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const said: string[] = [];
  let created = 0;
  const note =
    (name: string) =>
    async (request: object): Promise<object> => {
      calls.push(`${name} ${Object.values(request).join(' ')}`);
      return {};
    };
  const client = {
    runPodSandbox: async () => ({ podSandboxId: 's1' }),
    createContainer: async ({
      config,
    }: {
      config: { metadata: { attempt: number }; envs: { value: Buffer }[] };
    }) => {
      calls.push(
        `create attempt ${config.metadata.attempt} ${config.envs.map(({ value }) => value.toString()).join()}`,
      );
      return { containerId: `c${++created}` };
    },
    startContainer: note('start'),
    removeContainer: note('remove'),
    stopContainer: note('stop'),
    stopPodSandbox: note('stopSandbox'),
    removePodSandbox: note('removeSandbox'),
  } as unknown as CriClient;
  const driver = new DemoDriver({
    client,
    clock,
    logFolder: '/logs',
    path: '/bin',
    say: (sentence) => said.push(sentence),
    ...(maxRestarts === undefined ? {} : { maxRestarts }),
  });
  const die = (containerId: string, exitCode: number): void =>
    driver.onDeath({
      type: 'ContainerDied',
      kind: 'container',
      pod: { uid: 'u1', namespace: 'default', name: 'web' },
      containerId,
      containerName: 'main',
      exitCode,
      reason: undefined,
      occurredAtNs: undefined,
      trigger: 'event',
      stamp: clock.stamp(),
      observedAtMs: 0,
    } satisfies ContainerLifecycleEvent);
  return { clock, calls, said, driver, die };
}

describe('the driver of the demo', () => {
  it.each<[RestartPolicy, number, boolean]>([
    ['Always', 0, true],
    ['Always', 3, true],
    ['OnFailure', 0, false],
    ['OnFailure', 3, true],
    ['Never', 3, false],
  ])('with restartPolicy %s and exit code %d starts again: %s', async (policy, exitCode, restarts) => {
    const { clock, calls, driver, die } = drive();
    await driver.startPod(podOf(policy));
    die('c1', exitCode);
    expect(driver.hasWork).toBe(restarts);
    await clock.advance(1_000);
    expect(calls.filter((call) => call.startsWith('start'))).toEqual(
      restarts ? ['start c1', 'start c2'] : ['start c1'],
    );
  });

  it('waits longer each time, and keeps one dead container to look at', async () => {
    const { clock, calls, said, driver, die } = drive();
    await driver.startPod(podOf('Always'));
    for (const [index, delayMs] of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000].entries()) {
      die(`c${index + 1}`, 3);
      die(`c${index + 1}`, 3);
      await clock.advance(delayMs - 1);
      expect(calls).not.toContain(`start c${index + 2}`);
      await clock.advance(1);
      expect(calls).toContain(`start c${index + 2}`);
    }
    expect(calls.slice(0, 7)).toEqual([
      'create attempt 0 /bin,b',
      'start c1',
      'create attempt 1 /bin,b',
      'start c2',
      'create attempt 2 /bin,b',
      'start c3',
      'remove c1',
    ]);
    expect(said[0]).toBe('web: container main starts again in 1 s');
  });

  it('starts a container again no more often than told', async () => {
    const { clock, calls, driver, die } = drive(1);
    await driver.startPod(podOf('Always'));
    die('c1', 3);
    await clock.advance(1_000);
    die('c2', 3);
    expect(driver.hasWork).toBe(false);
    await clock.advance(60_000);
    expect(calls).not.toContain('start c3');
  });

  it('stops within the grace period, removes everything, and starts nothing again then', async () => {
    const { clock, calls, driver, die } = drive();
    await driver.startPod(podOf('Always'));
    die('c1', 3);
    await driver.removeAll();
    await clock.advance(60_000);
    expect(calls.slice(2)).toEqual(['stop c1 7', 'stopSandbox s1', 'removeSandbox s1']);
  });

  it('does not mind deaths of containers that are not its own', async () => {
    const { driver, die } = drive();
    await driver.startPod(podOf('Always'));
    die('c99', 1);
    expect(driver.hasWork).toBe(false);
  });
});
