import { expect, it } from 'vitest';
import { count, listOf, oneOf } from './setting-shapes.js';

const accepted = ({ accepts }: { accepts: (text: string) => boolean }, ...texts: string[]) =>
  texts.filter(accepts);

it('takes whole numbers in plain digits, up to a limit', () => {
  const shape = count({ most: 500 });
  expect(shape.words).toBe('a whole number from 1 to 500');
  expect(accepted(shape, '1', '500')).toEqual(['1', '500']);
  expect(accepted(shape, '0', '501', '-1', '1.5', '1e2', '0x10', ' 5', '05', '', 'foo')).toEqual([]);
});

it('takes only multiples where things come in groups', () => {
  const shape = count({ most: 500, multipleOf: 2 });
  expect(shape.words).toBe('a whole number from 2 to 500, a multiple of 2');
  expect(accepted(shape, '2', '110', '111', '0')).toEqual(['2', '110']);
});

it('takes lists in which nothing stands twice', () => {
  const shape = listOf(count({ most: 32 }));
  expect(accepted(shape, '8', '8,16', '16,16', '8,', '8,33', '')).toEqual(['8', '8,16']);
});

it('takes names that are known', () => {
  const shape = oneOf(['generic', 'auto']);
  expect(shape.words).toBe('one of generic, auto');
  expect(accepted(shape, 'auto', 'foo', '')).toEqual(['auto']);
  expect(accepted(listOf(shape), 'auto,generic', 'auto,foo')).toEqual(['auto,generic']);
});
