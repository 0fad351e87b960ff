/**
 * As whom a container in namespaces runs, when its image or its files try to change that. Needs root.
 *
 * @module
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TarMember } from '#support/builders/pack-tar.js';
import { IsolatedPod, secured } from './isolated-pod.js';

const isRoot = process.getuid?.() === 0;
const LIARS = 'podloop.test/liars:1';
/** Users and groups whose names are numbers of others. */
const MEMBERS: readonly TarMember[] = [
  {
    name: 'etc/passwd',
    content: 'root:x:0:0::/root:/bin/sh\n1000:x:0:0::/root:/bin/sh\n0:x:7:7::/:/bin/sh\n',
  },
  { name: 'etc/group', content: 'root:x:0:\n2000:x:0:1000\n' },
  { name: 'kept-out', mode: 0o604, gid: 2000, content: 'FOR-ALL-BUT-2000\n' },
];

describe.skipIf(!isRoot)('the user of a container in namespaces (needs root)', () => {
  let pod: IsolatedPod;
  beforeAll(async () => {
    // As another group than its caller's: what sets its group on execution.
    const leave = { name: 'bin/leave', mode: 0o2755, gid: 3000, content: await readFile('/bin/cat') };
    pod = await IsolatedPod.start([{ name: LIARS, members: [...MEMBERS, leave] }]);
  }, 60_000);
  afterAll(() => pod[Symbol.asyncDispose]());

  const image = { image: { image: LIARS } };

  it('cannot leave its primary group by a program that changes the group, nor can commands in it', async () => {
    for (const [uid, gid] of [
      [1000n, 2000n],
      [0n, 2000n],
    ] as const) {
      const context = {
        runAsUser: { value: uid },
        runAsGroup: { value: gid },
        capabilities: { dropCapabilities: ['ALL'] },
      };
      const parts = { ...image, ...secured(context) };
      const script = 'id -G; leave /kept-out; cat /kept-out; grep Groups: /proc/self/status';
      const container = await pod.start('exec sleep 1000', parts);
      for (const said of [await pod.run(script, parts), await pod.exec(container, script)]) {
        expect(said.join('\n')).toMatch(/^2000$/m);
        expect(said.join('\n')).toMatch(/^Groups:\s*2000\s*$/m);
        // Root owns the file.
        if (uid !== 0n) expect(said.join('\n')).not.toContain('FOR-ALL-BUT-2000');
      }
      const { user } = await pod.node.status(container);
      expect(user?.linux?.supplementalGroups).toEqual([gid]);
      await pod.remove(container);
    }
  });

  it('has exactly the groups of the request and its own, whatever the runtime has itself', async () => {
    const groups = async (parts: Parameters<IsolatedPod['run']>[1]) =>
      (await pod.run('grep Groups: /proc/self/status', parts))[0]?.split(/\s+/).filter(Boolean).slice(1);
    expect(await groups({})).toEqual(['0']);
    expect(await groups(secured({ supplementalGroups: [5n, 4000n] }))).toEqual(['0', '5', '4000']);
    const context = { runAsUser: { value: 1234n }, runAsGroup: { value: 77n } };
    expect(await groups(secured({ ...context, supplementalGroups: [5n] }))).toEqual(['5', '77']);
    const ambient = { capabilities: { addAmbientCapabilities: ['NET_RAW'] } };
    expect(await groups(secured({ ...context, ...ambient }))).toEqual(['77']);
  });

  it('is the number that it is given, whoever is named so in the image', async () => {
    const named = secured({ runAsUsername: '1000' });
    expect(await pod.run('id -u; id -g', { ...image, ...named })).toEqual(['1000', '0']);
    expect(await pod.run('id -u; id -g', { ...image, ...secured({ runAsUsername: '1000:2000' }) })).toEqual([
      '1000',
      '2000',
    ]);
    expect(await pod.run('id -u', { ...image, ...secured({ runAsUsername: '0' }) })).toEqual(['0']);
  });
});
