import { rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../../watch/cri/client.js';
import { ListPodSandboxResponse } from '../../../watch/cri/generated/runtime/v1/cri.js';
import { FakeClock } from '#testing/fake-clock.js';
import { RecordHarness } from '#support/harness/record-harness.js';
import { untilTrue } from '#support/until-true.js';
import { type RecordingSummary } from '../../../proxy/record/index.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { runProgram } from '../../program.js';
import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';

/** `podloop replay` in the test's own process. */
class ReplayCommand {
  readonly clock = new FakeClock();
  readonly exit: Promise<number>;
  stdout = '';
  stderr = '';
  readonly #interrupt = new AbortController();

  constructor(...args: string[]) {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    stdout.on('data', (chunk) => (this.stdout += String(chunk)));
    stderr.on('data', (chunk) => (this.stderr += String(chunk)));
    const host: CliHost = {
      ...{ env: {}, pid: 1, clock: this.clock, selfCommand: ['podloop'] },
      ...{ stdin: new PassThrough(), stdout: new LineOutput(stdout), stderr: new LineOutput(stderr) },
      listenForInterrupts: () => this.#interrupt.signal,
      onUserSignal: () => () => undefined,
    };
    this.exit = runProgram(['replay', ...args], host);
  }

  /** Ends it as Ctrl-C does; its exit code. */
  async end(): Promise<number> {
    this.#interrupt.abort();
    return this.exit;
  }
}

/** Ten seconds of a node with one pod, whose status hung for six of them. */
async function recordHang(): Promise<RecordHarness> {
  const metadata = { namespace: 'default', name: 'web', uid: 'u1' };
  const harness = await RecordHarness.start({
    handlers: {
      listPodSandbox: (_call, reply) =>
        reply(null, ListPodSandboxResponse.fromPartial({ items: [{ id: 'sandbox-1', metadata }] })),
      podSandboxStatus: () => undefined,
      stopPodSandbox: (_call, reply) => reply({ code: status.INTERNAL, details: 'cannot \u001b[31mstop' }),
    },
  });
  const { client, clock, proxy } = harness;
  await client.listPodSandbox();
  await clock.advance(2_000);
  const giveUp = new AbortController();
  const hanging = client.podSandboxStatus({ podSandboxId: 'sandbox-1' }, { signal: giveUp.signal });
  await untilTrue(() => proxy.counts.open === 1);
  await clock.advance(6_000);
  giveUp.abort(new Error('enough'));
  await hanging.catch(() => undefined);
  await untilTrue(() => proxy.counts.open === 0);
  await client.stopPodSandbox({ podSandboxId: 'sandbox-1' }).catch(() => undefined);
  await clock.advance(2_000);
  await proxy.close();
  return harness;
}

describe('podloop replay', () => {
  it('says with --summary what hung, of which pod, and what failed', async () => {
    await using recording = await recordHang();
    const text = new ReplayCommand(recording.file, '--summary');
    expect(await text.exit).toBe(0);
    expect(text.stdout).toMatch(/^Recorded 2026-01-02T03:04:05\.000Z, 10s, in front of the runtime: unix:/);
    expect(text.stdout).toContain('3 calls, 0 events, 1 pods');
    expect(text.stdout).toMatch(
      /Never answered:\nAT +FOR +METHOD +POD +ID\n2s +6s +PodSandboxStatus +default\/web +sandbox-1\n/,
    );
    expect(text.stdout).toMatch(/1 +StopPodSandbox +INTERNAL +cannot \^\[\[31mstop/);
    const json = new ReplayCommand(recording.file, '--summary', '-o', 'json');
    expect(await json.exit).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...{ durationMs: 10_000, mode: 'relay', isComplete: true, lost: 0, events: 0 },
      hangs: [
        { method: 'PodSandboxStatus', subject: 'sandbox-1', pod: 'default/web', atMs: 2_000, forMs: 6_000 },
      ],
      pods: [{ namespace: 'default', name: 'web', uid: 'u1' }],
    });
  });

  it.each([
    ['observe', 0],
    ['relay', 1],
  ] as const)(
    'counts no method as failed in --summary that was only tried, mode %s',
    async (mode, failedStatus) => {
      // A runtime without handlers has none of these methods.
      await using recording = await RecordHarness.start({ handlers: {} }, { mode });
      const { client, proxy } = recording;
      const lists = [client.streamPodSandboxes(), client.streamContainers(), client.streamImages()];
      for (const list of lists)
        await expect(list.next()).rejects.toMatchObject({ code: 'CRI_UNIMPLEMENTED' });
      await expect(client.status()).rejects.toMatchObject({ code: 'CRI_UNIMPLEMENTED' });
      await proxy.close();
      const json = new ReplayCommand(recording.file, '--summary', '-o', 'json');
      expect(await json.exit).toBe(0);
      const { methods, errors, unsupported } = JSON.parse(json.stdout) as RecordingSummary;
      const failed = Object.fromEntries(methods.map((each) => [each.method, each.failed]));
      const none = { StreamPodSandboxes: 0, StreamContainers: 0, StreamImages: 0 };
      expect(failed).toEqual({ ...none, Status: failedStatus });
      expect(errors.map(({ method }) => method)).toEqual(failedStatus === 0 ? [] : ['Status']);
      expect(unsupported).toEqual(expect.arrayContaining(Object.keys(none)));
      const text = new ReplayCommand(recording.file, '--summary');
      expect(await text.exit).toBe(0);
      expect(text.stdout).toMatch(/Not offered by the runtime, .*: .*StreamContainers, StreamImages, Stream/);
      if (failedStatus === 0) expect(text.stdout).not.toContain('Errors:');
    },
  );

  it('names with --summary the pod of a sandbox that was made or not, also when no list has it', async () => {
    const metadata = (name: string) => ({ namespace: 'default', name, uid: `uid-of-${name}`, attempt: 0 });
    await using recording = await RecordHarness.start({
      handlers: {
        runPodSandbox: (call, reply) => {
          if (call.request.config?.metadata?.name === 'db') reply(null, { podSandboxId: 'sandbox-db' });
        },
        createContainer: (_call, reply) => reply(null, { containerId: 'container-db' }),
        stopContainer: () => undefined,
        stopPodSandbox: () => undefined,
        removePodSandbox: () => undefined,
      },
    });
    const { client, clock, proxy } = recording;
    const { podSandboxId } = await client.runPodSandbox({ config: { metadata: metadata('db') } });
    await client.createContainer({ podSandboxId, config: {}, sandboxConfig: { metadata: metadata('db') } });
    const hanging = [
      client.runPodSandbox({ config: { metadata: metadata('web') } }),
      client.stopContainer({ containerId: 'container-db' }),
      client.stopPodSandbox({ podSandboxId }),
      client.removePodSandbox({ podSandboxId: 'of-before' }),
    ].map((call) => call.catch(() => undefined));
    await untilTrue(() => proxy.counts.open === hanging.length);
    await clock.advance(5_000);
    await proxy.close();
    client.close();
    await Promise.all(hanging);
    const text = new ReplayCommand(recording.file, '--summary');
    expect(await text.exit).toBe(0);
    const rows = text.stdout.split('\n').map((line) => line.split(/ +/).slice(2).join(' '));
    expect(rows).toEqual(
      expect.arrayContaining([
        'RunPodSandbox default/web uid-of-web',
        'StopContainer default/db container-db',
        'StopPodSandbox default/db sandbox-db',
        'RemovePodSandbox - of-before',
        'RunPodSandbox default/db sandbox-db',
        'CreateContainer default/db sandbox-db',
      ]),
    );
    const json = new ReplayCommand(recording.file, '--summary', '-o', 'json');
    expect(await json.exit).toBe(0);
    const { hangs } = JSON.parse(json.stdout) as { hangs: unknown[] };
    expect(hangs).toContainEqual({
      ...{ method: 'RunPodSandbox', subject: '', pod: 'default/web', podUid: 'uid-of-web' },
      ...{ atMs: 0, forMs: 5_000 },
    });
  });

  it('serves the recording, says when it is over, and ends then with --at-end exit', async () => {
    await using recording = await recordHang();
    const socket = join(recording.file, '..', 'replay.sock');
    const command = new ReplayCommand(
      recording.file,
      '--listen',
      `unix://${socket}`,
      '--at-end',
      'exit',
      '--speed',
      '2',
    );
    await untilTrue(() => command.stderr.includes('Replaying'));
    expect(command.stderr).toContain('recorded="2026-01-02T03:04:05.000Z" lasts="10s"');
    const client = new CriClient({ endpoint: `unix://${socket}` });
    expect((await client.listPodSandbox()).items.map(({ id }) => id)).toEqual(['sandbox-1']);
    client.close();
    await command.clock.advance(5_000);
    expect(await command.exit).toBe(0);
    expect(command.stderr).toContain('"The recording is over" position="10s" atEnd="exit"');
  });

  it('shows with --web what happened in the recording, from the moment of --from on', async () => {
    await using recording = await recordHang();
    const command = new ReplayCommand(
      recording.file,
      '--web',
      '--port',
      '0',
      '--from',
      '3s',
      '--speed',
      '10',
    );
    await untilTrue(() => /#key=\S+\n/.test(command.stdout));
    expect(command.stdout).toContain(`The page of the recording ${recording.file}, for one browser:`);
    const { origin, hash } = new URL(/http:\S+/.exec(command.stdout)![0]);
    const opened = await fetch(`${origin}/session`, {
      ...{ method: 'POST', headers: { origin }, body: JSON.stringify({ key: hash.replace('#key=', '') }) },
    });
    const { token } = (await opened.json()) as { token: string };
    const cookie = opened.headers.get('set-cookie')!.split(';')[0]!;
    const answer = await fetch(`${origin}/records`, { headers: { cookie, 'podloop-token': token } });
    const page = (await answer.json()) as RecordedTimeline;
    expect(page).toMatchObject({ title: basename(recording.file), speed: 10 });
    expect([page.atMs! - page.fromMs, page.toMs - page.fromMs]).toEqual([3_000, 10_000]);
    expect(page.entries.map(({ reason, pod }) => [reason, pod?.name])).toEqual([
      ['ContainerStarted', 'web'],
      ['CallReturned', 'web'],
      ['CallFailed', 'web'],
    ]);
    expect(await command.end()).toBe(0);
  });

  it('is one of a page, a runtime and a summary', async () => {
    await using recording = await recordHang();
    const both = new ReplayCommand(recording.file, '--web', '--summary');
    expect(await both.exit).toBe(1);
    expect(both.stderr).toContain('error: use one of --web, --listen and --summary');
    const late = new ReplayCommand(recording.file, '--web', '--from', '11s');
    expect(await late.exit).toBe(1);
    expect(late.stderr).toContain('error: the recording lasts 10s: it cannot begin at 11s');
  });

  it('stays at the last moment otherwise, until it is interrupted', async () => {
    await using recording = await recordHang();
    const socket = join(recording.file, '..', 'replay.sock');
    const command = new ReplayCommand(recording.file, '--listen', `unix://${socket}`, '--from', '9s');
    await untilTrue(() => command.stderr.includes('Replaying'));
    const client = new CriClient({ endpoint: `unix://${socket}` });
    await client.listPodSandbox();
    await command.clock.advance(60_000);
    await untilTrue(() => command.stderr.includes('The recording is over'));
    expect((await client.listPodSandbox()).items).toHaveLength(1);
    client.close();
    expect(await command.end()).toBe(0);
  });

  it('ends with 1 and one line when it is told nothing to do, or the file is none, or too short', async () => {
    await using recording = await recordHang();
    const idle = new ReplayCommand(recording.file);
    expect(await idle.exit).toBe(1);
    expect(idle.stderr).toContain('error: say where to serve the recording (--listen)');
    const late = new ReplayCommand(recording.file, '--listen', `unix://${recording.file}.s`, '--from', '11s');
    expect(await late.exit).toBe(1);
    expect(late.stderr).toMatch(/^error: the recording lasts 10s: it cannot begin at 11s\n$/);
    const fast = new ReplayCommand(recording.file, '--listen', `unix://${recording.file}.s`, '--speed', '0');
    expect(await fast.exit).toBe(1);
    expect(fast.stderr).toContain('use a number from 0.001 to 1000');
    await writeFile(`${recording.file}.txt`, 'kind: Pod\n');
    const other = new ReplayCommand(`${recording.file}.txt`, '--summary');
    expect(await other.exit).toBe(1);
    expect(other.stderr).toMatch(/^error: the recording .* is no recording of podloop record\n$/);
    await rm(`${recording.file}.txt`);
  });
});
