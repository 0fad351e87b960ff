import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Cgroups } from '../../src/embedded/cgroups/cgroups.js';
import { EmbeddedRuntime } from '../../src/embedded/index.js';
import { SILENT_LOGGER } from '../../src/util/logger.js';
import { defineStoryTests, STORY_LIMIT_MS } from './pod-stories/story-suite.js';
import { writeProgramImage } from './program-image.js';

/** Where it runs apart from everything, so that pods have files, mounts and addresses of their own. */
const isRoot = process.getuid?.() === 0;
const cgroups = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: `podloop-probe-${process.pid}` });
const limitsMemory = cgroups.describe().controllers.includes('memory');

describe.runIf(isRoot)('on the embedded runtime', { timeout: STORY_LIMIT_MS + 60_000 }, () => {
  defineStoryTests(
    async (folder) => {
      const images = join(folder, 'images');
      await writeProgramImage(images);
      const listen = `unix://${folder}/cri.sock`;
      const runtime = await EmbeddedRuntime.start({
        ...{ listen, rootDir: join(folder, 'runtime'), imageDirs: [images] },
        ...{ isolation: 'namespaces', network: 'bridge' },
      });
      return {
        endpoint: listen,
        end: async () => {
          expect(runtime.podCount).toBe(0);
          await runtime.close();
        },
      };
    },
    limitsMemory ? [] : ['cgroups'],
  );
});
