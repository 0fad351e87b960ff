import { existsSync } from 'node:fs';
import { describe } from 'vitest';
import { Cgroups } from '../../src/box/cgroups/cgroups.js';
import { findCallTable } from '../../src/box/isolation/seccomp/seccomp-calls.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { startEmbedded } from './pod-stories/start-embedded.js';
import { defineStoryTests, STORY_LIMIT_MS } from './pod-stories/story-suite.js';

/** Where it runs apart from everything, so that pods have files, mounts and addresses of their own. */
const isRoot = process.getuid?.() === 0;
const cgroups = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: `podloop-probe-${process.pid}` });
const canFilter = existsSync('/usr/bin/perl') && findCallTable(process.arch) !== undefined;
const hasAppArmor = existsSync('/sys/module/apparmor');
const hasSeLinux = existsSync('/sys/fs/selinux/enforce');
const limitsMemory = cgroups.describe().controllers.includes('memory');

describe.runIf(isRoot)('on the embedded runtime', { timeout: STORY_LIMIT_MS + 60_000 }, () => {
  defineStoryTests(
    (folder) => startEmbedded(folder, 'bridge'),
    [
      ...['no-strict-groups', 'no-stop-signals', ...(canFilter ? [] : ['seccomp'])],
      ...(limitsMemory ? [] : ['cgroups']),
      ...(hasAppArmor ? ['no-app-armor'] : []),
      ...(hasSeLinux ? ['no-selinux'] : []),
    ],
    { has: ['image-volumes'] },
  );
});
