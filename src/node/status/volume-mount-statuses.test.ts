import { describe, expect, it } from 'vitest';
import { type VolumeMount } from '#kube/container/container.js';
import { computeVolumeMountStatuses } from './volume-mount-statuses.js';

const mount = (rest: Partial<VolumeMount> = {}): VolumeMount => ({
  name: 'data',
  mountPath: '/data',
  ...rest,
});

const recursionOf = (recursiveReadOnly: VolumeMount['recursiveReadOnly'], isSupported: boolean): unknown =>
  computeVolumeMountStatuses(
    { volumeMounts: [mount({ readOnly: true, ...(recursiveReadOnly && { recursiveReadOnly }) })] },
    isSupported,
  ).volumeMounts?.[0]?.recursiveReadOnly;

describe('the mounts of a container in its status', () => {
  it('are those of the spec, in its order', () => {
    const volumeMounts = [
      mount({ subPath: 'a', mountPropagation: 'HostToContainer' }),
      mount({ name: 'b', mountPath: '/b', readOnly: false }),
    ];
    expect(computeVolumeMountStatuses({ volumeMounts }, true)).toEqual({
      volumeMounts: [
        { name: 'data', mountPath: '/data' },
        { name: 'b', mountPath: '/b' },
      ],
    });
  });

  it('are not there for a container without any', () => {
    expect(computeVolumeMountStatuses({}, true)).toEqual({});
    expect(computeVolumeMountStatuses({ volumeMounts: [] }, true)).toEqual({});
  });

  it('say of what is read-only whether that holds below it', () => {
    expect(recursionOf(undefined, true)).toBe('Disabled');
    expect(recursionOf('Disabled', true)).toBe('Disabled');
    expect(recursionOf('IfPossible', true)).toBe('Enabled');
    expect(recursionOf('IfPossible', false)).toBe('Disabled');
    expect(recursionOf('Enabled', true)).toBe('Enabled');
  });

  it('say nothing of that where it cannot be had, and the container is not started', () => {
    expect(recursionOf('Enabled', false)).toBeUndefined();
  });
});
