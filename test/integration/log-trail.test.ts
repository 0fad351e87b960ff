import { describe } from 'vitest';
import { defineTrailTests } from './log-trail/log-trail-suite.js';

describe('the log of an agent on the embedded runtime', () => {
  defineTrailTests(() =>
    Promise.resolve({
      flags: ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'],
      image: 'podloop.local/host',
      end: () => Promise.resolve(),
    }),
  );
});
