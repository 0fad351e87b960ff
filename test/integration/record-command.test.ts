/**
 * `podloop record` and `podloop replay` as processes: in front of a runtime while things happen, killed, without room on
 * the disk, and then as a runtime for `podloop watch`.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/client.js';
import { type RecordingSummary } from '../../src/proxy/record/index.js';
import { type SpawnedSyntheticRuntime, spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { untilTrue } from '#support/until-true.js';
import { deathsIn } from './chaos-node.js';
import { PodloopProcess } from './podloop-process.js';

const run = promisify(execFile);

/** A synthetic runtime, a folder, and the processes that a test starts. */
class RecordedNode implements AsyncDisposable {
  readonly runtime: SpawnedSyntheticRuntime;
  readonly folder: string;
  readonly #processes: PodloopProcess[] = [];

  private constructor(runtime: SpawnedSyntheticRuntime, folder: string) {
    this.runtime = runtime;
    this.folder = folder;
  }

  static async start(): Promise<RecordedNode> {
    const runtime = await spawnSyntheticRuntime({ pods: 5, containersPerPod: 2 });
    return new RecordedNode(runtime, await mkdtemp(join(tmpdir(), 'podloop-record-')));
  }

  get endpoint(): string {
    return `unix://${join(this.folder, 'record.sock')}`;
  }

  podloop(...args: string[]): PodloopProcess {
    const started = new PodloopProcess(args);
    this.#processes.push(started);
    return started;
  }

  async record(file: string, ...flags: string[]): Promise<PodloopProcess> {
    const { endpoint, runtime } = this;
    const args = ['--listen', endpoint, '--runtime-endpoint', runtime.endpoint, '-f', file];
    const recorder = this.podloop('record', ...args, ...flags);
    await recorder.line('stderr', /"Recording"/);
    return recorder;
  }

  async summarize(file: string): Promise<RecordingSummary> {
    const summary = this.podloop('replay', file, '--summary', '-o', 'json');
    expect(await summary.ended).toEqual({ code: 0, signal: null });
    return JSON.parse(summary.stdout[0]!) as RecordingSummary;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#processes) await each[Symbol.asyncDispose]();
    await this.runtime.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

describe('podloop record and replay', () => {
  it('lose no more than a second to a kill, and the replay shows the deaths that were seen', async () => {
    await using node = await RecordedNode.start();
    const file = join(node.folder, 'node.plrec');
    const recorder = await node.record(file);
    const watcher = node.podloop('watch', '--runtime-endpoint', node.endpoint, '-o', 'json');
    await watcher.line('stderr', /"Watching"/);
    await untilTrue(() => watcher.stdout.length >= 10);
    const killed: string[] = [];
    for (const pod of (await node.runtime.control.pods()).slice(0, 3)) {
      const { id } = pod.containers[0]!;
      await node.runtime.control.kill({ containerIds: [id] }, { exitCode: 3 });
      await watcher.line('stdout', (line) => line.includes('ContainerDied') && line.includes(id));
      killed.push(id);
    }
    // What was seen then is in the second block that is written from now on, at the latest.
    for (let block = 0; block < 2; block++) {
      const { size } = await stat(file);
      await expect.poll(async () => (await stat(file)).size, { timeout: 30_000 }).toBeGreaterThan(size);
    }
    recorder.child.kill('SIGKILL');
    await recorder.ended;
    const { isComplete, methods, pods, durationMs } = await node.summarize(file);
    expect(isComplete).toBe(false);
    expect(pods).toHaveLength(5);
    expect(methods.find(({ method }) => method === 'ContainerStatus')!.failed).toBe(0);

    const listen = `unix://${join(node.folder, 'replay.sock')}`;
    const replay = node.podloop('replay', file, '--listen', listen, '--speed', '4');
    await replay.line('stderr', /"Replaying"/);
    const second = node.podloop(
      'watch',
      '--runtime-endpoint',
      listen,
      '-o',
      'json',
      '--relist-period',
      '250ms',
    );
    for (const id of killed)
      await second.line('stdout', (line) => line.includes('ContainerDied') && line.includes(id));
    expect(deathsIn(second).sort()).toEqual([...killed].sort());
    expect(durationMs).toBeGreaterThan(1_000);
  });

  it('take a hang home: the example, and podloop doctor over the replay, name the call and the pod', async () => {
    await using node = await RecordedNode.start();
    const file = join(node.folder, 'node.plrec');
    const recorder = await node.record(file);
    const pod = (await node.runtime.control.pods())[3]!;
    await node.runtime.control.setFaults({ hungPods: [pod.uid] });
    const watcher = node.podloop('watch', '--runtime-endpoint', node.endpoint, '-o', 'json');
    // The node is told to have a stuck pod once its status hung for three seconds.
    await watcher.line('stderr', (line) => line.includes(pod.name));
    await recorder.end('SIGINT');
    const { hangs } = await node.summarize(file);
    const name = `${pod.namespace}/${pod.name}`;
    expect(new Set(hangs.map((each) => `${each.method} ${each.pod}`))).toEqual(
      new Set([`ContainerStatus ${name}`]),
    );
    expect(await runExample('find-hangs', file)).toMatch(
      new RegExp(`^\\d{4}-\\S+Z ContainerStatus of ${name}: no answer for \\d+ s\n`),
    );

    const listen = `unix://${join(node.folder, 'replay.sock')}`;
    const from = `${Math.ceil(hangs[0]!.atMs) + 500}ms`;
    const replay = node.podloop('replay', file, '--listen', listen, '--from', from);
    await replay.line('stderr', /"Replaying"/);
    const nowhere = ['--kubelet-url', '', '--healthz-url', '', '--no-disk-write'];
    const doctor = node.podloop('doctor', '-r', listen, '-t', '2s', '--for', '1s', '-o', 'json', ...nowhere);
    await doctor.ended;
    const { findings } = JSON.parse(doctor.stdout.join('\n')) as { findings: unknown[] };
    const about = findings
      .map((finding) => JSON.stringify(finding))
      .filter((text) => text.includes(pod.name));
    expect(about.join('\n')).toContain('ContainerStatus');
  });

  it.skipIf(process.getuid?.() !== 0)(
    'tell of a full disk once, let calls go on, and leave what can be read (needs root)',
    async () => {
      await using node = await RecordedNode.start();
      const small = join(node.folder, 'small');
      await mkdir(small);
      await run('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'podloop-test', small]);
      try {
        const file = join(small, 'node.plrec');
        const recorder = await node.record(file);
        const client = new CriClient({ endpoint: node.endpoint });
        const isOver = (): boolean => recorder.stderr.some((line) => line.includes('Recording has ended'));
        // Each list is another one, so that each is written.
        while (!isOver()) {
          await node.runtime.control.addPods({ count: 5, containersPerPod: 2 });
          await client.listContainers();
        }
        expect((await client.version()).runtimeName).not.toBe('');
        client.close();
        recorder.child.kill('SIGINT');
        expect(await recorder.ended).toEqual({ code: 1, signal: null });
        expect(recorder.stderr.filter((line) => line.includes('Recording has ended'))).toHaveLength(1);
        expect(recorder.stderr.at(-1)).toMatch(/^error: the recording .* is not complete: ENOSPC/);
        const { isComplete, methods } = await node.summarize(file);
        expect(isComplete).toBe(false);
        expect(methods.length).toBeGreaterThan(0);
      } finally {
        await run('umount', ['-l', small]);
      }
    },
  );
});

/** Runs an example of examples/library on a recording, and gives what it prints. */
async function runExample(name: string, recording: string): Promise<string> {
  const project = new URL('../../', import.meta.url);
  const source = await readFile(new URL(`examples/library/${name}.ts`, project), 'utf8');
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const { outputText } = ts.transpileModule(source, { compilerOptions: options });
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', outputText], {
    // The package refers to itself by its name from here.
    cwd: fileURLToPath(project),
    env: { PATH: process.env['PATH'], RECORDING: recording },
  });
  return stdout;
}
