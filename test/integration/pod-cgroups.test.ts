import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { EmbeddedRuntime } from '../../src/embedded/index.js';
import { mayWriteGroups } from './pod-cgroups/machine-groups.js';
import { definePodCgroupTests } from './pod-cgroups/pod-cgroups-suite.js';
import { type StoryRuntime } from './pod-stories/story-suite.js';
import { writeProgramImage } from './program-image.js';

async function start(folder: string): Promise<StoryRuntime> {
  const images = join(folder, 'images');
  await writeProgramImage(images);
  const listen = `unix://${folder}/cri.sock`;
  const runtime = await EmbeddedRuntime.start({
    ...{ listen, rootDir: join(folder, 'runtime'), imageDirs: [images] },
    ...{ isolation: 'namespaces', network: 'host' },
  });
  return {
    endpoint: listen,
    end: async () => {
      expect(runtime.podCount).toBe(0);
      await runtime.close();
    },
  };
}

describe.skipIf(!mayWriteGroups)('the cgroups of pods on the embedded runtime', { timeout: 120_000 }, () => {
  definePodCgroupTests(start, 'runtime');
});
