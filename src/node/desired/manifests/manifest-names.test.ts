import { expect, it } from 'vitest';
import { manifestNameKind } from './manifest-names.js';

it.each([
  ['web.yaml', 'manifest'],
  ['web.yml', 'manifest'],
  ['web.json', 'manifest'],
  ['etcd.manifest', 'manifest'],
  ['.web.yaml', 'hidden'],
  ['..data', 'hidden'],
  ['.web.yaml.swp', 'hidden'],
  ['web.yaml~', 'hidden'],
  ['#web.yaml#', 'hidden'],
  ['4913', 'hidden'],
  ['web.yaml.bak', 'hidden'],
  ['web.yaml.dpkg-new', 'hidden'],
  ['web.yaml.tmp', 'hidden'],
  ['README.md', 'other'],
  ['web', 'other'],
  ['web.yaml.2026', 'other'],
])('%s is %s', (name, kind) => {
  expect(manifestNameKind(name)).toBe(kind);
});
