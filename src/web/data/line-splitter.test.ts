import { expect, it } from 'vitest';
import { LineSplitter } from './line-splitter.js';

const bytes = (text: string): ArrayBuffer => new TextEncoder().encode(text).buffer;

it('gives whole lines, and keeps what has no end yet', () => {
  const splitter = new LineSplitter();
  expect(splitter.add(bytes('one\ntw'))).toEqual(['one']);
  expect(splitter.add(bytes('o\n\nth'))).toEqual(['two', '']);
  expect(splitter.rest).toBe('th');
});

it('puts a character together that was cut', () => {
  const splitter = new LineSplitter();
  const whole = new Uint8Array(bytes('ü\n'));
  expect(splitter.add(whole.slice(0, 1).buffer)).toEqual([]);
  expect(splitter.add(whole.slice(1).buffer)).toEqual(['ü']);
});

it('cuts lines that are too long, also one that never ends', () => {
  const splitter = new LineSplitter(4);
  expect(splitter.add(bytes('abcd\nabcdefghij\nx'))).toEqual(['abcd', 'abcd', 'efgh', 'ij']);
  expect(splitter.add(bytes('xxx'))).toEqual([]);
  expect(splitter.add(bytes('yyyyyyyyyy'))).toEqual(['xxxx', 'yyyy', 'yyyy']);
  expect(splitter.rest).toBe('yy');
  for (let count = 0; count < 1_000; count++) splitter.add(bytes('0123456789'));
  expect(splitter.rest.length).toBeLessThanOrEqual(4);
});
