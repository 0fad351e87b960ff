import { afterEach, expect, it, vi } from 'vitest';
import { patiently } from './patience.js';

afterEach(() => void vi.unstubAllEnvs());

it('limits are as they are written unless the environment asks for patience', () => {
  vi.stubEnv('PODLOOP_PATIENCE', undefined);
  expect(patiently(30_000)).toBe(30_000);
  vi.stubEnv('PODLOOP_PATIENCE', '12');
  expect(patiently(30_000)).toBe(360_000);
});
