import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { toNodeCommand } from './node-script.js';

const SCRIPT = { code: 'console.log(JSON.stringify(process.argv.slice(1)))' };

it('is a script of Node, with its options and arguments', () => {
  const { argv, env } = toNodeCommand({ script: SCRIPT, args: ['a', 'b'], flags: ['--v8-pool-size=0'] });
  const [program, ...args] = argv;
  expect(JSON.parse(execFileSync(program, args, { encoding: 'utf8' }))).toEqual(['a', 'b']);
  expect([args[0], env]).toEqual(['--v8-pool-size=0', {}]);
  const other = toNodeCommand({ script: { file: '/x.cjs' }, args: ['1'], node: '/usr/bin/node' });
  expect(other.argv).toEqual(['/usr/bin/node', '/x.cjs', '1']);
});

it('has its options in the environment for the single executable, which takes none', () => {
  const flags = ['--v8-pool-size=0', '--max-old-space-size=32'];
  const { argv, env } = toNodeCommand({ script: { file: '/x.cjs' }, args: ['1'], flags }, true);
  expect(argv).toEqual([process.execPath, '--as-node', '/x.cjs', '1']);
  expect(env).toEqual({ NODE_OPTIONS: '--v8-pool-size=0 --max-old-space-size=32' });
  expect(toNodeCommand({ script: SCRIPT }, true)).toEqual({
    argv: [process.execPath, '--as-node', '-e', SCRIPT.code],
    env: {},
  });
});
