import { describe, expect } from 'vitest';
import { defineTrailTests } from '../integration/log-trail/log-trail-suite.js';
import { startContainerd } from './harness/containerd.js';
import { BUSYBOX_IMAGE } from './harness/image.js';
import { findLeftovers } from './harness/leftovers.js';

describe('the log of an agent on containerd 1.7', () => {
  defineTrailTests(async () => {
    const containerd = await startContainerd({ version: '1.7' });
    return {
      flags: ['--runtime-endpoint', containerd.endpoint, '--cgroup-root', containerd.names.cgroupParent],
      image: BUSYBOX_IMAGE,
      end: async () => {
        await containerd[Symbol.asyncDispose]();
        expect(await findLeftovers(containerd.names)).toEqual([]);
      },
    };
  });
});
