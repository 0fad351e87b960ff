import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedNode } from '../embedded-node.js';
import { patiently } from '#support/patience.js';
import { PodloopProcess, runPodloop } from '../podloop-process.js';

const PORT = 21_000 + (process.pid % 9_000);

let node: EmbeddedNode;
let runtime: PodloopProcess;
let root: string;

beforeAll(async () => {
  node = await EmbeddedNode.prepare({ network: 'host' });
  root = join(node.folder, 'observe');
  runtime = new PodloopProcess(['runtime', ...node.args]);
  await runtime.line('stderr', /istening/);
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

function observe(...flags: readonly string[]): PodloopProcess {
  return new PodloopProcess([
    ...['observe', '--runtime-endpoint', node.listen, '--root-dir', root, '--pod-logs-dir', node.logs],
    ...['--node-name', 'test', '--metrics-bind-address', `127.0.0.1:${PORT}`, ...flags],
  ]);
}

/** What a command prints of the observer. */
async function ask(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runPodloop([...args, '--socket', join(root, 'podloop.sock')]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

const get = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${PORT}${path}`)).text();

describe('podloop observe beside a runtime', { timeout: patiently(180_000) }, () => {
  it('shows pods, events, logs and metrics while it runs, and events after it was killed', async () => {
    const sandbox = await node.runPod('web', { logDirectory: join(node.logs, 'test_web_uid-web') });
    await mkdir(join(node.logs, 'test_web_uid-web', 'main'), { recursive: true });
    await node.run(sandbox, 'main', 'echo hello; sleep 3600', { logPath: 'main/0.log' });
    const job = await node.run(sandbox, 'job', 'exit 3', { logPath: 'job/0.log' });
    await using observer = observe();
    await observer.line('stderr', /Starting to listen".*socket/);
    const socket = await stat(join(root, 'podloop.sock'));
    expect(socket.mode & 0o777).toBe(0o600);

    await expect.poll(() => ask('get', 'pods', '-n', 'test', '--no-headers')).toMatch(/web +1\/2 +Error +0/);
    expect(await ask('logs', '-n', 'test', 'web', '-c', 'main')).toBe('hello');
    expect(await ask('top', 'pleg', '--once', '-o', 'json')).toContain('"endpoint"');
    await node.client.removeContainer({ containerId: job });
    const again = await node.run(sandbox, 'again', 'exit 4');
    await expect
      .poll(() => ask('events', '-A', '--no-headers'))
      .toContain('Container again died with exit code 4');
    expect(await get('/healthz')).toBe('ok');
    expect(await get('/livez')).toBe('ok');
    const metrics = await get('/metrics');
    expect(metrics).toMatch(/^kubelet_pleg_relist_duration_seconds_count [1-9]/m);
    expect(metrics).toMatch(/^podloop_runtime_info\{name="podloop-embedded"/m);

    // Nothing that changes the node was sent, and no status that asks a shim.
    const sent = [...metrics.matchAll(/^kubelet_runtime_operations_total\{operation_type="(\w+)"\}/gm)];
    const READING = /^(version|status|list_|stream_|podsandbox_status|container_status)/;
    expect(sent.map(([, name = '']) => name).filter((name) => !READING.test(name))).toEqual([]);

    await observer.end('SIGKILL');
    await node.client.removeContainer({ containerId: again });
    const { stdout } = await runPodloop(['events', '-A', '--no-headers', '--root-dir', root]);
    expect(stdout).toContain('Container job died with exit code 3');

    await using next = observe();
    await next.line('stderr', /Starting to listen".*socket/);
    await expect.poll(() => ask('events', '-A', '--no-headers')).toContain('HistoryGap');
    expect(await next.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await readdir(root)).not.toContain('podloop.sock');
  });

  it('names a runtime that stands still, and has the calls from before it on record', async () => {
    const own = join(node.folder, 'incident');
    const flags = ['--root-dir', own, '--kubelet-url', '', '--healthz-url', ''];
    const exported = join(node.folder, 'incident.plrec');
    await using observer = new PodloopProcess([
      ...['observe', '--runtime-endpoint', node.listen, '--metrics-bind-address', '0', ...flags],
    ]);
    await observer.line('stderr', /Starting to listen".*socket/);
    const socket = ['--socket', join(own, 'podloop.sock')];
    // From then on a list has been answered, and its call is on record.
    await expect
      .poll(async () => (await runPodloop(['get', 'pods', '-A', ...socket])).stdout)
      .toContain('web');
    runtime.child.kill('SIGSTOP');
    try {
      await observer.line('stderr', /"Incident began"/);
      await observer.line('stderr', /"Finding began" code="RuntimeHung"/);
    } finally {
      runtime.child.kill('SIGCONT');
    }
    const place = ['--root-dir', own, ...socket];
    const shown = await runPodloop(['incident', 'show', '1', ...place]);
    expect(shown.stdout).toContain('CRITICAL RuntimeHung');
    const recording = join(own, 'incidents/1/calls.plrec');
    await expect.poll(async () => (await stat(recording)).size).toBeGreaterThan(100);
    await expect
      .poll(async () => (await runPodloop(['events', '-A', '--kinds', 'finding', '--root-dir', own])).stdout)
      .toContain('RuntimeHung');
    // What is on the disk by now outlives any end.
    await observer.end('SIGKILL');
    const listed = await runPodloop(['incidents', ...place]);
    expect(listed.stdout).toMatch(/1 +\S+ +\S+\+ +cut off +critical/);
    expect(await runPodloop(['incident', 'export', '1', '-f', exported, ...place])).toMatchObject({
      code: 0,
    });
    const { stdout } = await runPodloop(['replay', '--summary', exported]);
    expect(stdout).toMatch(/^StreamPodSandboxes +[1-9]/m);
    const { stdout: events } = await runPodloop(['events', '-A', '--kinds', 'finding', '--root-dir', own]);
    expect(events).toContain('RuntimeHung');
  });

  it('waits for a runtime that is not there, and says so', async () => {
    const other = join(node.folder, 'other');
    await using observer = new PodloopProcess([
      ...['observe', '--runtime-endpoint', `unix://${node.folder}/nobody.sock`, '--root-dir', other],
      ...['--metrics-bind-address', '0', '--node-name', 'test'],
    ]);
    await observer.line('stderr', /Unable to retrieve pods/);
    expect(observer.child.exitCode).toBeNull();
    expect(await observer.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
