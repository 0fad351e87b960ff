import { describe, expect, it } from 'vitest';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus, BUILT_AT_NS } from '#testing/builders.js';
import { aContainerUsage, aPodUsage, NODE_USAGE } from '#support/builders/usage-builders.js';
import { renderResourcePage } from './resource-page.js';
import { type LookedPod, type UsageLook } from './usage-looks.js';

const swap = { atMs: 1_700_000_000_000, usageBytes: 4, availableBytes: 6 };
const status = aContainerStatus(aContainer(), { startedAtNs: BUILT_AT_NS + 500_000_000n });
const WEB: LookedPod = {
  ...aPodUsage(),
  status: emptyPodStatus('uid-web'),
  containers: [{ ...aContainerUsage({ swap }), status }],
};
const LOOK: UsageLook = { atMs: 0, node: NODE_USAGE, pods: [WEB], problem: undefined };

async function textOf(look: UsageLook): Promise<string> {
  return Buffer.concat(await renderResourcePage(look)).toString();
}

describe('the page /metrics/resource', () => {
  it('has the kubelet’s names, labels and units, with the time of each measurement', async () => {
    const lines = (await textOf(LOOK)).split('\n').filter((line) => !line.startsWith('#'));
    const container = '{container="main",namespace="default",pod="web"}';
    const pod = '{namespace="default",pod="web"}';
    expect(lines).toEqual([
      `container_cpu_usage_seconds_total${container} 1.5 1700000000000`,
      `container_memory_working_set_bytes${container} 1048576 1700000000000`,
      `container_start_time_seconds${container} 1767323040.5`,
      `container_swap_limit_bytes${container} 10 1700000000000`,
      `container_swap_usage_bytes${container} 4 1700000000000`,
      'node_cpu_usage_seconds_total 100 1700000000000',
      'node_memory_working_set_bytes 6442450944 1700000000000',
      'node_swap_usage_bytes 1048576 1700000000000',
      `pod_cpu_usage_seconds_total${pod} 1.5 1700000000000`,
      `pod_memory_working_set_bytes${pod} 1048576 1700000000000`,
      `pod_swap_usage_bytes${pod} 4 1700000000000`,
      'resource_scrape_error 0',
      'scrape_error 0',
      '',
    ]);
  });

  it('has the node and an error when the runtime did not report pods', async () => {
    const text = await textOf({ ...LOOK, pods: [], problem: 'no answer' });
    expect(text).toContain('node_cpu_usage_seconds_total 100');
    expect(text).toContain('\nscrape_error 1\n');
    expect(text).not.toContain('container_');
    expect(text).not.toContain('no answer');
  });

  it('is written in slices when there are many pods', async () => {
    const pods = Array.from({ length: 1_000 }, (_, index) => ({ ...WEB, name: `web-${index}` }));
    let turns = 0;
    const rendering = textOf({ ...LOOK, pods });
    let done = false;
    void rendering.then(() => (done = true));
    const count = (): void => {
      if (!done) setImmediate(count);
      turns++;
    };
    setImmediate(count);
    expect((await rendering).split('\n').length).toBeGreaterThan(8_000);
    expect(turns).toBeGreaterThanOrEqual(3);
  });
});
