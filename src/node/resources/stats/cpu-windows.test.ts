import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { CpuWindows } from './cpu-windows.js';

it('knows of what is of unknown age nothing until a second has passed, and then its use in that time', async () => {
  const clock = new FakeClock();
  const windows = new CpuWindows({ clock });
  expect(windows.rate('web', 3_600e9, undefined)).toBeUndefined();
  await clock.advance(300);
  expect(windows.rate('web', 3_600.1e9, undefined)).toBeUndefined();
  await clock.advance(700);
  expect(windows.rate('web', 3_600.5e9, undefined)).toBe(5e8);
});

it('begins with the average of what is of known age', () => {
  const windows = new CpuWindows({ clock: new FakeClock() });
  expect(windows.rate('node', 30e9, 60_000)).toBe(5e8);
  expect(windows.rate('node', 30e9, 60_000)).toBe(5e8);
});
