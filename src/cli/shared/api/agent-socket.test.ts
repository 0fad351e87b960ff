import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findAgentSocket, resolveAgentSocket } from './agent-socket.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'podloop-agent-socket-test-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Makes the named sockets; those with `!` behind are of agents that were killed. */
function find(names: readonly string[], whenSeveral?: 'usual') {
  const listening = new Set<string>();
  for (const name of names) {
    const path = join(folder, name.replace('!', ''), 'podloop.sock');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '');
    if (!name.endsWith('!')) listening.add(path);
  }
  const rootDirs = [join(folder, 'own'), join(folder, 'shared')];
  const found = findAgentSocket({ rootDirs, listening }, whenSeveral);
  return dirname(found.slice(folder.length + 1));
}

describe('the socket of an agent that nobody has named', () => {
  it.each([
    ['the user’s own', ['own', 'shared'], 'own'],
    ['root’s', ['shared'], 'shared'],
    ['the usual one and not that of a batch', ['own/batches/jobs-1', 'shared'], 'shared'],
    ['that of the only batch', ['own/batches/jobs-1'], 'own/batches/jobs-1'],
    ['that of a batch and not of a killed agent', ['own!', 'own/batches/jobs-1'], 'own/batches/jobs-1'],
    ['that of the batch that was not killed', ['shared/batches/a!', 'shared/batches/b'], 'shared/batches/b'],
    ['the usual place where nobody runs', [], 'own'],
    ['that of a killed agent where nobody runs', ['shared!', 'own/batches/a!'], 'shared'],
  ])('is %s', (_what, names, expected) => {
    expect(find(names)).toBe(expected);
  });

  it('has to be named where several agents run', () => {
    const names = ['own/batches/a', 'shared/batches/b'];
    expect(() => find(names)).toThrow(
      /several agents run; name one with --socket: .*a\/podloop.sock, .*b\/pod/,
    );
    expect(find(names, 'usual')).toBe('own');
  });

  it('is as it was named', () => {
    expect(resolveAgentSocket('unix:///x/y.sock', {}, 0)).toBe('/x/y.sock');
    expect(resolveAgentSocket(undefined, { PODLOOP_SOCKET: '/z.sock' }, 0)).toBe('/z.sock');
  });
});
