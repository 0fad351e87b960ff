/**
 * Stories on the machine's containerd, with the cgroup driver that the suite names, and with a profile of AppArmor that one of
 * them asks for.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { describe } from 'vitest';
import { patiently } from '#support/patience.js';
import { defineStoryTests, STORY_LIMIT_MS } from '../../integration/pod-stories/story-suite.js';
import { CGROUP_DRIVER, RELEASE, startNodeContainerd } from './node-containerd.js';

const PROFILE = `profile podloop-story flags=(attach_disconnected) {
  capability, file, mount, network, ptrace, signal, umount,
  deny /forbidden w,
}`;
execFileSync('apparmor_parser', ['--replace'], { input: PROFILE });

describe(
  `on containerd with the driver ${CGROUP_DRIVER}`,
  { timeout: STORY_LIMIT_MS + patiently(60_000) },
  () => {
    const groups = RELEASE === '1.7' ? 'strict-groups' : 'no-strict-groups';
    defineStoryTests(startNodeContainerd, [groups, 'stop-signals', 'host-ports', 'no-app-armor'], {
      has: ['app-armor'],
    });
  },
);
