import { describe } from 'vitest';
import { definePodCgroupTests } from '../integration/pod-cgroups/pod-cgroups-suite.js';
import { TRIED_RELEASES } from './harness/tried-releases.js';
import { startStoryRuntime } from './harness/story-runtime.js';

// 1.6 and 1.7 have no call for their driver, but their configuration in Status.
describe.each(TRIED_RELEASES)('the cgroups of pods on containerd %s', (version) => {
  definePodCgroupTests(() => startStoryRuntime(version), version === '2.1' ? 'RuntimeConfig' : 'Status');
});
