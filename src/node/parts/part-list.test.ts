import { describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { loopsPart, type Part, PartList } from './part-list.js';

const NEVER_ABORTED = new AbortController().signal;
const NEVER = new Promise<void>(() => undefined);

function setUp(onStart?: (name: string) => void) {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const list = new PartList({ clock, logger, onStart, stopLimitMs: 10_000 });
  const steps: string[] = [];
  const part = <Made>(name: string, made: Made): Part<Made> => ({
    name,
    start: () => {
      steps.push(`start ${name}`);
      return made;
    },
    stop: async (given) => {
      expect(given).toBe(made);
      steps.push(`stop ${name}`);
      await Promise.resolve();
      steps.push(`stopped ${name}`);
    },
  });
  return { clock, logger, list, steps, part };
}

describe('a list of parts', () => {
  it('gives what a part has made, and stops the parts in reverse order, one after another', async () => {
    const { list, steps, part, logger } = setUp();
    const one = await list.start(part('one', { value: 1 }), NEVER_ABORTED);
    await list.start(part('two', one.value + 1), NEVER_ABORTED);
    await list.start(part('three', undefined), NEVER_ABORTED);
    await list.stop(1);
    expect(steps.splice(0)).toEqual([
      ...['start one', 'start two', 'start three'],
      ...['stop three', 'stopped three', 'stop two', 'stopped two'],
    ]);
    await list.stop();
    await list.stop();
    expect(steps).toEqual(['stop one', 'stopped one']);
    expect(logger.lines).toEqual([]);
  });

  it.each([0, 1, 2, 3])('stops only what has started when part %i does not start', async (failing) => {
    const { list, steps, part } = setUp();
    const start = async (): Promise<void> => {
      for (let index = 0; index < 4; index++) {
        const broken = {
          ...part(String(index), index),
          start: () => {
            throw new Error('no');
          },
        };
        await list.start(index === failing ? broken : part(String(index), index), NEVER_ABORTED);
      }
    };
    await expect(start()).rejects.toThrow('no');
    expect(list.length).toBe(failing);
    await list.stop();
    const started = Array.from({ length: failing }, (_, index) => String(index));
    expect(steps.filter((step) => /^stopped/.test(step))).toEqual(
      started.toReversed().map((name) => `stopped ${name}`),
    );
  });

  it('names a part that fails to stop, at once or later, or does not stop in time, and stops the rest', async () => {
    const { list, clock, logger, steps, part } = setUp();
    await list.start(part('first', 1), NEVER_ABORTED);
    const fail = (): never => {
      throw new Error('no');
    };
    await list.start({ name: 'throws', start: () => undefined, stop: fail }, NEVER_ABORTED);
    await list.start({ name: 'rejects', start: () => undefined, stop: async () => fail() }, NEVER_ABORTED);
    await list.start({ name: 'hangs', start: () => undefined, stop: async () => NEVER }, NEVER_ABORTED);
    const limits: number[] = [];
    const patient = async (_: unknown, limitMs: number): Promise<void> => {
      limits.push(limitMs);
      await clock.sleep(limitMs);
    };
    await list.start({ name: 'patient', start: () => undefined, stop: patient }, NEVER_ABORTED);
    const stopping = list.stop();
    // The one that keeps to its limit is not blamed, and the others have a second each from then on.
    await clock.advance(10_000);
    await clock.advance(1_100);
    await stopping;
    expect(limits).toEqual([10_000]);
    expect(logger.complaints.map(({ fields }) => fields['part'])).toEqual(['hangs', 'rejects', 'throws']);
    expect(steps).toContain('stopped first');
    expect(clock.pendingTimers).toBe(0);
  });

  it('starts nothing once whoever is asked before each part objects', async () => {
    const asked: string[] = [];
    const { list, steps, part } = setUp((name) => {
      asked.push(name);
      if (name === 'two') throw new Error('not two');
    });
    await list.start(part('one', 1), NEVER_ABORTED);
    await expect(list.start(part('two', 2), NEVER_ABORTED)).rejects.toThrow('not two');
    expect(asked).toEqual(['one', 'two']);
    expect(steps).toEqual(['start one']);
  });
});

describe('a part of loops', () => {
  it('asks all to end together, waits for each, and passes on the failure of any', async () => {
    const { list, clock, logger } = setUp();
    const failures: unknown[] = [];
    const ended: string[] = [];
    const loop = (name: string, lastsMs: number) =>
      [
        name,
        async (signal: AbortSignal) => {
          await clock.sleep(1e9, signal).catch(() => undefined);
          await clock.sleep(lastsMs);
          ended.push(name);
        },
      ] as const;
    const broken = new Error('broken');
    const loops = [
      loop('slow', 9_000),
      loop('quick', 1_000),
      ['broken', () => Promise.reject(broken)],
    ] as const;
    await list.start(
      loopsPart('loops', loops, (error) => failures.push(error)),
      NEVER_ABORTED,
    );
    await clock.settle();
    expect(failures).toEqual([broken]);
    let isOver = false;
    const stopping = list.stop().then(() => (isOver = true));
    await clock.advance(8_999);
    expect({ ended, isOver }).toEqual({ ended: ['quick'], isOver: false });
    await clock.advance(1);
    await stopping;
    expect(ended).toEqual(['quick', 'slow']);
    expect(logger.complaints.map(({ fields }) => fields['part'])).toEqual(['broken']);
  });
});
