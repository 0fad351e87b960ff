import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import os from 'node:os';
import { promisify } from 'node:util';

import { type RunFacts } from './conformance-page.js';

/** The day, the suite's version and the machine, for the head of the page. */
export async function readRunFacts(critest: string): Promise<RunFacts> {
  const { stdout } = await promisify(execFile)(critest, ['-version']);
  const unified = await access('/sys/fs/cgroup/cgroup.controllers').then(
    () => true,
    () => false,
  );
  return {
    date: new Date().toISOString().slice(0, 10),
    suiteVersion: /critest version: (\S+)/.exec(stdout)?.[1] ?? 'of unknown version',
    kernel: os.release(),
    cgroups: unified ? 'cgroup v2' : 'cgroup v1',
  };
}
