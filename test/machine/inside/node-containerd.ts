import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { startContainerd } from '../../containerd/harness/containerd.js';
import { type Release } from '../../containerd/harness/installed.js';
import { findLeftovers } from '../../containerd/harness/leftovers.js';
import { type StoryRuntime } from '../../integration/pod-stories/story-suite.js';

/** The cgroup driver that the suite is about: `cgroupfs` or `systemd`. */
export const CGROUP_DRIVER = process.env['PODLOOP_CGROUP_DRIVER'] === 'systemd' ? 'systemd' : 'cgroupfs';

/** The release of the machine's own containerd, as far as its configuration depends on it. */
export const RELEASE: Release = execFileSync('containerd', ['--version']).includes(' 1.') ? '1.7' : '2.1';

/** The machine with containerd 2.x has its containers made by crun. */
export const OCI_RUNTIME = RELEASE === '1.7' ? {} : { ociRuntime: '/usr/bin/crun' };

/** Starts the machine's containerd a second time, with everything of its own and the suite's cgroup driver. */
export async function startNodeContainerd(): Promise<StoryRuntime> {
  const containerd = await startContainerd({ version: RELEASE, cgroupDriver: CGROUP_DRIVER, ...OCI_RUNTIME });
  return {
    endpoint: containerd.endpoint,
    end: async () => {
      await containerd[Symbol.asyncDispose]();
      expect(await findLeftovers(containerd.names)).toEqual([]);
    },
  };
}
