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
