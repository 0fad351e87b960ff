import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findLinkFreePath } from './link-free-path.js';

let folder: string;
let upper: string;
let lower: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-links-'));
  upper = join(folder, 'upper');
  lower = join(folder, 'lower');
  await mkdir(join(upper, 'etc'), { recursive: true });
  await mkdir(join(lower, 'var', 'lib'), { recursive: true });
  await mkdir(join(lower, 'etc'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const find = (path: string, covered?: readonly string[]): Promise<string> =>
  findLinkFreePath([upper, lower], path, covered);

it('keeps what is no link, there or not', async () => {
  expect(await find('/var/lib/none/./x/')).toBe('/var/lib/none/x');
  expect(await find('/')).toBe('/');
});

it('follows links of every kind and stays below the root', async () => {
  await symlink('../run', join(lower, 'var', 'run'));
  await symlink('/var/lib', join(lower, 'absolute'));
  await symlink('../../../../../../outside', join(lower, 'climb'));
  await symlink('run/deep', join(lower, 'var', 'twice'));
  expect(await find('/var/run/x')).toBe('/run/x');
  expect(await find('/absolute/x')).toBe('/var/lib/x');
  expect(await find('/climb/x')).toBe('/outside/x');
  expect(await find('/var/twice/x')).toBe('/run/deep/x');
  expect(await find('/var/run/../../../x')).toBe('/x');
});

it('takes the uppermost of what bears a name', async () => {
  await mkdir(join(upper, 'var'));
  await mkdir(join(upper, 'var', 'run'));
  await symlink('/elsewhere', join(lower, 'var', 'run'));
  await symlink('/above', join(upper, 'etc', 'file'));
  await mkdir(join(lower, 'etc', 'file'));
  expect(await find('/var/run/x')).toBe('/var/run/x');
  expect(await find('/etc/file')).toBe('/above');
});

it('does not look below what something else will be mounted on', async () => {
  await symlink('/elsewhere', join(lower, 'var', 'lib', 'link'));
  expect(await find('/var/lib/link')).toBe('/elsewhere');
  expect(await find('/var/lib/link/x', ['/var/lib'])).toBe('/var/lib/link/x');
});

it('refuses links in a circle', async () => {
  await symlink('b', join(lower, 'a'));
  await symlink('a', join(lower, 'b'));
  await expect(find('/a/x')).rejects.toThrow('too many links');
});
