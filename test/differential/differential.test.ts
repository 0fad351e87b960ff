import { describe, expect, it } from 'vitest';
import { KUBERNETES, runDifferential } from './run-differential.js';

const COUNT = Number(process.env['PODLOOP_DIFFERENTIAL'] ?? 0);

/** It needs Go, the module proxy and minutes: `npm run test:full` gives the number. */
describe.skipIf(COUNT === 0)(`pods and YAML beside Kubernetes ${KUBERNETES} itself`, () => {
  it('are judged alike, or more strictly for a known reason', { timeout: 3_600_000 }, async () => {
    expect(await runDifferential(COUNT)).toEqual([]);
  });
});
