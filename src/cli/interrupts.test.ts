import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { listenForInterrupts } from './interrupts.js';

function listen() {
  const source = new EventEmitter();
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
