import { existsSync } from 'node:fs';
import { describe } from 'vitest';
import { defineStoryTests, STORY_LIMIT_MS } from '../integration/pod-stories/story-suite.js';
import { RELEASES } from './harness/installed.js';
import { startStoryRuntime } from './harness/story-runtime.js';

/** Of one release, unless the whole is asked for: what differs between them is tried by other tests. */
const releases = process.env['PODLOOP_CHURN'] === 'full' ? RELEASES : (['1.7'] as const);

describe.each(releases)('on containerd %s', { timeout: STORY_LIMIT_MS + 60_000 }, (version) => {
  // What the releases of containerd differ in.
  const groups = version === '2.1' ? 'no-strict-groups' : 'strict-groups';
  const lacks = [
    groups,
    'stop-signals',
    'host-ports',
    ...(existsSync('/sys/module/apparmor') ? ['no-app-armor'] : []),
    ...(existsSync('/sys/fs/selinux/enforce') ? ['no-selinux'] : []),
  ];
  defineStoryTests(() => startStoryRuntime(version), lacks);
});
