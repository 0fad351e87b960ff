import { EventEmitter } from 'node:events';
import { type WriteStream } from 'node:tty';
import { describe, expect, it } from 'vitest';
import { findTerminal, findWindow } from './terminal.js';

const streamOf = (more: object): WriteStream =>
  Object.assign(new EventEmitter(), { columns: 90, rows: 30, ...more }) as unknown as WriteStream;
const sizeOf = ({ columns, rows }: { columns: number; rows: number }): number[] => [columns, rows];

describe('the terminal at standard output', () => {
  it.each([{ TERM: 'xterm' }, { TERM: 'dumb' }, { TERM: '' }, {}])(
    'has a size whatever it can draw, with %j',
    (env) => {
      const stream = streamOf({ isTTY: true });
      expect(sizeOf(findWindow(stream)!)).toEqual([90, 30]);
      const terminal = findTerminal(stream, new EventEmitter(), env);
      expect(terminal === undefined).toBe(env.TERM === 'dumb');
      if (terminal !== undefined) expect(sizeOf(terminal)).toEqual([90, 30]);
    },
  );

  it('has the usual size where it reports none', () => {
    expect(sizeOf(findWindow(streamOf({ isTTY: true, columns: 0, rows: 0 }))!)).toEqual([80, 24]);
  });

  it('reports each change of its size until nobody wants to hear of it', () => {
    const stream = streamOf({ isTTY: true });
    let changes = 0;
    const stop = findWindow(stream)!.onResize(() => {
      changes++;
    });
    stream.emit('resize');
    stop();
    stream.emit('resize');
    expect(changes).toBe(1);
  });

  it('is none for a file or a pipe', () => {
    expect(findWindow(streamOf({}))).toBeUndefined();
    expect(findTerminal(streamOf({}), new EventEmitter(), {})).toBeUndefined();
  });
});
