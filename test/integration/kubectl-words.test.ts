/**
 * What kubectl's users know, on a real agent with the embedded runtime: every command as a process of its own.
 *
 * @module
 */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PODLOOP_MAIN, PodloopProcess, type PodloopProcessOptions, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

const LIMIT = { timeout: 45_000 };

let folder: string;
let agent: PodloopProcess;

const env = (): Record<string, string> => ({ PODLOOP_SOCKET: join(folder, 'node/podloop.sock') });

/** A command that asks the agent, to its end. */
function podloop(
  args: readonly string[],
  options: PodloopProcessOptions = {},
): ReturnType<typeof runPodloop> {
  return runPodloop(args, { ...options, env: env() });
}

function start(args: readonly string[], options: PodloopProcessOptions = {}): PodloopProcess {
  return new PodloopProcess(args, { ...options, env: env() });
}

function manifest(name: string, script: string, more: object = {}): string {
  const container = { name: 'main', image: 'podloop.local/host', command: ['sh', '-c', script], ...more };
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec });
}

const ECHO = 'echo ready; while read -r line; do echo "got $line"; done; while :; do sleep 0.2; done';
const STAY = 'trap "exit 0" TERM; while :; do sleep 0.2; done';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-words-test-'));
  const manifests = join(folder, 'manifests');
  await mkdir(manifests);
  await writeFile(join(manifests, 'web.json'), manifest('web', ECHO, { stdin: true }));
  await writeFile(join(manifests, 'crash.json'), manifest('crash', 'echo dying; exit 3'));
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  agent = new PodloopProcess(['run', manifests, ...place, ...runtime, '--node-name', 'n1', '--stop-pods']);
  const limit = { timeout: 60_000, interval: 200 };
  await vi.waitFor(async () => expect(await statusOf('web-n1')).toBe('Running'), limit);
}, 90_000);

afterAll(async () => {
  await agent.end('SIGTERM');
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
}, 60_000);

async function statusOf(name: string): Promise<string> {
  const { stdout } = await podloop(['get', 'pod', name, '--no-headers']);
  return stdout.split(/\s+/)[2] ?? '';
}

describe('podloop get and describe', () => {
  it('show the pods in kubectl’s columns', async () => {
    const { code, stdout, stderr } = await podloop(['get', 'pods', '-l', 'app=web', '-o', 'wide']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [header, row] = stdout.split('\n');
    expect(header).toMatch(
      /^NAME {5}READY {3}STATUS {4}RESTARTS {3}AGE +IP +NODE +NOMINATED NODE {3}READINESS GATES$/,
    );
    expect(row).toMatch(/^web-n1 {3}1\/1 {5}Running {3}0 +\d+s +[\d.]+ +n1 +<none> +<none>$/);
  });

  it('show all of a pod, and what happened to it', async () => {
    const { stdout } = await podloop(['describe', 'pod', 'web']);
    expect(stdout).toMatch(/^Name: +web-n1\nNamespace: +default\n/);
    expect(stdout).toMatch(/ {4}State: +Running\n {6}Started: +\w{3}, \d\d \w{3} \d{4} /);
    expect(stdout).toMatch(/Events:\n {2}Type +Reason +Age +From +Message\n/);
    expect(stdout).toMatch(/ {2}Normal +Started +/);
  });

  it('find nothing with exit code 1 and kubectl’s words', async () => {
    const { code, stderr } = await podloop(['get', 'pod', 'nope']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Error from server (NotFound): pods "nope" not found',
    });
  });

  it('end with 0 when the reader goes away, and with 130 at Ctrl-C', async () => {
    await using watching = start(['get', 'pods', '-w']);
    await watching.line('stdout', /^web-n1/);
    expect(await watching.end('SIGINT')).toEqual({ code: 130, signal: null });
    await using headed = start(['get', 'pods', '-w', '-o', 'json']);
    await headed.line('stdout', /"kind": "Pod"/);
    headed.child.stdout!.destroy();
    // The next change finds nobody who reads it.
    await writeFile(join(folder, 'manifests/other.json'), manifest('other', STAY));
    expect((await headed.ended).code).toBe(0);
  });
});

describe('podloop logs', () => {
  it('print what was written, and that of the container before the last restart', async () => {
    expect((await podloop(['logs', 'web-n1', '--tail=1'])).stdout).toMatch(/^(ready|got .*)$/);
    await expect
      .poll(
        () =>
          podloop(['get', 'pod', 'crash-n1', '-o', 'jsonpath={..restartCount}']).then(({ stdout }) =>
            Number(stdout),
          ),
        LIMIT,
      )
      .toBeGreaterThan(0);
    const previous = await podloop(['logs', '-p', 'crash-n1']);
    expect(previous.stdout).toMatch(/^dying$/);
    const timed = await podloop(['logs', 'crash-n1', '--timestamps', '--prefix']);
    expect(timed.stdout).toMatch(/^\[pod\/crash-n1\/main\] \d{4}-\d\d-\d\dT[\d:.]+Z dying$/);
  });

  it('go on with what comes, up to Ctrl-C', async () => {
    await using following = start(['logs', '-f', 'web-n1']);
    await following.line('stdout', /^ready$/);
    await podloop(['exec', 'web-n1', '--', 'true']);
    await using _attached = start(['attach', '-i', '-q', 'web-n1'], { stdin: 'followed\n' });
    await following.line('stdout', /^got followed$/);
    expect(await following.end('SIGINT')).toEqual({ code: 130, signal: null });
  });
});

describe('podloop exec', () => {
  it('ends as the command does', async () => {
    const { code, stdout, stderr } = await podloop([
      'exec',
      'web-n1',
      '--',
      'sh',
      '-c',
      'echo out; echo err >&2; exit 3',
    ]);
    expect({ code, stdout, stderr }).toEqual({
      code: 3,
      stdout: 'out',
      stderr: 'err\ncommand terminated with exit code 3',
    });
  });

  it('hands input on, and its end', async () => {
    const input = `${'x'.repeat(100_000)}\nhi`;
    const { code, stdout } = await podloop(['exec', '-i', 'web-n1', '--', 'cat'], { stdin: input });
    expect({ code, stdout }).toEqual({ code: 0, stdout: input });
  });

  it('says what cannot be run', async () => {
    const { code, stderr } = await podloop(['exec', 'web-n1', '--', '/no/such/program']);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/no\/such\/program|exit code 12[67]/);
    expect((await podloop(['exec', 'web-n1', '-c', 'x', '--', 'ls'])).stderr).toBe(
      'error: container x is not valid for pod web-n1 out of: main',
    );
  });

  it('gives a command the terminal, with its size and every key, and gives it back as it was', async () => {
    const command = `${process.execPath} ${PODLOOP_MAIN} exec -it web-n1 -- sh`;
    const shell = `sh -c 'stty cols 91 rows 31; ${command}; echo "code $?"; stty -a'`;
    await using terminal = new ProgramAtTerminal(shell, env());
    await terminal.shows(/[$#] /);
    // The size comes on a stream of its own, and so may come after what is typed.
    terminal.press('until stty size | grep -v "^0 0"; do sleep 0.1; done; tty\r');
    await terminal.shows(/31 91[^]*\/dev\//);
    // Ctrl-C goes to what runs there and ends neither shell nor podloop. What sleeps says so itself: it has the terminal then.
    terminal.press(`sh -c 'echo sl""eeps; exec sleep 100'\r`);
    await terminal.shows(/sleeps/);
    terminal.press('\u0003');
    await terminal.shows(/\^C[^]*[$#] $/);
    terminal.press('echo st""ill; exit 7\r');
    await terminal.shows(/still[^]*command terminated with exit code 7[^]*code 7[^]*[^-]icanon/);
    expect(await terminal.ended).toMatchObject({ code: 0 });
  });
});

describe('podloop port-forward', () => {
  it('joins a port of this machine with one of the pod, each direction up to its own end', async () => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      let length = 0;
      socket.on('data', (chunk) => (length += chunk.length));
      socket.on('end', () => socket.end(`heard ${length}`));
    });
    const port = await listen(server);
    try {
      await using forwarding = start(['port-forward', 'web-n1', `:${port}`]);
      const line = await forwarding.line('stdout', /^Forwarding from 127\.0\.0\.1:\d+ -> \d+$/);
      const local = Number(/:(\d+) /.exec(line)![1]);
      const heard = await Promise.all([talk(local, 'x'.repeat(500_000)), talk(local, 'y')]);
      expect(heard).toEqual(['heard 500000', 'heard 1']);
      await forwarding.line('stdout', new RegExp(`^Handling connection for ${local}$`));
      expect(await forwarding.end('SIGINT')).toEqual({ code: 130, signal: null });
    } finally {
      server.close();
    }
  });

  it('says which connection could not be made, and goes on', async () => {
    const server = createServer();
    const unused = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    await using forwarding = start(['port-forward', 'pod/web-n1', `:${unused}`]);
    const line = await forwarding.line('stdout', /^Forwarding from/);
    const local = Number(/:(\d+) /.exec(line)![1]);
    expect(await talk(local, 'x')).toBe('');
    await forwarding.line('stderr', /^error: an error occurred forwarding \d+ -> \d+: .*refused/i);
    expect(forwarding.child.exitCode).toBeNull();
  });
});

describe('podloop cp', () => {
  it('copies folders both ways', async () => {
    const source = join(folder, 'source');
    await mkdir(join(source, 'sub'), { recursive: true });
    await writeFile(join(source, 'sub/big'), Buffer.alloc(2_000_000, 'ab'));
    await writeFile(join(source, 'small'), 'small\n');
    await symlink('small', join(source, 'link'));
    const inside = join(folder, 'inside');
    await mkdir(inside);
    const there = await podloop(['cp', source, `web-n1:${inside}`]);
    expect(there).toMatchObject({ code: 0 });
    expect((await readdir(join(inside, 'source'))).sort()).toEqual(['link', 'small', 'sub']);
    const back = await podloop(['cp', `default/web-n1:${inside}/source`, join(folder, 'back')]);
    expect(back.code).toBe(0);
    expect(back.stderr).toContain('warning: skipping symlink:');
    expect((await readdir(join(folder, 'back'))).sort()).toEqual(['small', 'sub']);
    const big = await readFile(join(source, 'sub/big'));
    expect(big.equals(await readFile(join(folder, 'back/sub/big')))).toBe(true);
  });

  it('says what is not there', async () => {
    expect(await podloop(['cp', join(folder, 'nope'), 'web-n1:/tmp'])).toMatchObject({
      code: 1,
      stderr: `error: ${join(folder, 'nope')} doesn't exist in local filesystem`,
    });
    const { code, stderr } = await podloop(['cp', `web-n1:${folder}/nope`, join(folder, 'x')]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('command terminated with exit code 2')]);
  });
});

describe('podloop apply and delete', () => {
  it('create, change and stop pods', async () => {
    const file = join(folder, 'applied.json');
    await writeFile(file, manifest('applied', STAY));
    expect(await podloop(['apply', '-f', file])).toMatchObject({ code: 0, stdout: 'pod/applied created' });
    expect(await podloop(['apply', '-f', file])).toMatchObject({
      code: 0,
      stdout: 'pod/applied unchanged',
    });
    await expect.poll(() => statusOf('applied-n1'), LIMIT).toBe('Running');
    await writeFile(file, manifest('applied', `: ; ${STAY}`));
    expect(await podloop(['apply', '-f', file])).toMatchObject({
      code: 0,
      stdout: 'pod/applied configured',
    });
    const wrong = manifest('applied', STAY).replace('"containers"', '"container"');
    const { code, stderr } = await podloop(['apply', '-f', '-'], { stdin: wrong });
    expect([code, stderr]).toEqual([1, expect.stringContaining('The Pod "applied" is invalid: ')]);
    await expect.poll(() => statusOf('applied-n1'), LIMIT).toBe('Running');
    expect(await podloop(['delete', '-f', file])).toMatchObject({
      code: 0,
      stdout: 'pod "applied-n1" deleted from default namespace',
    });
    expect((await podloop(['get', 'pod', 'applied-n1'])).code).toBe(1);
  });

  it('stop a pod of a file, and nobody starts it again', async () => {
    await writeFile(join(folder, 'manifests/gone.json'), manifest('gone', STAY));
    await expect.poll(() => statusOf('gone-n1'), LIMIT).toBe('Running');
    expect(await podloop(['delete', 'pod', 'gone-n1', '--now'])).toMatchObject({ code: 0 });
    expect((await podloop(['get', 'pod', 'gone-n1'])).stderr).toContain('NotFound');
  });

  it('remove ConfigMaps and Secrets with their files', async () => {
    const object = (kind: string, name: string) =>
      JSON.stringify({ apiVersion: 'v1', kind, metadata: { name } });
    const stdin = [object('ConfigMap', 'settings'), object('Secret', 'key')].join('\n---\n');
    expect(await podloop(['apply', '-f', '-'], { stdin })).toMatchObject({
      stdout: 'configmap/settings created\nsecret/key created',
    });
    expect(await podloop(['delete', 'secret', 'key', '--dry-run=client'])).toMatchObject({
      stdout: 'secret "key" deleted from default namespace (dry run)',
    });
    expect(await podloop(['delete', 'cm/settings', 'secret/key'])).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout:
        'configmap "settings" deleted from default namespace\nsecret "key" deleted from default namespace',
    });
    expect(await podloop(['delete', 'configmap', 'settings'])).toMatchObject({
      code: 1,
      stderr: 'Error from server (NotFound): configmaps "settings" not found',
    });
    expect(await readdir(join(folder, 'manifests'))).not.toContain('default_settings.configmap.yaml');
  });
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as { port: number }).port;
}

/** Says something, ends its direction, and hears the answer to its end. */
async function talk(port: number, words: string): Promise<string> {
  const socket: Socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.end(words);
  return text(socket).catch(() => '');
}
