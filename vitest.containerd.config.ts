import { defineConfig } from 'vitest/config';

/** The tests on real containerd releases: as root on Debian 12, one at a time. See test/containerd. */
export default defineConfig({
  // #base and the other names of areas are sources here, not the build.
  ssr: { resolve: { conditions: ['podloop-source', 'module', 'node', 'development|production'] } },
  test: {
    include: ['test/containerd/**/*.test.ts'],
    globalSetup: ['test/containerd/global-setup.ts'],
    // Each containerd with its pods takes the machine for itself.
    fileParallelism: false,
    maxWorkers: 1,
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    // What is polled for comes when it comes; vitest waits for one second by itself.
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 120_000,
  },
});
