import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { FROM_SOURCES } from './test/from-sources.js';
import { sampleFiles } from './test/integration-sample.js';

/**
 * What a test file says when it changes or measures the process that it runs in: it replaces modules, counts open files,
 * looks at memory or processor time.
 */
const OF_ITS_PROCESS = /\bvi\.(do)?mock\(|\/proc\/self\/fd|\bprocess\.(memoryUsage|cpuUsage)\(/;

const testsBelow = (folder: string): string[] =>
  readdirSync(join(import.meta.dirname, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join(folder, file));
const ownProcess = [...testsBelow('src'), ...testsBelow('test/support')].filter((file) =>
  OF_ITS_PROCESS.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
);

/** A seed where a share of the tests of the program is to run, as in CI; all of them run without it. */
const { PODLOOP_SAMPLE: seed } = process.env;
const ofProgram = testsBelow('test/integration');
const integration = seed === undefined ? ofProgram : sampleFiles(ofProgram, seed);

/**
 * Two kinds of test. What stands beside the code has no state outside of a test, since no module has: its files share
 * processes, so that each module is loaded once and not by hundreds of files. Everything else, which starts programs,
 * waits for them and measures, has a process for each file.
 */
export default defineConfig({
  ssr: FROM_SOURCES,
  test: {
    // Most of the time goes to waiting for programs: as many workers as cores would leave cores idle.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // Generous on purpose: a loaded machine must not fail a test, a hang must.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is polled for comes when it comes; vitest waits for one second by itself.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/support/**/*.test.ts', 'benchmarks/**/*.test.ts'],
          exclude: ownProcess,
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'programs',
          include: [
            ...ownProcess,
            'test/*.test.ts',
            ...integration,
            'test/critest/**/*.test.ts',
            'test/differential/**/*.test.ts',
            'test/e2e/**/*.test.ts',
            'test/incidents/harness/**/*.test.ts',
            'test/machine/*.test.ts',
            'test/machine/{power,userland}/*.test.ts',
          ],
        },
      },
    ],
  },
});
