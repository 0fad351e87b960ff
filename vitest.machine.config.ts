import path from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';

const SOURCES = path.resolve('src');
const BUILD = path.resolve('dist');

/** Tests use the build in the place of the sources: to translate those takes an emulated machine minutes for each file of tests. */
const BUILT: Plugin = {
  name: 'podloop-built',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return undefined;
    const file = path.resolve(path.dirname(importer), source);
    return file.startsWith(`${SOURCES}/`) ? path.join(BUILD, path.relative(SOURCES, file)) : undefined;
  },
};

/** The tests that run in an emulated machine, one file at a time. See test/machine. */
export default defineConfig({
  plugins: [BUILT],
  test: {
    include: ['test/**/*.test.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    // A thread is there much sooner than a process, whose start vitest gives a minute.
    pool: 'threads',
    server: { deps: { external: [/\/dist\//] } },
    // Multiplied in the machine, as every limit is: see test/machine/payload.ts.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // What is polled for comes when it comes; vitest waits for one second by itself.
    expect: { poll: { timeout: 300_000 } },
    teardownTimeout: 300_000,
  },
});
