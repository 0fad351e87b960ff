import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { NodeShutdown, type NodeShutdownOptions, type ShutdownTimes } from './node-shutdown.js';

const CRITICAL = 2_000_000_000;
const PERIODS = [
  { priority: 0, shutdownGracePeriodSeconds: 20 },
  { priority: CRITICAL, shutdownGracePeriodSeconds: 10 },
];

/** A machine with logind and pods, of which some take their time. */
class Machine {
  readonly clock = new FakeClock();
  readonly logger = new LogRecorder();
  readonly done: string[] = [];
  delayMs = 5_000;
  /** A logind that cannot be configured. */
  isStubborn = false;
  isPreparing = false;
  /** Thrown by each question. */
  failure: Error | undefined;
  locks = 0;
  send: ((isShuttingDown: boolean) => void) | undefined;
  loseLock: ((reason: string) => void) | undefined;
  loseMonitor: ((error: Error) => void) | undefined;
  /** Seconds that pods take to end, by name; for ever if it is not here. */
  readonly ends = new Map<string, number>();
  pods: NodePod[] = [];
  written: ShutdownTimes | undefined;
  readonly abort = new AbortController();
  running: Promise<void> | undefined;
  readonly shutdown: NodeShutdown;

  constructor(options: Partial<NodeShutdownOptions> = {}) {
    const { clock, logger, done } = this;
    this.shutdown = new NodeShutdown({
      ...{ clock, logger, periods: PERIODS },
      logind: {
        delayMs: async () => this.#answer(this.delayMs),
        raiseDelay: async (seconds) => {
          done.push(`delay ${seconds}`);
          if (!this.isStubborn) this.delayMs = seconds * 1_000;
          return this.#answer(undefined);
        },
        isPreparing: async () => this.#answer(this.isPreparing),
        lock: async () => {
          this.locks++;
          done.push('lock');
          const gone = new Promise<string>((resolve) => (this.loseLock = resolve));
          let isHeld = true;
          const release = (): void => {
            if (isHeld) this.#release();
            isHeld = false;
          };
          return this.#answer({ release, gone });
        },
        watch: async (onSignal, signal) => {
          this.send = onSignal;
          await new Promise<void>((resolve, reject) => {
            this.loseMonitor = reject;
            signal.addEventListener('abort', () => resolve(), { once: true });
          });
        },
      },
      pods: () => this.pods,
      end: ({ metadata: { name } }, grace) => void done.push(`end ${name} ${grace}`),
      whenGone: async ({ metadata: { name } }, signal) => {
        await clock.sleep((this.ends.get(name) ?? 1e6) * 1_000, signal);
        done.push(`gone ${name}`);
      },
      onChange: (isShuttingDown, ended) =>
        done.push(`${isShuttingDown} [${ended.map(({ metadata }) => metadata.name).join(' ')}]`),
      onEvent: ({ type, reason, message }) => done.push(`${type} ${reason} ${message}`),
      record: {
        read: async () => Promise.resolve(this.written),
        write: async (times) => {
          this.written = times;
          return Promise.resolve();
        },
      },
      ...options,
    });
  }

  async start(): Promise<void> {
    this.running = this.shutdown.run(this.abort.signal);
    await this.clock.advance(0);
  }

  add(name: string, { priority, grace = 30 }: { priority?: number; grace?: number } = {}): void {
    const pod = aNodePod({ name });
    const more = { terminationGracePeriodSeconds: grace, ...(priority === undefined ? {} : { priority }) };
    this.pods.push({ ...pod, spec: { ...pod.spec, ...more } });
  }

  #release(): void {
    this.locks--;
    this.done.push('release');
  }

  async #answer<Value>(value: Value): Promise<Value> {
    return this.failure === undefined ? Promise.resolve(value) : Promise.reject(this.failure);
  }
}

let machine: Machine;
const BEGUN = 'Normal Shutdown Shutdown manager detected shutdown event';
const CANCELLED = 'Normal Shutdown Shutdown manager detected shutdown cancellation';

beforeEach(() => {
  machine = new Machine();
});
afterEach(async () => {
  machine.abort.abort();
  await machine.clock.advance(0);
  await machine.running;
  expect(machine.locks).toBe(0);
  expect(machine.clock.pendingTimers).toBe(0);
});

describe('before a shutdown', () => {
  it('a lock is held, for which logind allows as much time as all periods take', async () => {
    await machine.start();
    await machine.clock.advance(100);
    expect(machine.done).toEqual(['delay 30', 'lock']);
    expect(machine.shutdown.rejection()).toBeUndefined();
  });

  it('logind is not configured where it allows enough', async () => {
    machine.delayMs = 30_000;
    await machine.start();
    expect(machine.done).toEqual(['lock']);
  });

  it('the lock is held, too, where logind allows less, and the log says so', async () => {
    machine.isStubborn = true;
    await machine.start();
    await machine.clock.advance(4_000);
    expect(machine.locks).toBe(1);
    expect(JSON.stringify(machine.logger.complaints)).toContain('"inhibitDelayMaxSeconds":5');
  });

  it('nothing happens where no period is set', async () => {
    machine = new Machine({ periods: [] });
    await machine.start();
    expect(machine.done).toEqual([]);
  });

  it('a machine without logind is asked again, and complained of once', async () => {
    machine.failure = new Error('busctl: spawn busctl ENOENT');
    await machine.start();
    await machine.clock.advance(120_000);
    expect(JSON.stringify(machine.logger.complaints).split('ENOENT')).toHaveLength(2);
    machine.failure = undefined;
    await machine.clock.advance(61_000);
    expect(machine.locks).toBe(1);
  });

  it.each([
    ['the lock', () => machine.loseLock!('systemd-inhibit: ended with 1')],
    ['the monitor', () => machine.loseMonitor!(new Error('busctl monitor: ended with 1'))],
  ])('%s is taken again when it is lost', async (_, lose) => {
    await machine.start();
    await machine.clock.advance(20_000);
    machine.done.length = 0;
    lose();
    await machine.clock.advance(1_000);
    expect(machine.done).toEqual(['release', 'lock']);
  });
});

describe('when the machine shuts down', () => {
  const begin = async (): Promise<void> => {
    await machine.start();
    await machine.clock.advance(20_000);
    machine.done.length = 0;
    machine.isPreparing = true;
    machine.send!(true);
    await machine.clock.advance(0);
  };

  it('pods end by their priority, each in the shorter of its own time and its group’s', async () => {
    machine.add('agent', { priority: 2_000_001_000, grace: 5 });
    machine.add('web', { grace: 60 });
    machine.add('quick', { grace: 3 });
    machine.ends.set('agent', 2).set('web', 15).set('quick', 1);
    await begin();
    expect(machine.done).toEqual([BEGUN, 'true []', 'end web 20', 'end quick 3']);
    await machine.clock.advance(15_000);
    expect(machine.done.slice(4)).toEqual(['gone quick', 'gone web', 'end agent 5']);
    expect(machine.locks).toBe(1);
    await machine.clock.advance(2_000);
    expect(machine.done.slice(7)).toEqual(['gone agent', 'release']);
    expect(machine.shutdown.rejection()?.reason).toBe('NodeShutdown');
  });

  it('a group is not waited for longer than its period, and the log names who is left', async () => {
    machine.add('stuck');
    machine.add('critical', { priority: CRITICAL });
    machine.ends.set('critical', 1);
    await begin();
    await machine.clock.advance(19_999);
    expect(machine.done.at(-1)).toBe('end stuck 20');
    await machine.clock.advance(1);
    expect(machine.done.at(-1)).toBe('end critical 10');
    expect(JSON.stringify(machine.logger.complaints)).toContain('default/stuck');
  });

  it('pods end although the disk of the agent hangs, which holds up the machine for a moment at most', async () => {
    const write = async (): Promise<void> => new Promise(() => undefined);
    machine = new Machine({ record: { read: async () => Promise.resolve(undefined), write } });
    machine.add('web');
    machine.ends.set('web', 2);
    await begin();
    expect(machine.done.at(-1)).toBe('end web 20');
    await machine.clock.advance(2_000);
    expect(machine.done.at(-1)).toBe('gone web');
    await machine.clock.advance(5_000);
    expect(machine.done.at(-1)).toBe('release');
  });

  it('its times are on the disk from the beginning, and known to a later agent', async () => {
    machine.add('web');
    machine.ends.set('web', 5);
    await begin();
    const startedAtMs = machine.clock.now();
    expect(machine.written).toEqual({ startedAtMs });
    await machine.clock.advance(5_000);
    expect(machine.shutdown.times).toEqual({ startedAtMs, endedAtMs: startedAtMs + 5_000 });

    const { written } = machine;
    const next = new Machine({ periods: [] });
    next.written = written;
    await next.start();
    expect(next.shutdown.times).toEqual(written);
  });

  it('the same signal again changes nothing', async () => {
    machine.add('web');
    await begin();
    machine.send!(true);
    expect(machine.done.filter((each) => each === BEGUN)).toHaveLength(1);
  });

  it.each([
    ['by a signal', async () => machine.send!(false)],
    ['by a restart of logind, which sends none', async () => machine.clock.advance(5_000)],
  ])('that can be cancelled %s: no more pods end, and those that did are handed back', async (_, cancel) => {
    machine.add('web');
    machine.add('critical', { priority: CRITICAL });
    await begin();
    machine.isPreparing = false;
    await cancel();
    await machine.clock.advance(0);
    expect(machine.done.slice(3)).toEqual([CANCELLED, 'false [web]', 'lock', 'release']);
    expect(machine.locks).toBe(1);
    expect(machine.shutdown.rejection()).toBeUndefined();
    await machine.clock.advance(30_000);
    expect(machine.done).toHaveLength(7);
  });

  it('the lock is held until pods have ended, whatever else is lost', async () => {
    machine.add('web');
    machine.ends.set('web', 12);
    await begin();
    machine.loseMonitor!(new Error('the bus is gone'));
    machine.failure = new Error('the bus is gone');
    await machine.clock.advance(11_000);
    expect(machine.locks).toBe(1);
    await machine.clock.advance(1_000);
    expect(machine.done.slice(-2)).toEqual(['gone web', 'release']);
    expect(machine.locks).toBe(0);
  });

  it('an agent that starts in the middle of it ends the pods, and asks for no lock', async () => {
    machine.isPreparing = true;
    machine.add('web', { grace: 7 });
    await machine.start();
    expect(machine.done).toEqual([BEGUN, 'true []', 'end web 7']);
  });

  it('a signal that was sent while the monitor started is not missed', async () => {
    machine.delayMs = 30_000;
    await machine.start();
    machine.isPreparing = true;
    await machine.clock.advance(1_000);
    expect(machine.done).toContain(BEGUN);
  });
});
