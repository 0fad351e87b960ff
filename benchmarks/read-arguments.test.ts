import { expect, it } from 'vitest';
import { readArguments } from './read-arguments.js';

const KNOWN = { settings: ['containers', 'sizes'], switches: ['full'] };
const read = (...args: string[]) => readArguments(args, KNOWN);

it('reads settings, switches and names', () => {
  const { values, positionals } = read('micro', '--containers', '7', '--full', 'relist', '--sizes=1,2');
  expect({ ...values }).toEqual({ containers: '7', full: true, sizes: '1,2' });
  expect(positionals).toEqual(['micro', 'relist']);
});

it('takes a negative number for a value, which is refused with the others that are wrong', () => {
  expect(read('--containers', '-1').values['containers']).toBe('-1');
});

it('says in plain words what is wrong', () => {
  expect(() => read('--container', '7')).toThrow('there is no option --container; see --help');
  expect(() => read('-x')).toThrow('there is no option -x; see --help');
  expect(() => read('--containers')).toThrow('--containers takes a value; see --help');
  expect(() => read('--containers', '--full')).toThrow('--containers takes a value; see --help');
  expect(() => read('--full=yes')).toThrow('--full takes no value');
});
