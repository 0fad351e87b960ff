import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { EmbeddedRuntime } from '../../src/embedded/index.js';
import { type StoryRuntime } from './pod-stories/story-suite.js';
import { writeProgramImage } from './program-image.js';
import { defineAdoptionTests } from './whose-pods/adoption-suite.js';
import { defineForeignPodTests } from './whose-pods/foreign-suite.js';

/** Images have files of their own only for root. */
const isRoot = process.getuid?.() === 0;

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

describe.skipIf(!isRoot)('pods of others on the embedded runtime', { timeout: 120_000 }, () => {
  defineForeignPodTests(start);
});

describe.skipIf(!isRoot)('--adopt on the embedded runtime', { timeout: 120_000 }, () => {
  defineAdoptionTests(start);
});
