import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { closeGoneTerminals } from './terminal-hangup.js';

/** Which file descriptors are closed at the end, of terminals from the start and of those that are still there then. */
function closedAtExit(atStart: readonly number[], atEnd: readonly number[]): number[] {
  const process = new EventEmitter();
  const closed: number[] = [];
  let terminals = atStart;
  closeGoneTerminals(process, {
    isTerminal: (fd) => terminals.includes(fd),
    close: (fd) => void closed.push(fd),
  });
  terminals = atEnd;
  process.emit('exit');
  return closed;
}

it.each([
  { atStart: [0, 1, 2], atEnd: [0, 1, 2], closed: [] },
  { atStart: [0, 1, 2], atEnd: [], closed: [0, 1, 2] },
  { atStart: [0, 2], atEnd: [], closed: [0, 2] },
  { atStart: [1], atEnd: [], closed: [1] },
  { atStart: [], atEnd: [], closed: [] },
])('closes terminals that have gone alone: $atStart, then $atEnd', ({ atStart, atEnd, closed }) => {
  expect(closedAtExit(atStart, atEnd)).toEqual(closed);
});
