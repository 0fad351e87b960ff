import { describe, expect, it } from 'vitest';
import { planLogRotation, rotatedName } from './log-rotation-plan.js';

const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

describe('what a log was rotated into', () => {
  it('is compressed, and the oldest goes', () => {
    const files = [
      '0.log',
      '0.log.20260101-000003',
      '0.log.20260101-000001.gz',
      '0.log.20260101-000002.gz',
      '0.log.20260101-000000.gz',
      '1.log.20250101-000000',
    ];
    expect(planLogRotation('0.log', files, 5)).toEqual({
      remove: ['0.log.20260101-000000.gz'],
      compress: ['0.log.20260101-000003'],
    });
  });

  it('goes where a compressed form is whole, and stays where it is not', () => {
    const files = ['0.log.a', '0.log.a.gz', '0.log.b', '0.log.b.tmp'];
    expect(planLogRotation('0.log', files, 5)).toEqual({
      remove: ['0.log.a', '0.log.b.tmp'],
      compress: ['0.log.b'],
    });
  });

  it('is all gone when there may be two files only', () => {
    expect(planLogRotation('0.log', ['0.log.a.gz', '0.log.b'], 2)).toEqual({
      remove: ['0.log.a.gz', '0.log.b'],
      compress: [],
    });
  });
});

describe('the name of a rotated log', () => {
  it('has the time in it', () => {
    expect(rotatedName('0.log', [], AT_MS)).toBe('0.log.20260102-030405');
  });

  it('comes after those that are there, however often and whatever the clock says', () => {
    expect(rotatedName('0.log', ['0.log.20260102-030405'], AT_MS)).toBe('0.log.20260102-030406');
    expect(rotatedName('0.log', ['0.log.20260102-045959.gz', '0.log.20250102-045959.gz'], AT_MS)).toBe(
      '0.log.20260102-050000',
    );
    expect(rotatedName('0.log', ['1.log.20270102-045959', '0.log.odd', '0.log'], AT_MS)).toBe(
      '0.log.20260102-030405',
    );
  });
});
