import { defineConfig } from 'vitest/config';
import { FROM_SOURCES } from './test/from-sources.js';

/** The tests on a real control plane, in the folder that KUBEBUILDER_ASSETS names; one at a time. See test/cluster. */
export default defineConfig({
  ssr: FROM_SOURCES,
  test: {
    include: ['test/cluster/**/*.test.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 240_000,
    hookTimeout: 300_000,
    // What is polled for comes when it comes; vitest waits for one second by itself.
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 120_000,
  },
});
