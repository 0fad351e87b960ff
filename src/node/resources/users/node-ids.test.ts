import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSubIds, readNodeIds } from './node-ids.js';

const UNIT = 65_536;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-node-ids-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A node with such users, and a getsubids with this script. */
async function read(users: string, script?: string): Promise<unknown> {
  const usersFile = join(folder, 'passwd');
  await writeFile(usersFile, users);
  if (script !== undefined) {
    await writeFile(join(folder, 'getsubids'), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, 'getsubids'), 0o755);
  }
  return readNodeIds(UNIT, { usersFile, path: folder });
}

const KUBELET = 'root:x:0:0::/:/bin/sh\nkubelet:x:990:990::/:/bin/false\n';

describe('the ids of the node for pods', () => {
  it('are all but those of the node itself and the one that stands for none', async () => {
    const all = { first: UNIT, count: 2 ** 32 - 1 - UNIT };
    expect(await read('root:x:0:0::/:/bin/sh\nkubelets:x:1:1::/:/bin/sh\n', 'exit 1')).toEqual(all);
    await rm(join(folder, 'getsubids'));
    expect(await read(KUBELET)).toEqual(all);
    expect(await readNodeIds(UNIT, { usersFile: join(folder, 'none'), path: folder })).toEqual(all);
  });

  it('are those that an administrator gave the user kubelet', async () => {
    expect(await read(KUBELET, 'echo "0: kubelet 131072 7208960"')).toEqual({
      ...{ first: 2 * UNIT, count: 110 * UNIT },
    });
  });

  it('end with the last one that the kernel maps', () => {
    expect(parseSubIds('0: kubelet 65536 4294901760')).toEqual({ first: UNIT, count: 2 ** 32 - 1 - UNIT });
  });

  it('are no guess where the tool fails, or has others for groups', async () => {
    await expect(read(KUBELET, 'exit 1')).rejects.toThrow(
      'error retrieving additional uids for user "kubelet"',
    );
    await expect(read(KUBELET, 'echo "0: kubelet 65536 6553$#"')).rejects.toThrow(
      'mismatched subuids and subgids for user "kubelet"',
    );
  });

  it.each([
    ['0: kubelet 65536 65536\n1: kubelet 131072 65536\n', 'it must contain only one line'],
    ['kubelet 65536', 'invalid line'],
    ['', 'invalid line'],
    ['0: kubelet many 65536', 'invalid line'],
    ['0: kubelet 65536 4294967296', 'invalid line'],
  ])('are one line: not %j', (printed, message) => {
    expect(() => parseSubIds(printed)).toThrow(message);
  });
});
