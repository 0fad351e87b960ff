import { defineConfig } from 'vitest/config';

/** The tests on a real control plane, in the folder that KUBEBUILDER_ASSETS names; one at a time. See test/cluster. */
export default defineConfig({
  // #base and the other names of areas are sources here, not the build.
  ssr: { resolve: { conditions: ['podloop-source', 'module', 'node', 'development|production'] } },
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
