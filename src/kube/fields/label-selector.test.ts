import { describe, expect, it } from 'vitest';
import { parseLabelSelector } from './label-selector.js';

const labels = { app: 'web', tier: 'front', 'example.com/size': '12', empty: '' };

describe('a label selector', () => {
  it.each([
    [''],
    ['app=web'],
    ['app==web'],
    [' app = web , tier!=back '],
    ['app in (web, api)'],
    ['app in (web)'],
    ['tier notin (back,middle)'],
    ['missing notin (x)'],
    ['missing!=x'],
    ['app'],
    ['!missing'],
    ['! missing,app'],
    ['example.com/size>11,example.com/size<13'],
    ['empty='],
    ['empty in (,x)'],
    ['in=x,notin', false],
    ['app!=web', false],
    ['app=we', false],
    ['missing=web', false],
    ['missing in (web)', false],
    ['app notin (web)', false],
    ['missing', false],
    ['!app', false],
    ['app>1', false],
    ['constructor', false],
    ['app=web,tier=back', false],
  ])('%o', (text, expected = true) => {
    expect(parseLabelSelector(text)(labels)).toBe(expected);
  });

  it.each([
    ['app=web,', 'found the end, expected a key after the comma'],
    ['=web', "found '=', expected a key"],
    ['app in web', "found 'web', expected '('"],
    ['app in (web', "found the end, expected ',' or ')'"],
    ['app web', "found 'web'"],
    ['app=a b', "found 'b', expected ','"],
    ['a/b/c=d', 'must be a label key'],
    ['Example.com/a', 'must be a label key'],
    ['app=-x', 'must be a label value'],
    [`app=${'x'.repeat(64)}`, 'must be a label value'],
    ['app>x', 'expected a whole number'],
    ['!', 'found the end, expected a key'],
  ])('refuses %o', (text, words) => {
    expect(() => parseLabelSelector(text)).toThrow(words);
  });
});
