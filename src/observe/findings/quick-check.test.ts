import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Channels } from '#base/channels/publishing-channel.js';
import { FakeClock } from '#testing/fake-clock.js';
import { QuickCheck, type QuickCheckOptions } from './quick-check.js';

it.each([
  { silent: [], longOciCalls: 1 },
  { silent: ['/proc/101/cmdline'], longOciCalls: 0 },
])('does not read again what hangs: $silent', async ({ silent, longOciCalls }) => {
  const hostRoot = await mkdtemp(join(tmpdir(), 'podloop-quick-check-'));
  onTestFinished(async () => rm(hostRoot, { recursive: true, force: true }));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(join(hostRoot, path, '..'), { recursive: true });
    await writeFile(join(hostRoot, path), text);
  };
  const rest = Array.from({ length: 47 }, () => '1').join(' ');
  await write('proc/uptime', '1000.00 1.00\n');
  await write('proc/100/stat', `100 (containerd-shim) S 1 ${rest}\n`);
  await write('proc/101/stat', `101 (runc) S 100 ${rest}\n`);
  await write(
    'proc/101/cmdline',
    ['runc', '--root', '/r', '--log', '/l', 'create', 'c'.repeat(64), ''].join('\0'),
  );
  const check = new QuickCheck({
    pleg: { health: () => ({}) } as unknown as QuickCheckOptions['pleg'],
    client: { connectionState: 'ready' },
    ...{ channels: new Channels(), healthzUrl: '', hostRoot, clock: new FakeClock() },
    silentPaths: new Map(silent.map((path) => [path, 1])),
  });
  onTestFinished(() => check[Symbol.dispose]());
  expect(await check.read(new AbortController().signal)).toMatchObject({ longOciCalls });
});
