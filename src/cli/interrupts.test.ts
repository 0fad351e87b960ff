import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { listenForInterrupts } from './interrupts.js';

function listen({ hasTerminal = true } = {}) {
  const source = Object.assign(new EventEmitter(), { hasTerminal });
  const clock = new FakeClock();
  const exits: number[] = [];
  const signal = listenForInterrupts(source, clock, (code) => exits.push(code));
  return { source, clock, exits, signal };
}

describe('interrupts', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'])('abort the signal at the first %s and do not exit', (name) => {
    const { source, exits, signal } = listen();
    expect(signal.aborted).toBe(false);
    source.emit(name);
    expect(signal.aborted).toBe(true);
    expect(exits).toEqual([]);
  });

  it.each(['SIGINT', 'SIGTERM'])('abort the signal at the first %s without a terminal, too', (name) => {
    const { source, signal } = listen({ hasTerminal: false });
    source.emit(name);
    expect(signal.aborted).toBe(true);
  });

  it('are no hangups without a terminal, however many come, and do not get the default', async () => {
    const { source, clock, exits, signal } = listen({ hasTerminal: false });
    expect(source.listenerCount('SIGHUP')).toBe(1);
    for (let at = 0; at < 3; at++) {
      source.emit('SIGHUP');
      await clock.advance(1_000);
    }
    expect(signal.aborted).toBe(false);
    expect(exits).toEqual([]);
  });

  it('exit at once with 130 at the second Ctrl-C', async () => {
    const { source, clock, exits } = listen();
    source.emit('SIGINT');
    await clock.advance(1_000);
    source.emit('SIGINT');
    expect(exits).toEqual([130]);
  });

  it('count what npm hands on of one key press as the same', async () => {
    const { source, clock, exits } = listen();
    source.emit('SIGINT');
    await clock.advance(20);
    source.emit('SIGINT');
    expect(exits).toEqual([]);
  });
});
