/**
 * That nobody else reads a container's variables: as they go through processes to its program and to commands in it.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ContainerParts, EmbeddedNode, ISOLATIONS } from './embedded-node.js';

const NOBODY = 65534;
const SECRET = `s3cret-${randomBytes(6).toString('hex')}`;

/** Reads the command lines of all processes again and again, and says which of them has the secret. */
const WATCH = `
const { readdirSync, readFileSync } = require('node:fs');
let rounds = 0, done = false;
const seen = new Set();
process.stdin.on('end', () => (done = true)).resume();
const look = () => {
  for (const pid of readdirSync('/proc')) {
    if (pid < '0' || pid > '9~') continue;
    let line = '';
    try { line = readFileSync('/proc/' + pid + '/cmdline', 'latin1'); } catch {}
    if (line.includes(process.argv[1])) seen.add(line.split('\\0').slice(0, 4).join(' '));
  }
  rounds++;
  if (rounds === 1) console.log('ready');
  if (!done) return setImmediate(look);
  console.log(JSON.stringify({ rounds, seen: [...seen] }));
  process.exit();
};
look();`;

/** A process of nobody's that watches. It has the secret in two parts, so that it does not see itself. */
class Watcher {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  }

  static async start(): Promise<Watcher> {
    const ids = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    const script = WATCH.replace(
      'process.argv[1]',
      `${JSON.stringify(SECRET.slice(0, 6))} + ${JSON.stringify(SECRET.slice(6))}`,
    );
    const child = spawn(process.execPath, ['-e', script], {
      cwd: '/',
      stdio: ['pipe', 'pipe', 'inherit'],
      ...ids,
    });
    const watcher = new Watcher(child);
    expect((await watcher.#lines.next()).value).toBe('ready');
    return watcher;
  }

  /** What it has seen until now. */
  async end(): Promise<{ rounds: number; seen: string[] }> {
    this.#child.stdin!.end();
    return JSON.parse((await this.#lines.next()).value as string) as { rounds: number; seen: string[] };
  }
}

/** Of every kind that has been seen to be lost on the way. */
const ENVS = [
  { key: 'PLAIN', value: SECRET },
  { key: 'with.dot', value: `${SECRET}\nsecond line ${SECRET}\n` },
  { key: 'with blank', value: `'${SECRET}" $(echo no) \\n \${PLAIN}` },
  { key: 'LD_PRELOAD', value: '' },
  { key: 'LONG', value: `${SECRET}${'x'.repeat(100_000)}` },
];

function toEnvs(envs: readonly { readonly key: string; readonly value: string }[]): ContainerParts['envs'] {
  return envs.map(({ key, value }) => ({ key, value: Buffer.from(value) }));
}

describe.each(ISOLATIONS)('the variables of a container with isolation %s', (isolation) => {
  let node: EmbeddedNode;
  let sandbox = '';
  beforeAll(async () => {
    node = await EmbeddedNode.start({ isolation, network: 'none' });
    sandbox = await node.runPod('pod');
  }, 60_000);
  afterAll(() => node[Symbol.asyncDispose]());

  const parts: ContainerParts = { envs: toEnvs(ENVS) };

  it(
    'are in no command line while containers start and commands enter them',
    { timeout: 600_000 },
    async () => {
      const watcher = await Watcher.start();
      let starts = 0;
      const lane = async (name: string) => {
        for (let round = 0; round < 8; round++) {
          const tty = round % 4 === 3;
          const id = await node.run(sandbox, `${name}-${round}`, 'sleep 1000', { ...parts, tty });
          starts++;
          for (let exec = 0; exec < 6; exec++) {
            const { exitCode } = await node.client.execSync({ containerId: id, cmd: ['true'], timeout: 60n });
            expect(exitCode).toBe(0);
          }
          await node.client.removeContainer({ containerId: id });
        }
      };
      await Promise.all(['a', 'b', 'c', 'd'].map(lane));
      const { rounds, seen } = await watcher.end();
      expect(seen).toEqual([]);
      expect([starts, rounds > 100]).toEqual([32, true]);
    },
  );

  it('would be seen by the watcher in a command line', async () => {
    const watcher = await Watcher.start();
    // It lasts some rounds of the watcher, which is asked for its last one only when this has ended.
    const child = spawn('sh', ['-c', 'sleep 2; :', SECRET], { stdio: ['ignore', 'pipe', 'ignore'] });
    await text(child.stdout);
    expect((await watcher.end()).seen.join()).toContain('sh -c');
  });

  it('reach it and every command in it byte by byte, whatever their names are', async () => {
    const id = await node.run(sandbox, 'whole', 'exec sleep 1000', parts);
    const wanted = ENVS.map(({ key, value }) => `${key}=${value}`);
    const { stdout } = await node.client.execSync({
      containerId: id,
      cmd: ['sh', '-c', 'cat /proc/self/environ'],
      timeout: 60n,
    });
    const all = Buffer.from(stdout).toString().split('\0');
    // The shell in between drops names that it cannot hold.
    const plain = wanted.filter((entry) => /^\w+=/.test(entry));
    expect(all).toEqual(expect.arrayContaining(plain));
    const direct = await node.client.execSync({
      containerId: id,
      cmd: ['cat', '/proc/self/environ'],
      timeout: 60n,
    });
    expect(Buffer.from(direct.stdout).toString().split('\0')).toEqual(expect.arrayContaining(wanted));
    await node.client.removeContainer({ containerId: id });
  });

  it('may be thousands, and each as long as the kernel takes', async () => {
    const many = Array.from({ length: 5000 }, (_, at) => ({
      key: `SERVICE_${at}_PORT_8080_TCP_ADDR`,
      value: `10.0.0.${at}`,
    }));
    const long = ['A', 'B'].map((key) => ({ key, value: 'x'.repeat(128 * 1024 - 3) }));
    const id = await node.run(sandbox, 'many', 'exec sleep 1000', { envs: toEnvs([...many, ...long]) });
    const { stdout } = await node.client.execSync({
      containerId: id,
      cmd: ['cat', '/proc/self/environ'],
      timeout: 60n,
    });
    const all = new Set(Buffer.from(stdout).toString().split('\0'));
    expect([...many, ...long].filter(({ key, value }) => !all.has(`${key}=${value}`))).toEqual([]);
    await node.client.removeContainer({ containerId: id });
    const tooLong = [{ key: 'A', value: 'x'.repeat(128 * 1024) }];
    const refused = await node.create(sandbox, 'too-long', 'true', { envs: toEnvs(tooLong) });
    await expect(node.client.startContainer({ containerId: refused })).rejects.toThrow(
      'argument list too long',
    );
    await node.client.removeContainer({ containerId: refused });
  });
});
