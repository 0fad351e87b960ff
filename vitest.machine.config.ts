import { defineConfig } from 'vitest/config';

/** The tests that run in an emulated machine, one file at a time. See test/machine. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    // A thread is there much sooner than a process, whose start vitest gives a minute.
    pool: 'threads',
    // An emulated machine is many times slower than a real one.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    teardownTimeout: 300_000,
  },
});
