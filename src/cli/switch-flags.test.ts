import { Command } from 'commander';
import { expect, it } from 'vitest';
import { toSwitches } from './switch-flags.js';

const run = new Command('run').option('--stop-pods [bool]').option('--wait').option('--node-name <name>');

it.each([
  ['a folder behind a switch that takes a value', ['--stop-pods', 'pods'], ['--stop-pods=true', 'pods']],
  ['the last one', ['pods', '--stop-pods'], ['pods', '--stop-pods=true']],
  ['a flag behind it', ['--stop-pods', '--wait'], ['--stop-pods=true', '--wait']],
  ['its value behind it', ['--stop-pods', 'false', 'pods'], ['--stop-pods', 'false', 'pods']],
  ['its value in it', ['--stop-pods=false', 'pods'], ['--stop-pods=false', 'pods']],
  ['a switch without a value', ['--wait', 'pods'], ['--wait', 'pods']],
  ['a flag that needs one', ['--node-name', 'pods'], ['--node-name', 'pods']],
  ['what is behind the end of flags', ['--', '--stop-pods', 'pods'], ['--', '--stop-pods', 'pods']],
])('%s is taken for what it is', (_, args, taken) => {
  expect(toSwitches(['run', ...args], [run])).toEqual(['run', ...taken]);
});
