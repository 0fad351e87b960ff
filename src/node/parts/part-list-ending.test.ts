import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { AgentEnding } from './part-list.js';

const NEVER = new Promise<void>(() => undefined);

function setUp() {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const ending = new AgentEnding({ clock, logger, limitMs: 10_000 });
  return { clock, logger, ending };
}

describe('the end of an agent', () => {
  it('waits for each part, and says nothing when all end', async () => {
    const { clock, logger, ending } = setUp();
    let isOver = false;
    const waiting = ending
      .ofAll([
        ['one', clock.sleep(3_000)],
        ['other', clock.sleep(9_000)],
      ])
      .then(() => (isOver = true));
    await clock.advance(8_999);
    expect(isOver).toBe(false);
    await clock.advance(1);
    await waiting;
    expect(ending.left).toEqual([]);
    expect(logger.lines).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('names what does not end in time, and gives the rest a second each', async () => {
    const { clock, logger, ending } = setUp();
    const first = ending.ofAll([
      ['hung', NEVER],
      ['quick', Promise.resolve()],
    ]);
    await clock.advance(10_000);
    await first;
    expect(ending.remainingMs).toBe(1_000);
    const second = ending.of('late', NEVER);
    await clock.advance(1_000);
    await second;
    await ending.of('in time', Promise.resolve());
    expect(ending.left).toEqual(['hung', 'late']);
    expect(logger.complaints.map(({ fields }) => fields['part'])).toEqual(['hung', 'late']);
  });

  it('goes on when a part fails, and says which', async () => {
    const { clock, logger, ending } = setUp();
    await ending.of('broken', Promise.reject(new Error('no')));
    await clock.settle();
    expect(ending.left).toEqual([]);
    expect(logger.complaints).toMatchObject([{ fields: { part: 'broken' } }]);
  });
});
