import { execFile } from 'node:child_process';
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IS_ROOT, NOTHING_OUTSIDE, RootHarness } from '#support/harness/root-harness.js';
import { StreamSource } from '#base/wire/tar/byte-source.js';
import { readTar } from '#base/wire/tar/tar-reader.js';

let lab: RootHarness;

beforeEach(async () => {
  lab = await RootHarness.make();
});

afterEach(() => lab[Symbol.asyncDispose]());

describe('without root', () => {
  it('nothing is setuid, everything is readable to its owner, devices are left out', async () => {
    const report = await lab.unpack(
      [
        [
          { name: 'su', mode: 0o6755 },
          { name: 'shadow', mode: 0o000, uid: 1, gid: 42 },
          { name: 'shut/', mode: 0o000 },
          { name: 'shut/in', content: 'x' },
          { name: 'tmp/', mode: 0o1777 },
          { name: 'dev/sda', device: { kind: 'block', major: 8, minor: 0 } },
        ],
      ],
      { privileged: false },
    );
    const modeOf = async (name: string) => (await lstat(join(lab.root, name))).mode & 0o7777;
    expect(await modeOf('su')).toBe(0o755);
    expect(await modeOf('shadow')).toBe(0o400);
    expect(await modeOf('shut')).toBe(0o700);
    expect(await modeOf('tmp')).toBe(0o1777);
    expect((await lstat(join(lab.root, 'shadow'))).uid).toBe(process.getuid?.());
    expect(await lab.tree()).not.toHaveProperty('dev/sda');
    expect(report.devices).toBe(1);
  });
});

describe.runIf(IS_ROOT)('as root', () => {
  it('owners, setuid bits and the owners of links are kept', async () => {
    await lab.unpack([
      [
        { name: 'su', mode: 0o6755, uid: 7, gid: 8 },
        { name: 'link', linkTo: 'su', uid: 9, gid: 10 },
        { name: 'd/', mode: 0o2775, uid: 11, gid: 12 },
      ],
    ]);
    const factsOf = async (name: string) => {
      const { uid, gid, mode } = await lstat(join(lab.root, name));
      return [uid, gid, mode & 0o7777];
    };
    expect(await factsOf('su')).toEqual([7, 8, 0o6755]);
    expect((await factsOf('link')).slice(0, 2)).toEqual([9, 10]);
    expect(await factsOf('d')).toEqual([11, 12, 0o2775]);
  });

  it('file capabilities are kept, or counted where they cannot be', async () => {
    // cap_net_bind_service, effective and permitted, as the kernel stores it.
    const capabilities = '\u0001\0\0\u0002\0\u0004\0\0\0\0\0\0\0\0\0\0\0\0\0\0';
    const content = 'x'.repeat(70_000);
    const pax = { 'SCHILY.xattr.security.capability': capabilities, 'SCHILY.xattr.user.a': 'b' };
    const { attributes } = await lab.unpack([
      [
        { name: 'bin/server', content, mode: 0o750, uid: 3_000_000, gid: 4, mtime: 1_000, pax },
        { name: 'next' },
      ],
    ]);
    const path = join(lab.root, 'bin/server');
    expect(await readFile(path, 'utf8')).toBe(content);
    const { uid, gid, mode, mtimeMs } = await lstat(path);
    expect([uid, gid, mode & 0o7777, mtimeMs]).toEqual([3_000_000, 4, 0o750, 1_000_000]);
    expect(await lab.lookOutside()).toEqual(NOTHING_OUTSIDE);
    if (attributes === 2) return;
    expect(attributes).toBe(1);
    const { stdout } = await promisify(execFile)(
      'tar',
      ['-c', '--xattrs', '--xattrs-include=*', '-C', join(lab.root, 'bin'), 'server'],
      { encoding: 'buffer' },
    );
    for await (const entry of readTar(new StreamSource(Readable.from([stdout]))))
      expect([...entry.attributes]).toEqual([['security.capability', capabilities]]);
  });

  it('capabilities of a file with holes are left out: writing it anew would fill them', async () => {
    const pax = {
      'SCHILY.xattr.security.capability': '\u0001\0\0\u0002\0\u0004\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
      'GNU.sparse.map': '0,1',
      'GNU.sparse.size': String(2 ** 34),
    };
    const { attributes } = await lab.unpack([[{ name: 'program', content: 'x', pax }]]);
    expect(attributes).toBe(1);
    const { size, blocks } = await lstat(join(lab.root, 'program'));
    expect(size).toBe(2 ** 34);
    expect(blocks * 512).toBeLessThan(1_000_000);
  });

  it('devices are made, or counted where the right is missing, and overlay marks left out', async () => {
    const character = { kind: 'character', major: 1, minor: 3 } as const;
    const { devices } = await lab.unpack([
      [
        { name: 'null', mode: 0o666, device: character },
        { name: 'mark', device: { ...character, major: 0, minor: 0 } },
      ],
    ]);
    expect(await lab.tree()).toEqual(devices === 0 ? { null: '?' } : {});
    if (devices > 0) return;
    const { stdout } = await promisify(execFile)('stat', ['-c', '%F %t %T %a', join(lab.root, 'null')]);
    expect(stdout.trim()).toBe('character special file 1 3 666');
  });
});
