import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

test('limits are those that were written down unless more patience is asked for', async () => {
  vi.stubEnv('PODLOOP_MACHINE_PATIENCE', '');
  const { PATIENCE, scaleMinutes } = await import('./patience.js');
  expect(PATIENCE).toBe(10);
  expect(scaleMinutes(40)).toBe(40);
});

test('with three times the patience a suite gets three times its minutes', async () => {
  vi.stubEnv('PODLOOP_MACHINE_PATIENCE', '30');
  const { PATIENCE, scaleMinutes } = await import('./patience.js');
  expect(PATIENCE).toBe(30);
  expect(scaleMinutes(40)).toBe(120);
});

test.each(['5', '12.5', 'long'])('a patience of %s is refused', async (word) => {
  vi.stubEnv('PODLOOP_MACHINE_PATIENCE', word);
  await expect(import('./patience.js')).rejects.toThrow(
    `PODLOOP_MACHINE_PATIENCE=${word}: must be a whole number, 10 or more`,
  );
});
