import { expect, it } from 'vitest';
import { findClosure } from './payload.js';

it('packages come with all that they need, wherever that lies, and no others', () => {
  const packages = {
    '': { dependencies: { used: '1' } },
    'node_modules/used': { dependencies: { '@scope/deep': '1' } },
    'node_modules/@scope/deep': { optionalDependencies: { absent: '1' } },
    'node_modules/runner': { dev: true, dependencies: { used: '2' }, peerDependencies: { peer: '1' } },
    'node_modules/runner/node_modules/used': { dev: true, dependencies: { below: '1' } },
    'node_modules/below': { dev: true, dependencies: { runner: '1' } },
    'node_modules/peer': { dev: true },
    'node_modules/linter': { dev: true, dependencies: { plugin: '1' } },
    'node_modules/plugin': { dev: true },
  };
  const own = ['node_modules/@scope/deep', 'node_modules/used'];
  expect(findClosure(packages, [])).toEqual(own);
  const runner = ['node_modules/below', 'node_modules/peer', 'node_modules/runner'];
  expect(findClosure(packages, ['runner'])).toEqual([...own, ...runner].sort());
});
