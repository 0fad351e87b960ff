import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { withinTime } from './within-time.js';

function options(clock: FakeClock, signal = new AbortController().signal) {
  return { clock, signal, limitMs: 100, late: () => new Error('late') };
}

it('gives several steps a common deadline, which ends the running step', async () => {
  const clock = new FakeClock();
  const steps: string[] = [];
  const step = async (name: string, signal: AbortSignal): Promise<void> => {
    steps.push(name);
    await clock.sleep(60, signal);
  };
  const done = withinTime(options(clock), async (signal) => {
    await step('one', signal);
    await step('two', signal);
    await step('three', signal);
  });
  const failed = expect(done).rejects.toThrow('late');
  await clock.advance(60);
  await clock.advance(40);
  await failed;
  expect(steps).toEqual(['one', 'two']);
});

it('returns the result of the work, and does not wait for work that never ends', async () => {
  const clock = new FakeClock();
  expect(await withinTime(options(clock), () => Promise.resolve(7))).toBe(7);
  const hanging = withinTime(options(clock), () => new Promise(() => undefined));
  const failed = expect(hanging).rejects.toThrow('late');
  await clock.advance(100);
  await failed;
});

it('ends with the signal, and starts nothing after it', async () => {
  const ending = new AbortController();
  const clock = new FakeClock();
  const hanging = withinTime(options(clock, ending.signal), () => new Promise(() => undefined));
  ending.abort(new Error('gone'));
  await expect(hanging).rejects.toThrow('gone');
  let begun = false;
  const late = withinTime(options(clock, ending.signal), async () => {
    begun = true;
    await Promise.resolve();
  });
  await expect(late).rejects.toThrow('gone');
  expect(begun).toBe(false);
});
