import { expect, it } from 'vitest';
import { toRootCommand } from './as-root.js';

const NVM = ['/home/me/.nvm/versions/node/v24/bin/node', '/home/me/.nvm/lib/podloop.js'] as const;
const line = (files: Readonly<Record<string, string>>, args = ['get', 'pods'], env = {}): string =>
  toRootCommand({
    ...{ selfCommand: NVM, args, env },
    places: { exists: (path) => path in files, realPath: (path) => files[path]! },
  });

it('is podloop where sudo finds it', () => {
  expect(line({ '/usr/bin/podloop': '/usr/bin/podloop' })).toBe('sudo podloop get pods');
  const byNpm = { '/usr/local/bin/podloop': '/usr/local/lib/node_modules/podloop/dist/program/podloop.js' };
  expect(line({ ...byNpm, '/usr/bin/node': '/usr/bin/node' })).toBe('sudo podloop get pods');
});

it('has the paths of Node and the script where sudo finds one of the two at most', () => {
  expect(line({})).toBe(`sudo ${NVM.join(' ')} get pods`);
  expect(line({ '/usr/local/bin/podloop': '/usr/local/lib/node_modules/podloop/podloop.js' })).toBe(
    `sudo ${NVM.join(' ')} get pods`,
  );
  const [, ...single] = [0, '/opt/my tools/podloop'] as const;
  const places = { exists: () => false, realPath: (path: string) => path };
  expect(toRootCommand({ selfCommand: single, args: [], env: {}, places })).toBe(
    "sudo '/opt/my tools/podloop'",
  );
});

it('takes words and variables with it, as a shell reads them', () => {
  const env = { PODLOOP_SOCKET: '/run/a b.sock', HOME: '/home/me' };
  expect(line({ '/bin/podloop': '/bin/podloop' }, ['logs', "it's"], env)).toBe(
    String.raw`sudo env 'PODLOOP_SOCKET=/run/a b.sock' podloop logs 'it'\''s'`,
  );
});
