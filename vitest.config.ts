import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'test/*.test.ts',
      'test/integration/**/*.test.ts',
      'test/critest/**/*.test.ts',
      'benchmarks/**/*.test.ts',
    ],
    exclude: ['test/containerd/**'],
    // Most of them wait for processes; one worker on two cores, as by default, would leave a core idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
