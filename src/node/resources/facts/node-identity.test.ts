import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readInstanceId, resolveNodeName } from './node-identity.js';

describe('the name of a node', () => {
  it('is the configured one, otherwise the machine’s, in lower case', () => {
    expect(resolveNodeName('Node-1.example')).toBe('node-1.example');
    expect(resolveNodeName(undefined, 'Laptop')).toBe('laptop');
  });

  it('has to be a name', () => {
    expect(() => resolveNodeName('a b')).toThrow(/^node name "a b": use /);
    expect(() => resolveNodeName(undefined, 'my_box')).toThrow(/--node-name$/);
    expect(() => resolveNodeName('')).toThrow(/^node name ""/);
  });
});

describe('the id of a node', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-node-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is made once and stays', async () => {
    const first = await readInstanceId(folder);
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(await readInstanceId(folder)).toBe(first);
  });

  it('is never replaced when the file holds something else', async () => {
    await writeFile(join(folder, 'instance-id'), '');
    await expect(readInstanceId(folder)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  });
});
