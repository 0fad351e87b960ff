import { describe } from 'vitest';
import { startEmbedded } from './pod-stories/start-embedded.js';
import { type StoryRuntime } from './pod-stories/story-suite.js';
import { defineAdoptionTests } from './whose-pods/adoption-suite.js';
import { defineForeignPodTests } from './whose-pods/foreign-suite.js';

/** Images have files of their own only for root. */
const isRoot = process.getuid?.() === 0;

const start = (folder: string): Promise<StoryRuntime> => startEmbedded(folder, 'host');

describe.skipIf(!isRoot)('pods of others on the embedded runtime', { timeout: 120_000 }, () => {
  defineForeignPodTests(start);
});

describe.skipIf(!isRoot)('--adopt on the embedded runtime', { timeout: 120_000 }, () => {
  defineAdoptionTests(start);
});
