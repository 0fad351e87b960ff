import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findClosure, patientVitest } from './payload.js';

it('packages come with all that they need, wherever that lies, and no others', () => {
  const packages = {
    '': { dependencies: { used: '1' } },
    'node_modules/used': { dependencies: { '@scope/deep': '1' } },
    'node_modules/@scope/deep': { optionalDependencies: { absent: '1' } },
    'node_modules/runner': { dev: true, dependencies: { used: '2' }, peerDependencies: { peer: '1' } },
    'node_modules/runner/node_modules/used': { dev: true, dependencies: { below: '1' } },
    'node_modules/below': { dev: true, dependencies: { runner: '1' } },
    'node_modules/peer': { dev: true },
    'node_modules/linter': { dev: true, dependencies: { plugin: '1' } },
    'node_modules/plugin': { dev: true },
  };
  const own = ['node_modules/@scope/deep', 'node_modules/used'];
  expect(findClosure(packages, [])).toEqual(own);
  const runner = ['node_modules/below', 'node_modules/peer', 'node_modules/runner'];
  expect(findClosure(packages, ['runner'])).toEqual([...own, ...runner].sort());
});

it('the vitest of this project can be made patient', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-patient-'));
  const parts = ['vitest/dist/chunks', '@vitest/runner/dist'];
  for (const part of parts) await cp(join('node_modules', part), join(folder, part), { recursive: true });
  const script = `set -e\n${patientVitest(folder)}`;
  execFileSync('bash', ['-c', script]);
  const files = await Promise.all(
    (await readdir(join(folder, '@vitest/runner/dist'))).map(async (name) =>
      readFile(join(folder, '@vitest/runner/dist', name), 'utf8').catch(() => ''),
    ),
  );
  expect(files.join('').match(/function withTimeout\(fn, timeout,[^\n]*timeout \*= 10;/g)).toHaveLength(1);
  await rm(join(folder, '@vitest/runner/dist'), { recursive: true });
  await mkdir(join(folder, '@vitest/runner/dist'));
  await writeFile(join(folder, '@vitest/runner/dist/other.js'), 'export {};');
  expect(() => execFileSync('bash', ['-c', script])).toThrow();
  await rm(folder, { recursive: true });
});
