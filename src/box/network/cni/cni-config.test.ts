import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseCniList, parseCniList } from './cni-config.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-cni-test-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const LIST = { cniVersion: '1.0.0', name: 'lab', plugins: [{ type: 'bridge' }] };

async function write(name: string, value: unknown): Promise<void> {
  await writeFile(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value));
}

async function install(plugin: string): Promise<void> {
  await write(plugin, '#!/bin/sh');
  await chmod(join(folder, plugin), 0o755);
}

describe('the choice of a CNI network', () => {
  it('is the first file by name that is one, when its plugins are there', async () => {
    await install('bridge');
    await write('00-readme.txt', 'hello');
    await write('20-second.conflist', { ...LIST, name: 'second' });
    await write('10-first.conf', { cniVersion: '0.4.0', name: 'first', type: 'bridge' });
    const choice = await chooseCniList(folder, `/nowhere:${folder}`);
    expect(choice.path).toBe(join(folder, '10-first.conf'));
    expect(choice.list).toMatchObject({ name: 'first', plugins: [{ type: 'bridge' }] });
  });

  it('is none when there is no folder, or nothing in it', async () => {
    const nothing = { list: undefined, path: undefined, fault: undefined };
    expect(await chooseCniList(join(folder, 'nowhere'), folder)).toEqual(nothing);
    expect(await chooseCniList(folder, folder)).toEqual(nothing);
  });

  it('is none, with the reason, when the first cannot be used', async () => {
    await write('10-first.conflist', LIST);
    await write('20-second.conflist', LIST);
    const fault = `the plugin "bridge" is not in ${folder}`;
    const path = join(folder, '10-first.conflist');
    expect(await chooseCniList(folder, folder)).toEqual({ list: undefined, path, fault });
  });
});

describe('a network configuration list', () => {
  it.each([
    [{ ...LIST, name: '' }, 'name'],
    [{ ...LIST, name: '../x' }, 'name'],
    [{ ...LIST, cniVersion: '0.2.0' }, 'cniVersion 0.2.0'],
    [{ name: 'lab', plugins: [{ type: 'bridge' }] }, 'cniVersion 0.2.0'],
    [{ ...LIST, plugins: [] }, 'names no plugins'],
    [{ ...LIST, plugins: 'bridge' }, 'names no plugins'],
    [{ ...LIST, plugins: [{ type: '../../bin/sh' }] }, 'no proper "type"'],
    [{ ...LIST, plugins: [null] }, 'no proper "type"'],
  ])('is refused when it is like %j', (value, words) => {
    expect(() => parseCniList(JSON.stringify(value))).toThrow(words);
  });
});
