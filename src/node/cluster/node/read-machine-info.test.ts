import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findOsImage, isUserNamespace, readMachineInfo } from './read-machine-info.js';

it.each([
  ['NAME=x\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n', 'Debian GNU/Linux 12 (bookworm)'],
  ["PRETTY_NAME='Some Linux'", 'Some Linux'],
  ['PRETTY_NAME=Bare', 'Bare'],
  ['PRETTY_NAME="a \\"quoted\\" one"', 'a "quoted" one'],
  ['NAME=x', 'Linux'],
  ['', 'Linux'],
])('the name of the distribution is read: %j', (text, name) => {
  expect(findOsImage(text)).toBe(name);
});

it.each([
  ['the machine’s own', '         0          0 4294967295\n', false],
  ['one that begins as the machine’s own', '0 0 4294967294', true],
  ['one without a map yet', '', true],
  ['one of root alone', '0 1000 1\n', true],
  ['one with more users', '0 1000 1\n1 100000 65536\n', true],
  ['one whose users have other numbers', '1000 0 4294967295', true],
  ['what is no map', 'no map', false],
])('a user namespace is known by its map: %s', (_what, uidMap, isOne) => {
  expect(isUserNamespace(uidMap)).toBe(isOne);
});

it('what a Node shows of its machine is there, and empty where it cannot be read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-machine-test-'));
  try {
    const release = join(folder, 'os-release');
    await writeFile(release, 'PRETTY_NAME=Tested\n');
    await writeFile(join(folder, 'meminfo'), 'MemTotal:  10 kB\nSwapTotal:     2048 kB\n');
    const uidMap = join(folder, 'uid_map');
    await writeFile(uidMap, '         0       1000          1\n');
    const files = { osRelease: [join(folder, 'none'), release], meminfo: join(folder, 'meminfo'), uidMap };
    const info = await readMachineInfo(files);
    expect(info).toMatchObject({
      osImage: 'Tested',
      operatingSystem: 'linux',
      swap: { capacity: 2_097_152 },
      runningInUserNamespace: true,
    });
    expect(info.architecture).toMatch(/^(amd64|arm64|arm|386|ppc64le|s390x|riscv64|loong64)$/);
    expect(info.kernelVersion).toMatch(/^\d+\.\d+/);
    expect(
      await readMachineInfo({ osRelease: [], meminfo: join(folder, 'none'), uidMap: join(folder, 'none') }),
    ).toMatchObject({
      osImage: 'Linux',
      runningInUserNamespace: false,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
