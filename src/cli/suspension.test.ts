import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { handleSuspension } from './suspension.js';

class FakeProcess extends EventEmitter {
  readonly sent: string[] = [];

  kill(pid: number, signal: string): void {
    this.sent.push(`${pid} ${signal} ${this.listenerCount('SIGTSTP')}`);
  }
}

function setUp() {
  const source = new FakeProcess();
  const clock = new FakeClock();
  const done: string[] = [];
  const suspension = handleSuspension(source, clock, {
    leave: () => void done.push('leave'),
    enter: () => void done.push('enter'),
  });
  return { source, clock, done, suspension };
}

describe('a suspension', () => {
  it('gives the terminal back, stops the whole group as the signal would, and takes it again', () => {
    const { source, done, suspension } = setUp();
    source.emit('SIGTSTP');
    expect(done).toEqual(['leave']);
    // With no listener left it has its usual effect.
    expect(source.sent).toEqual(['0 SIGTSTP 0']);
    source.emit('SIGCONT');
    source.emit('SIGCONT');
    expect(done).toEqual(['leave', 'enter']);
    suspension.suspend();
    expect(done).toEqual(['leave', 'enter', 'leave']);
  });

  it('goes on by itself where nothing has stopped the process', async () => {
    const { clock, done, suspension } = setUp();
    suspension.suspend();
    await clock.advance(1_000);
    expect(done).toEqual(['leave', 'enter']);
  });

  it('leaves no listener behind', () => {
    const { source, suspension } = setUp();
    suspension[Symbol.dispose]();
    expect(source.eventNames()).toEqual([]);
  });
});
