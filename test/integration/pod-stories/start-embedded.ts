import { join } from 'node:path';
import { expect } from 'vitest';
import { EmbeddedRuntime } from '../../../src/box/index.js';
import { writeProgramImage } from '../program-image.js';
import { type StoryRuntime } from './story-suite.js';

/** Starts an embedded runtime that keeps pods apart, in this process, with the image of the stories. For root. */
export async function startEmbedded(folder: string, network: 'host' | 'bridge'): Promise<StoryRuntime> {
  const images = join(folder, 'images');
  await writeProgramImage(images);
  const listen = `unix://${folder}/cri.sock`;
  const runtime = await EmbeddedRuntime.start({
    ...{ listen, rootDir: join(folder, 'runtime'), imageDirs: [images] },
    ...{ isolation: 'namespaces', network },
  });
  return {
    endpoint: listen,
    end: async () => {
      expect(runtime.podCount).toBe(0);
      await runtime.close();
    },
  };
}
