import { describe, expect, it } from 'vitest';
import { Mount, MountPropagation } from '../../../watch/cri/generated/runtime/v1/cri.js';
import { checkMount } from './container-volumes.js';

const GOOD = { hostPath: '/a', containerPath: '/b' };

describe('checkMount', () => {
  it('passes what can be', () => {
    for (const more of [
      {},
      { readonly: true, recursiveReadOnly: true },
      { propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL },
      { selinuxRelabel: true },
    ]) {
      expect(() => checkMount(Mount.fromPartial({ ...GOOD, ...more }))).not.toThrow();
    }
  });

  it.each<[string, Parameters<typeof Mount.fromPartial>[0], string]>([
    ['a relative place', { containerPath: 'b' }, 'not a place below /'],
    ['the root itself', { containerPath: '/b/..' }, 'not a place below /'],
    ['a relative source', { hostPath: 'a' }, 'not absolute'],
    ['no source', { hostPath: '' }, 'not absolute'],
    ['a place in /proc', { containerPath: '/proc/../proc/x' }, 'inside of /proc'],
    ['an unknown propagation', { propagation: 7 as MountPropagation }, 'unknown propagation 7'],
    ['mapped ids', { uidMappings: [{ hostId: 1, containerId: 2, length: 3 }] }, 'mapped ids'],
    ['recursively what may be written', { recursiveReadOnly: true }, 'needs readonly'],
    [
      'recursively what is handed on',
      {
        readonly: true,
        recursiveReadOnly: true,
        propagation: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
      },
      'private propagation',
    ],
  ])('refuses %s', (_what, more, message) => {
    expect(() => checkMount(Mount.fromPartial({ ...GOOD, ...more }))).toThrow(message);
  });
});
