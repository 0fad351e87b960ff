import { defineConfig } from 'vitest/config';
import { FROM_SOURCES } from './test/from-sources.js';

/** Incidents made for real beside a real kubelet: as root on Debian 12, one at a time. See test/incidents. */
export default defineConfig({
  ssr: FROM_SOURCES,
  test: {
    include: ['test/incidents/**/*.test.ts'],
    globalSetup: ['test/containerd/global-setup.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 400_000,
    hookTimeout: 240_000,
    teardownTimeout: 120_000,
  },
});
