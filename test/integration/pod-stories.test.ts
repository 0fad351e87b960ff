import { existsSync } from 'node:fs';
import { describe } from 'vitest';
import { Cgroups } from '../../src/box/cgroups/cgroups.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { startEmbedded } from './pod-stories/start-embedded.js';
import { defineStoryTests, STORY_LIMIT_MS } from './pod-stories/story-suite.js';

/** Where it runs apart from everything, so that pods have files, mounts and addresses of their own. */
const isRoot = process.getuid?.() === 0;
const cgroups = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: `podloop-probe-${process.pid}` });
const hasAppArmor = existsSync('/sys/module/apparmor');
const hasSeLinux = existsSync('/sys/fs/selinux/enforce');
const limitsMemory = cgroups.describe().controllers.includes('memory');

describe.runIf(isRoot)('on the embedded runtime', { timeout: STORY_LIMIT_MS + 60_000 }, () => {
  defineStoryTests(
    (folder) => startEmbedded(folder, 'bridge'),
    [
      ...['seccomp', 'no-strict-groups', 'no-stop-signals'],
      ...(limitsMemory ? [] : ['cgroups']),
      ...(hasAppArmor ? ['no-app-armor'] : []),
      ...(hasSeLinux ? ['no-selinux'] : []),
    ],
  );
});
