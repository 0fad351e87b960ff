import { defineConfig } from 'vitest/config';
import { FROM_SOURCES } from './test/from-sources.js';

/** The image that is made from Debian's packages: as root, with mmdebstrap and umoci. See test/image. */
export default defineConfig({
  ssr: FROM_SOURCES,
  test: { include: ['test/image/**/*.test.ts'], fileParallelism: false, hookTimeout: 120_000 },
});
