/**
 * What a user without rights is told: the line that does the same as root, with all paths where sudo would not find them.
 *
 * @module
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPodloop } from './podloop-process.js';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot)(
  `a user who may not open a socket${isRoot ? '' : ' (skipped: it takes root)'}`,
  () => {
    let folder: string;
    let server: Server;
    let socket: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'podloop-as-root-'));
      await chmod(folder, 0o755);
      socket = join(folder, 'podloop.sock');
      server = createServer();
      await new Promise<void>((resolve) => server.listen(socket, resolve));
      await chmod(socket, 0o600);
    });

    afterAll(async () => {
      server.close();
      await rm(folder, { recursive: true });
    });

    it.each([
      ['of an agent', (): string[] => ['get', 'pods', '--socket', socket]],
      ['of an agent, to end it', (): string[] => ['down', '--socket', socket]],
      ['of a runtime', (): string[] => ['watch', '--runtime-endpoint', `unix://${socket}`]],
      ['of a runtime, with the doctor', (): string[] => ['doctor', '--runtime-endpoint', `unix://${socket}`]],
    ])('%s gets the line that does it as root', async (_, args) => {
      const { code, stderr } = await runPodloop(args(), { uid: NOBODY, env: { PODLOOP_SOCKET: socket } });
      expect(code).not.toBe(0);
      const [, line] = /^To run it as root: (.*)$/m.exec(stderr) ?? [undefined, stderr];
      expect(line).toMatch(/^sudo env PODLOOP_SOCKET=\S+ (?:podloop|\/\S+ \/\S+podloop\.js|\/\S+main\.js) /);
      expect(line).toContain(args().join(' '));
    });
  },
);
