import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addQuantities,
  compareQuantities,
  findQuantity,
  formatQuantity,
  getQuantity,
  toMilliUnits,
  toNumber,
  toWholeUnits,
} from './quantity.js';

const canonical = (text: string): string => formatQuantity(getQuantity(text));

describe('a quantity', () => {
  it.each([
    ['0', '0'],
    ['-0', '0'],
    ['0Gi', '0'],
    ['1', '1'],
    ['+1', '1'],
    ['1.', '1'],
    ['.5', '500m'],
    ['0.5', '500m'],
    ['500m', '500m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1000k', '1M'],
    ['1024', '1024'],
    ['1Ki', '1Ki'],
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['1023Ki', '1023Ki'],
    ['1.0001Ki', '1024102400u'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['1500e0', '1500'],
    ['1e4', '10e3'],
    ['1e-3', '1e-3'],
    ['12E', '9223372036854775807'],
    ['8Ei', '9223372036854775807'],
    ['-12E', '-9223372036854775807'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1e-400', '1e-9'],
    ['1e999999999999', '9223372036854775807'],
    ['0e999999999999', '0'],
    ['-1.5Gi', '-1536Mi'],
  ])('%s is formatted as %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it.each([
    '',
    ' 1',
    '1 ',
    '1 Gi',
    'Gi',
    '1KB',
    '1K',
    '1gi',
    '1mi',
    '--1',
    '1e',
    '1e1.5',
    '1.2.3',
    '1Gim',
    '0x1',
    '1_000',
    '.',
    '1'.repeat(300),
  ])('is not %j', (text) => {
    expect(findQuantity(text)).toBeUndefined();
    expect(() => getQuantity(text)).toThrow(RangeError);
  });

  it('is converted rounding up, as Kubernetes does', () => {
    expect(toWholeUnits(getQuantity('1.5'))).toBe(2n);
    expect(toWholeUnits(getQuantity('-1.5'))).toBe(-2n);
    expect(toWholeUnits(getQuantity('1Gi'))).toBe(1024n ** 3n);
    expect(toMilliUnits(getQuantity('0.0001'))).toBe(1n);
    expect(toMilliUnits(getQuantity('2'))).toBe(2000n);
    expect(toNumber(getQuantity('250m'))).toBe(0.25);
    expect(formatQuantity(addQuantities(getQuantity('512Mi'), getQuantity('512Mi')))).toBe('1Gi');
    expect(formatQuantity(addQuantities(getQuantity('0'), getQuantity('1Gi')))).toBe('1Gi');
  });

  const texts = fc
    .tuple(
      fc.constantFrom('', '-', '+'),
      fc.bigInt({ min: 0n, max: 10n ** 20n }),
      fc.option(fc.nat({ max: 999_999_999 })),
      fc.constantFrom(
        '',
        'n',
        'u',
        'm',
        'k',
        'M',
        'G',
        'T',
        'P',
        'E',
        'Ki',
        'Mi',
        'Gi',
        'Ti',
        'Pi',
        'Ei',
        'e3',
        'e-7',
        'E2',
      ),
    )
    .map(
      ([sign, whole, fraction, suffix]) =>
        `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${suffix}`,
    );

  it('has the same amount in its canonical form, which is stable', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const quantity = getQuantity(text);
        const again = getQuantity(formatQuantity(quantity));
        expect(again.nanos).toBe(quantity.nanos);
        expect(formatQuantity(again)).toBe(formatQuantity(quantity));
      }),
    );
  });

  it('is ordered by its amount', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        const [a, b] = [getQuantity(one), getQuantity(other)];
        expect(compareQuantities(a, b)).toBe(a.nanos === b.nanos ? 0 : a.nanos < b.nanos ? -1 : 1);
        expect(compareQuantities(b, a) + compareQuantities(a, b)).toBe(0);
      }),
    );
  });

  it('is found or not in any text, without throwing', () => {
    fc.assert(fc.property(fc.string(), (text) => void findQuantity(text)));
  });
});
