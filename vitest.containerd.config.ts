import { defineConfig } from 'vitest/config';
import { FROM_SOURCES } from './test/from-sources.js';

/** The tests on real containerd releases: as root on Debian 12, one at a time. See test/containerd. */
export default defineConfig({
  ssr: FROM_SOURCES,
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
