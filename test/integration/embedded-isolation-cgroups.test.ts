/**
 * What a container in namespaces sees of cgroups. With version 1 it sees the host's; with version 2 its own. Needs root.
 *
 * @module
 */
import { readFile, rmdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseMountinfo } from '#base/proc/mountinfo.js';
import { IsolatedPod, secured } from './isolated-pod.js';

const isRoot = process.getuid?.() === 0;
const trees = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
/** As on a node of today: one tree, of version 2, in the usual place. */
const isUnified =
  trees.some(({ mountPoint, fsType }) => mountPoint === '/sys/fs/cgroup' && fsType === 'cgroup2') &&
  !trees.some(({ fsType }) => fsType === 'cgroup');

describe.skipIf(!isRoot)('cgroups of a container in namespaces (needs root)', () => {
  let pod: IsolatedPod;
  beforeAll(async () => {
    pod = await IsolatedPod.start();
  }, 60_000);
  afterAll(() => pod[Symbol.asyncDispose]());

  const look = [
    'grep ^0:: /proc/self/cgroup',
    'ls -d /sys/fs/cgroup/cgroup.procs',
    'mkdir /sys/fs/cgroup/podloop-test-view 2>/dev/null && echo written',
    'grep -c . /sys/fs/cgroup/cgroup.procs',
  ].join('\n');

  it.runIf(isUnified)('are its own, read-only, and those of each command in it', async () => {
    const container = await pod.start('exec sleep 1000');
    for (const said of [await pod.run(look), await pod.exec(container, look)]) {
      expect(said.slice(0, 2)).toEqual(['0::/', '/sys/fs/cgroup/cgroup.procs']);
      expect(said).not.toContain('written');
      // Its own processes alone.
      expect(Number(said.at(-1))).toBeLessThan(8);
    }
    const [mount = ''] = await pod.exec(
      container,
      'grep " /sys/fs/cgroup " /proc/self/mountinfo | head -n 1',
    );
    expect(mount.split(' ')[3]).toBe('/');
    await pod.remove(container);
  });

  it.runIf(isUnified)('are the host’s for a privileged container', async () => {
    const privileged = secured({ privileged: true });
    const said = await pod.run(look, privileged);
    await rmdir('/sys/fs/cgroup/podloop-test-view');
    expect(said[0]).toMatch(/^0::\/.+/);
    expect(said).toContain('written');
  });

  it.runIf(!isUnified)('are the host’s with version 1', async () => {
    const said = await pod.run('cat /proc/self/cgroup');
    expect(said.join('\n')).toMatch(/:memory:\/.+/);
    expect(await pod.run('ls /sys/fs/cgroup')).toEqual([]);
  });
});
