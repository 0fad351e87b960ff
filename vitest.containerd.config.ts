import { defineConfig } from 'vitest/config';

/** The tests on real containerd releases: as root on Debian 12, one at a time. See test/containerd. */
export default defineConfig({
  test: {
    include: ['test/containerd/**/*.test.ts'],
    globalSetup: ['test/containerd/global-setup.ts'],
    // Each containerd with its pods takes the machine for itself.
    fileParallelism: false,
    maxWorkers: 1,
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    teardownTimeout: 120_000,
  },
});
