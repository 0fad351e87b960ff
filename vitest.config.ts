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
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
