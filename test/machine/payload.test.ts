import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listFiles, REPOSITORY } from '../source-tree.js';
import { findClosure, findImportedPackages, patientVitest } from './payload.js';

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

it('every package that a source imports, in whatever form, is one of those that come along', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-imports-'));
  await mkdir(join(folder, 'src/box'), { recursive: true });
  await writeFile(
    join(folder, 'src/box/a.ts'),
    [
      "import { a } from 'plain';",
      "import type { b } from '@scope/name/deep/file.js';",
      "import 'effects';",
      "export { c } from 'again/part';",
      "const d = await import('late');",
      "import { e } from './near.js';",
      "import { f } from '#watch';",
      "import { g } from 'node:fs';",
    ].join('\n'),
  );
  await writeFile(join(folder, 'src/box/a.test.ts'), "import { it } from 'runner';");
  const found = await findImportedPackages(folder, ['src/box/a.ts', 'src/box/a.test.ts', 'docs/a.md']);
  expect(found).toEqual(['@scope/name', 'again', 'effects', 'late', 'plain']);
  await rm(folder, { recursive: true });

  const sources = listFiles('src', '.ts').map((file) => `src/${file}`);
  expect(await findImportedPackages(REPOSITORY, sources)).toContain('smol-toml');
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
