/**
 * Stories on the runtime in the box as somebody who is not root: containers are processes of the machine, with its files and its
 * network. Played are the stories about lives, restarts, probes and ends.
 *
 * @module
 */
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { EmbeddedRuntime } from '../../../src/box/index.js';
import { patiently } from '#support/patience.js';
import {
  defineStoryTests,
  STORY_LIMIT_MS,
  type StoryRuntime,
} from '../../integration/pod-stories/story-suite.js';

/** The only image that there is without root. */
const withHostImage = (manifest: string): string =>
  manifest.replaceAll('podloop.test/programs:1', 'podloop.local/host');

async function startRootless(folder: string): Promise<StoryRuntime> {
  const listen = `unix://${folder}/cri.sock`;
  const runtime = await EmbeddedRuntime.start({ listen, rootDir: join(folder, 'runtime') });
  return {
    endpoint: listen,
    end: async () => {
      expect(runtime.podCount).toBe(0);
      await runtime.close();
    },
  };
}

describe('on the embedded runtime without root', { timeout: STORY_LIMIT_MS + patiently(60_000) }, () => {
  defineStoryTests(startRootless, ['cgroups', 'seccomp', 'no-app-armor', 'shared-mounts'], {
    toManifest: withHostImage,
  });
});
