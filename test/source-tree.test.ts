import { expect, it } from 'vitest';
import { importsOf } from './source-tree.js';

it.each([
  [`import { Pleg } from '../pleg/pleg.js';`, 'pleg/pleg.ts', false],
  [`import { type Pleg } from '../pleg/pleg.js';`, 'pleg/pleg.ts', true],
  [`import type { Pleg } from '../pleg/pleg.js';`, 'pleg/pleg.ts', true],
  [`import { type Pleg, other } from '../pleg/pleg.js';`, 'pleg/pleg.ts', false],
  [`import * as pleg from '../pleg/pleg.js';`, 'pleg/pleg.ts', false],
  [`import '../pleg/pleg.js';`, 'pleg/pleg.ts', false],
  [`export * from './other.js';`, 'agent/other.ts', false],
  [`export { type Other } from './other.js';`, 'agent/other.ts', true],
  [`export type { Other } from './other.js';`, 'agent/other.ts', true],
  [`const late = async () => await import('../cluster/index.js');`, 'cluster/index.ts', false],
  [`let other: import('./other.js').Other;`, 'agent/other.ts', true],
])('sees the import in: %s', (text, to, typeOnly) => {
  expect(importsOf('agent/agent.ts', text)).toEqual([
    { from: 'agent/agent.ts', to, isPackage: false, isByName: false, typeOnly },
  ]);
});

it('tells packages from files, and imports from what only looks like them', () => {
  const text = `import { Client } from '@grpc/grpc-js';\n// import './comment.js';\nconst words = "import './text.js'";\n`;
  expect(importsOf('cri/client.ts', text)).toEqual([
    { from: 'cri/client.ts', to: '@grpc/grpc-js', isPackage: true, isByName: false, typeOnly: false },
  ]);
});

it.each([
  [`import { wait } from '#base/async/mutex.js';`, [['base/async/mutex.ts', false]]],
  [`import { CriClient } from '#box';`, [['box/index.ts', false]]],
  [`const late = async () => await import('#cluster');`, [['cluster/index.ts', false]]],
  [
    `import { type PodCache, Pleg } from '#watch';`,
    [
      ['watch/pleg/pod-cache.ts', true],
      ['watch/pleg/index.ts', false],
    ],
  ],
])('sees what is imported by a name of an area, through its door: %s', (text, expected) => {
  const seen = importsOf('node/agent.ts', text);
  expect(seen.map(({ to, typeOnly }) => [to, typeOnly])).toEqual(expected);
  expect(seen.every(({ isByName, isPackage }) => isByName && !isPackage)).toBe(true);
});

it('knows of no other names', () => {
  expect(() => importsOf('node/agent.ts', `import { x } from '#nothing';`)).toThrow(
    'package.json knows no #nothing',
  );
});
