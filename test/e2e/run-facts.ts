import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import os from 'node:os';
import { promisify } from 'node:util';

import { readInstalled } from '../containerd/harness/installed.js';
import { type E2eFacts } from './e2e-part.js';
import { type E2ePrograms } from './e2e-programs.js';

/** The versions of what a run is made with, for the head of the page's part. */
export async function readRunFacts({ suite }: E2ePrograms): Promise<E2eFacts> {
  const { stdout } = await promisify(execFile)(suite, ['--version']);
  const { versions } = await readInstalled();
  const unified = await access('/sys/fs/cgroup/cgroup.controllers').then(
    () => true,
    () => false,
  );
  return {
    kubernetes: /v\d+\.\d+\.\d+\S*/.exec(stdout)?.[0] ?? 'of unknown version',
    containerd: versions['1.7'],
    kernel: os.release(),
    cgroups: unified ? 'cgroup v2' : 'cgroup v1',
  };
}
