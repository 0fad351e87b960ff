import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { parseThresholds } from '#kube/node/eviction-thresholds.js';
import { type Supplies } from '#kube/node/node-supplies.js';
import { PressureWatch } from './pressure-watch.js';

const NONE = { memory: false, disk: false, pid: false };

let clock: FakeClock;
let logger: LogRecorder;
let changes: number;
let told: Supplies[];
let memory: () => Promise<Supplies>;
let disk: () => Promise<Supplies>;
let watch: PressureWatch;
let stop: AbortController;

beforeEach(() => {
  clock = new FakeClock();
  logger = new LogRecorder();
  [changes, told] = [0, []];
  stop = new AbortController();
  memory = async () => ({ 'memory.available': { available: 50n, capacity: 100n } });
  disk = async () => ({ 'nodefs.available': { available: 50n, capacity: 100n } });
  watch = new PressureWatch({
    ...{ clock, logger, transitionPeriodMs: 60_000, onChange: () => changes++ },
    onLooked: (supplies) => told.push(supplies),
    readers: { memory: async () => memory(), disk: async () => disk() },
    thresholds: parseThresholds({
      'memory.available': '10%',
      'nodefs.available': '10%',
      'pid.available': '10%',
      'allocatableMemory.available': '10%',
    }),
  });
});

const lack = async (): Promise<Supplies> => ({ 'memory.available': { available: 9n, capacity: 100n } });

describe('what a node is short of', () => {
  it('is nothing while enough is left, and while nobody knows', async () => {
    await watch.look(stop.signal);
    expect(watch.pressure()).toEqual(NONE);
    memory = async () => ({ 'memory.available': { available: 10n, capacity: 100n } });
    await watch.look(stop.signal);
    expect([watch.pressure(), changes]).toEqual([NONE, 0]);
  });

  it('is told at the look that finds too little, and for the transition period after the last', async () => {
    const running = watch.run(stop.signal);
    memory = lack;
    await clock.advance(10_000);
    expect([watch.pressure(), changes]).toEqual([{ ...NONE, memory: true }, 1]);
    await clock.advance(90_000);
    memory = async () => ({ 'memory.available': { available: 90n, capacity: 100n } });
    await clock.advance(50_000);
    expect([watch.pressure(), changes]).toEqual([{ ...NONE, memory: true }, 1]);
    await clock.advance(20_000);
    expect([watch.pressure(), changes]).toEqual([NONE, 2]);
    stop.abort();
    await running;
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'Node is short of something',
      'Node is no longer short of something',
    ]);
  });

  it('is memory also where all pods together have too little left', async () => {
    memory = async () => ({ 'allocatableMemory.available': { available: 9n, capacity: 100n } });
    await watch.look(stop.signal);
    expect(watch.pressure()).toEqual({ ...NONE, memory: true });
  });

  it('is told every ten seconds, and not when somebody asks in between', async () => {
    const running = watch.run(stop.signal);
    await clock.settle();
    expect(await watch.look(stop.signal)).toMatchObject({ 'memory.available': { available: 50n } });
    await clock.advance(9_999);
    expect(told).toHaveLength(1);
    await clock.advance(1);
    expect(told).toHaveLength(2);
    stop.abort();
    await running;
  });

  it('is reported within a second, once, although something else hangs', async () => {
    const running = watch.run(stop.signal);
    await clock.settle();
    disk = async () => new Promise(() => undefined);
    await clock.advance(4_500);
    expect(told).toHaveLength(1);
    memory = lack;
    await clock.advance(1_000);
    expect(watch.pressure()).toEqual({ ...NONE, memory: true });
    expect(told.slice(1)).toEqual([
      {
        'memory.available': { available: 9n, capacity: 100n },
        'nodefs.available': { available: 50n, capacity: 100n },
      },
    ]);
    await clock.advance(3_000);
    expect(told).toHaveLength(2);
    stop.abort();
    await running;
  });

  it('is reported again when it comes back, while the condition has stayed', async () => {
    const running = watch.run(stop.signal);
    await clock.advance(500);
    memory = lack;
    await clock.advance(1_000);
    memory = async () => ({ 'memory.available': { available: 50n, capacity: 100n } });
    await clock.advance(1_000);
    memory = lack;
    await clock.advance(1_000);
    expect([told.length, changes, watch.pressure().memory]).toEqual([3, 1, true]);
    stop.abort();
    await running;
  });

  it('is found although something else cannot be measured or hangs; that is said once', async () => {
    disk = async () => new Promise(() => undefined);
    const running = watch.run(stop.signal);
    memory = lack;
    await clock.advance(40_000);
    expect(watch.pressure()).toEqual({ ...NONE, memory: true });
    stop.abort();
    await clock.settle();
    await running;
    const complaints = logger.lines.filter(({ message }) => message.includes('cannot be measured'));
    expect(complaints).toEqual([
      expect.objectContaining({ fields: { of: 'disk', err: 'disk: not measured within 5s' } }),
    ]);
  });

  it('is not over because it cannot be measured any more before its time', async () => {
    const running = watch.run(stop.signal);
    memory = lack;
    await clock.advance(10_000);
    memory = async () => {
      throw new Error('no /proc');
    };
    await clock.advance(50_000);
    expect(watch.pressure().memory).toBe(true);
    await clock.advance(20_000);
    expect(watch.pressure().memory).toBe(false);
    stop.abort();
    await running;
  });
});
