import { describe, expect, it } from 'vitest';
import { aRule, ChaosHarness, idsOf } from '#support/harness/chaos-harness.js';

const WEB = { containerId: idsOf('web').containerId };
const DB = { containerId: idsOf('db').containerId };

describe('a list', () => {
  it('loses all but its first items', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [ListContainers]', 'type: truncate-list, keep: 1'),
    );
    const { containers } = await harness.client.listContainers();
    expect(containers.map(({ id }) => id)).toEqual([WEB.containerId]);
    expect(containers[0]).toMatchObject({
      metadata: { name: 'app' },
      labels: { 'io.kubernetes.pod.name': 'web' },
    });
    expect(harness.injections).toMatchObject([{ detail: '1 of 2 items left out' }]);
    expect((await harness.client.listPodSandbox()).items).toHaveLength(2);
  });

  it('loses what belongs to some pods', async () => {
    await using harness = await ChaosHarness.start(aRule('pods: [default/web]', 'type: truncate-list'));
    expect((await harness.client.listContainers()).containers.map(({ id }) => id)).toEqual([DB.containerId]);
    expect((await harness.client.listPodSandbox()).items.map(({ metadata }) => metadata?.name)).toEqual([
      'db',
    ]);
  });

  it('is an older answer, once there is one', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [ListContainers]', 'type: stale-list, behind: 2'),
    );
    const attempts: number[] = [];
    for (let i = 0; i < 6; i++) {
      const { containers } = await harness.client.listContainers();
      attempts.push(containers[0]!.metadata!.attempt);
    }
    expect(attempts).toEqual([0, 1, 0, 1, 2, 3]);
    expect(harness.injections).toHaveLength(4);
  });

  it('is remembered no further back than a rule asks for', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [ListContainers], nth: 4', 'type: stale-list, behind: 3'),
    );
    const attempts: number[] = [];
    for (let i = 0; i < 6; i++) {
      if (i === 5) harness.replaceRules(aRule('methods: [ListContainers]', 'type: stale-list, behind: 5'));
      const { containers } = await harness.client.listContainers();
      attempts.push(containers[0]!.metadata!.attempt);
    }
    // Of the last one nothing older than three before is there any more.
    expect(attempts).toEqual([0, 1, 2, 0, 4, 5]);
  });

  it('grows over a client’s limit, and says the same to one without', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [ListContainers]', 'type: grow-list, toMiB: 16'),
    );
    await expect(harness.client.listContainers()).rejects.toMatchObject({ code: 'CRI_RESOURCE_EXHAUSTED' });
    harness.replaceRules(aRule('methods: [ListContainers]', 'type: grow-list, toMiB: 4'));
    expect((await harness.client.listContainers()).containers).toHaveLength(2);
  });
});
