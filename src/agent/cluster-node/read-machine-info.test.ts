import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findOsImage, readMachineInfo } from './read-machine-info.js';

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

it('what a Node tells of its machine is there, and empty where it cannot be read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-machine-test-'));
  try {
    const release = join(folder, 'os-release');
    await writeFile(release, 'PRETTY_NAME=Tested\n');
    await writeFile(join(folder, 'meminfo'), 'MemTotal:  10 kB\nSwapTotal:     2048 kB\n');
    const files = { osRelease: [join(folder, 'none'), release], meminfo: join(folder, 'meminfo') };
    const info = await readMachineInfo(files);
    expect(info).toMatchObject({
      osImage: 'Tested',
      operatingSystem: 'linux',
      swap: { capacity: 2_097_152 },
    });
    expect(info.architecture).toMatch(/^(amd64|arm64|arm|386|ppc64le|s390x|riscv64|loong64)$/);
    expect(info.kernelVersion).toMatch(/^\d+\.\d+/);
    expect(await readMachineInfo({ osRelease: [], meminfo: join(folder, 'none') })).toMatchObject({
      osImage: 'Linux',
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
