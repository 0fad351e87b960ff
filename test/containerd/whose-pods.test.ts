import { describe } from 'vitest';
import { defineAdoptionTests } from '../integration/whose-pods/adoption-suite.js';
import { defineForeignPodTests } from '../integration/whose-pods/foreign-suite.js';
import { startStoryRuntime } from './harness/story-runtime.js';

describe('pods of others on containerd 1.7', () => {
  defineForeignPodTests(() => startStoryRuntime('1.7'));
});

describe('--adopt on containerd 1.7', () => {
  defineAdoptionTests(() => startStoryRuntime('1.7'));
});
