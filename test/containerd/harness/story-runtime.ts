import { expect } from 'vitest';
import { type StoryRuntime } from '../../integration/pod-stories/story-suite.js';
import { startContainerd } from './containerd.js';
import { type Release } from './installed.js';
import { findLeftovers } from './leftovers.js';

/** Starts a containerd for the suites that run on any runtime; its end rejects when something of it is left. */
export async function startStoryRuntime(version: Release): Promise<StoryRuntime> {
  const containerd = await startContainerd({ version });
  return {
    endpoint: containerd.endpoint,
    end: async () => {
      await containerd[Symbol.asyncDispose]();
      expect(await findLeftovers(containerd.names)).toEqual([]);
    },
  };
}
