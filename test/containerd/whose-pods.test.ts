import { describe, expect } from 'vitest';
import { type StoryRuntime } from '../integration/pod-stories/story-suite.js';
import { defineAdoptionTests } from '../integration/whose-pods/adoption-suite.js';
import { defineForeignPodTests } from '../integration/whose-pods/foreign-suite.js';
import { startContainerd } from './harness/containerd.js';
import { findLeftovers } from './harness/leftovers.js';

async function start(): Promise<StoryRuntime> {
  const containerd = await startContainerd({ version: '1.7' });
  return {
    endpoint: containerd.endpoint,
    end: async () => {
      await containerd[Symbol.asyncDispose]();
      expect(await findLeftovers(containerd.names)).toEqual([]);
    },
  };
}

describe('pods of others on containerd 1.7', () => {
  defineForeignPodTests(start);
});

describe('--adopt on containerd 1.7', () => {
  defineAdoptionTests(start);
});
