import { describe } from 'vitest';
import { mayWriteGroups } from './pod-cgroups/machine-groups.js';
import { definePodCgroupTests } from './pod-cgroups/pod-cgroups-suite.js';
import { startEmbedded } from './pod-stories/start-embedded.js';

describe.skipIf(!mayWriteGroups)('the cgroups of pods on the embedded runtime', { timeout: 120_000 }, () => {
  definePodCgroupTests((folder) => startEmbedded(folder, 'host'), 'RuntimeConfig');
});
