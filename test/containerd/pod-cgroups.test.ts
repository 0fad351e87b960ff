import { describe, expect } from 'vitest';
import { definePodCgroupTests } from '../integration/pod-cgroups/pod-cgroups-suite.js';
import { type StoryRuntime } from '../integration/pod-stories/story-suite.js';
import { startContainerd } from './harness/containerd.js';
import { RELEASES, type Release } from './harness/installed.js';
import { findLeftovers } from './harness/leftovers.js';

async function start(version: Release): Promise<StoryRuntime> {
  const containerd = await startContainerd({ version });
  return {
    endpoint: containerd.endpoint,
    end: async () => {
      await containerd[Symbol.asyncDispose]();
      expect(await findLeftovers(containerd.names)).toEqual([]);
    },
  };
}

// 1.6 and 1.7 do not tell their driver, 2.1 does.
describe.each(RELEASES)('the cgroups of pods on containerd %s', (version) => {
  definePodCgroupTests(() => start(version), version === '2.1' ? 'runtime' : 'default');
});
