import { expect, it } from 'vitest';
import { Absences } from './absences.js';

const MINUTE = 60_000;

it('counts as gone what two scans in a row have missed, some minutes apart', () => {
  const absences = new Absences();
  expect([0, 1, 4 * MINUTE - 1, 4 * MINUTE].map((atMs) => absences.missed('a', atMs))).toEqual([
    false,
    false,
    false,
    true,
  ]);
  expect(absences.missed('b', 4 * MINUTE)).toBe(false);
});

it('starts over if a scan between them has seen it', () => {
  const absences = new Absences();
  absences.missed('a', 0);
  absences.saw('a');
  expect(absences.missed('a', 5 * MINUTE)).toBe(false);
  expect(absences.missed('a', 10 * MINUTE)).toBe(true);
});

it('is not affected by a scan that began before the one that ended first', () => {
  const absences = new Absences();
  absences.missed('a', 5 * MINUTE);
  expect(absences.missed('a', 0)).toBe(false);
  expect(absences.missed('a', 9 * MINUTE)).toBe(true);
});
