import { expect, it } from 'vitest';
import { ShownLog } from './shown-log.js';

const BEGIN_MS = Date.parse('2026-01-02T03:04:05.000Z');
const line = (second: number, text: string): string =>
  `${new Date(BEGIN_MS + second * 1_000).toISOString()} ${text}`;
const texts = ({ all }: ShownLog): string[] => all.map(({ text }) => text);

it('holds the newest lines, and counts those that went', () => {
  const lines = new ShownLog(NaN, { maxLines: 100, maxCharacters: 1e6 });
  lines.add(Array.from({ length: 111 }, (_, at) => line(at, `${at}`)));
  expect([lines.all.length, lines.dropped, lines.all[0]!.text]).toEqual([100, 11, '11']);
});

it('holds less of lines that are long', () => {
  const lines = new ShownLog(NaN, { maxLines: 100, maxCharacters: 1_000 });
  for (let at = 0; at < 500; at++) lines.add([line(at, 'x'.repeat(100))]);
  expect(lines.all.length).toBeLessThanOrEqual(11);
  expect(lines.dropped + lines.all.length).toBe(500);
});

it('holds what is round a moment, however much comes before and after it', () => {
  const lines = new ShownLog(BEGIN_MS + 5_000_000, { maxLines: 100, maxCharacters: 1e6 });
  for (let at = 4_000; at < 9_000; at++) lines.add([line(at, `${at}`)]);
  expect(lines.isFull).toBe(true);
  expect(texts(lines)).toContain('4990');
  expect(texts(lines)).toContain('5040');
});

it('goes on where it was after a break, with no line twice and none lost', () => {
  const lines = new ShownLog();
  const first = [
    line(1, 'one'),
    line(2, 'two'),
    line(2, 'two and a half'),
    line(3, 'three'),
    line(3, 'same'),
  ];
  lines.add(first.slice(0, 4));
  expect(lines.resume()).toBe('2026-01-02T03:04:08.000Z');
  lines.note('a break');
  lines.add([...first.slice(1), line(4, 'four')]);
  expect(texts(lines)).toEqual(['one', 'two', 'two and a half', 'three', 'a break', 'same', 'four']);
});

it('goes on with another container, of which nothing is known', () => {
  const lines = new ShownLog();
  lines.add([line(1, 'the end')]);
  lines.resume();
  lines.add([line(9, 'a begin')]);
  expect(texts(lines)).toEqual(['the end', 'a begin']);
  expect(new ShownLog().resume()).toBeUndefined();
});

it('shows each line of a millisecond once, however often the log is read again', () => {
  const lines = new ShownLog();
  const same = ['one', 'same', 'same', 'two', 'three'].map((text) => line(1, text));
  for (let count = 1; count <= same.length; count++) {
    lines.add(same.slice(0, count));
    expect(texts(lines)).toEqual(['one', 'same', 'same', 'two', 'three'].slice(0, count));
    expect(lines.resume()).toBe('2026-01-02T03:04:06.000Z');
  }
  lines.add(same.slice(0, 2));
  lines.resume();
  lines.add([...same, line(2, 'same')]);
  expect(texts(lines)).toEqual(['one', 'same', 'same', 'two', 'three', 'same']);
});

it('shows the line in full at which the connection broke, and what is of the same millisecond', () => {
  const lines = new ShownLog();
  lines.add([line(1, 'before')]);
  lines.resume();
  lines.add([line(1, 'before'), line(1, 'the whole line'), line(1, 'after')]);
  expect(texts(lines)).toEqual(['before', 'the whole line', 'after']);
});

it('goes on in the middle of a line that comes in pieces', () => {
  const limits = { maxLines: 4, maxCharacters: 1e6 };
  const lines = new ShownLog(NaN, limits);
  const pieces = [line(1, 'begin'), 'x1', 'x1', 'x2', 'x3', 'x4', 'x5'];
  lines.add(pieces.slice(0, 3));
  lines.resume();
  lines.add(pieces.slice(0, 6));
  expect(texts(lines)).toEqual(['x1', 'x2', 'x3', 'x4']);
  expect(lines.resume()).toBe('2026-01-02T03:04:06.000Z');
  lines.add([...pieces, line(2, 'next')]);
  expect(texts(lines).slice(-3)).toEqual(['x4', 'x5', 'next']);
});

it('shows all of another container, also if the clock was set back', () => {
  const lines = new ShownLog();
  lines.begin('one', 'started again');
  lines.add([line(9, 'the end')]);
  lines.begin(undefined, 'started again');
  lines.begin('one', 'started again');
  expect(lines.resume()).toBeDefined();
  lines.begin('two', 'started again');
  expect(lines.resume()).toBeUndefined();
  lines.add([line(1, 'a begin'), line(9, 'the end')]);
  expect(texts(lines)).toEqual(['the end', 'started again', 'a begin', 'the end']);
  expect(lines.resume()).toBe('2026-01-02T03:04:14.000Z');
  lines.add([line(9, 'the end'), line(9, 'more'), line(2, 'set back')]);
  expect(texts(lines).slice(-3)).toEqual(['the end', 'more', 'set back']);
});

it('finds in what is there and in what comes, and forgets what went', () => {
  const lines = new ShownLog(NaN, { maxLines: 10, maxCharacters: 1e6 });
  lines.add([line(0, 'An Error'), line(1, 'fine')]);
  lines.search('eRRor');
  lines.add([line(2, 'error 2')]);
  expect(lines.found.map(({ text }) => text)).toEqual(['An Error', 'error 2']);
  lines.add(Array.from({ length: 9 }, (_, at) => line(at + 3, 'fine')));
  expect(lines.found.map(({ text }) => text)).toEqual(['error 2']);
  lines.search('');
  expect(lines.found).toEqual([]);
});
