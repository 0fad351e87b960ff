import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { exitAfterGrace } from './exit-after-grace.js';

/** How a process ends, and when, that has these resources at each look. */
async function endOf(resourcesAt: (look: number) => readonly string[]): Promise<[how: string, atMs: number]> {
  const clock = new FakeClock();
  const beganMs = clock.monotonicMs();
  const ends: [string, number][] = [];
  const note = (how: string) => (): void => void ends.push([how, clock.monotonicMs() - beganMs]);
  let look = 0;
  exitAfterGrace(
    {
      ...{ exit: note('exit'), killItself: note('signal') },
      getActiveResourcesInfo: () => resourcesAt(look++),
    },
    clock,
  );
  await clock.advance(10_000);
  expect(ends).toHaveLength(1);
  return ends[0]!;
}

it('a process that a terminal or a reader keeps alive exits after the grace', async () => {
  expect(await endOf(() => ['TTYWrap', 'PipeWrap'])).toEqual(['exit', 2_000]);
});

it('one whose log is just being written exits once that is over', async () => {
  expect(await endOf((look) => (look < 3 ? ['FSReqCallback', 'TTYWrap'] : ['TTYWrap']))).toEqual([
    'exit',
    2_060,
  ]);
});

it('one that waits for a disk that hangs is ended by a signal', async () => {
  expect(await endOf(() => ['FSReqPromise'])).toEqual(['signal', 2_480]);
});
