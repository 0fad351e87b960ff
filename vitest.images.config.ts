import { defineConfig } from 'vitest/config';
import { FROM_SOURCES } from './test/from-sources.js';

/** Images as people use them, from a real registry: as root on Debian. See test/images. */
export default defineConfig({
  ssr: FROM_SOURCES,
  test: {
    include: ['test/images/**/*.test.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 1_800_000,
    hookTimeout: 900_000,
    teardownTimeout: 120_000,
    env: { PODLOOP_PATIENCE: process.env['PODLOOP_PATIENCE'] ?? '6' },
  },
});
