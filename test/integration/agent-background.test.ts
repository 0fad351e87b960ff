/**
 * An agent in the background, from its start by hand to its end: `up`, `ps`, `down`, and what an agent in the
 * foreground has left.
 *
 * @module
 */
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { patiently } from '#support/patience.js';
import { runPodloop, PODLOOP_MAIN } from './podloop-process.js';
import { ProgramAtTerminal } from './program-at-terminal.js';
import { untilNobodyNames } from './processes-naming.js';

/** Each command loads the whole program, which takes long on a busy machine. */
const LIMIT_MS = patiently(240_000);

let folder: string;
let pods: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-background-')));
  pods = join(folder, 'pods');
  await mkdir(pods);
  const container = { name: 'main', image: 'podloop.local/host', command: ['sleep', '1000'] };
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
  await writeFile(join(pods, 'web.json'), JSON.stringify(manifest));
});

afterEach(async () => {
  // What a failed test has left in the background; it is no failure that there is nothing.
  await runPodloop(['down', pods, '--root-dir', rootDir(), '--yes'], { env: env() });
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
}, LIMIT_MS);

const env = (): Record<string, string> => ({ HOME: folder });
const rootDir = (): string => join(folder, 'root');
const flags = (): string[] => [
  ...['--root-dir', rootDir(), '--pod-logs-dir', join(folder, 'logs'), '--runtime-endpoint', 'embedded'],
  ...['--container-log-links-dir', join(folder, 'links'), '--isolation', 'none', '--network', 'host'],
  ...['--node-name', 'test', '--read-only-port', '0'],
];

it(
  'runs in the background until it is ended, with its pods',
  async () => {
    const up = await runPodloop(['up', pods, '--wait', ...flags()], { env: env() });
    expect([up.code, up.stderr]).toEqual([0, '']);
    expect(up.stdout).toMatch(/is ready\n1\/1 pods are ready$/);
    const ps = await runPodloop(['ps', '-o', 'json'], { env: env() });
    const { items } = JSON.parse(ps.stdout) as { items: { rootDir: string }[] };
    expect(items.find((agent) => agent.rootDir === rootDir())).toMatchObject({
      ...{ manifests: [pods], pods: { ready: 1, all: 1 }, socket: join(rootDir(), 'podloop.sock') },
    });
    const again = await runPodloop(['up', pods], { env: env() });
    expect(again.stdout).toContain('runs already');
    const asked = await runPodloop(['down', pods], { env: env() });
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('add --yes')]);
    const down = await runPodloop(['down', pods, '--yes'], { env: env() });
    expect([down.code, down.stdout]).toEqual([
      0,
      expect.stringMatching(/^pod default\/web-test ended\nThe agent \(pid \d+\) ended$/),
    ]);
    expect(await readFile(join(rootDir(), 'agent.log'), 'utf8')).toContain('"Ended" pods="stopped"');
  },
  LIMIT_MS,
);

it(
  'in the foreground it names the pods that stay, and they end without an agent',
  async () => {
    const line = [process.execPath, PODLOOP_MAIN, 'run', pods, ...flags()]
      .map((word) => `'${word}'`)
      .join(' ');
    await using terminal = new ProgramAtTerminal(line, env());
    await terminal.shows(/Observed pod startup duration/);
    terminal.press('\x03');
    await terminal.ended;
    const words = `podloop down ${pods} --root-dir ${rootDir()} --runtime-endpoint embedded`;
    expect(terminal.text).toContain('These pods stay (1): default/web-test');
    expect(terminal.text).toContain(`To end them: ${words}`);
    const down = await runPodloop([...words.split(' ').slice(1), '--yes'], { env: env() });
    expect([down.code, down.stdout]).toEqual([0, 'pod default/web-test ended']);
    await untilNobodyNames(folder);
    const nothing = await runPodloop([...words.split(' ').slice(1), '--yes'], { env: env() });
    expect(nothing.stderr).toContain('none has left pods in');
  },
  LIMIT_MS,
);
