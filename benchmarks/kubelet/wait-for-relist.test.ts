import { expect, it } from 'vitest';
import { hasRelisted } from './wait-for-relist.js';

it('counts only looks at all pods that began since and went well', () => {
  const page = JSON.stringify({
    relists: { history: [{ startedAtMs: 1_000 }, { startedAtMs: 2_000, error: 'no answer' }] },
  });
  expect([900, 1_000, 1_001].map((sinceMs) => hasRelisted(page, sinceMs))).toEqual([true, true, false]);
});
