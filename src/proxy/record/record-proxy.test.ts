import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  type ContainerEventResponse,
  ContainerEventType,
  ListContainersRequest,
  ListContainersResponse,
  VersionResponse,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { readRecording, RecordHarness } from '#support/harness/record-harness.js';
import { untilTrue } from '#support/until-true.js';
import { RecordProxy } from './record-proxy.js';
import { type RecordedFrame } from './recorded-frame.js';
import { RecordingFile } from './recording-file.js';
import { summarizeRecording } from './recording-summary.js';

const version = VersionResponse.fromPartial({ runtimeName: 'test', runtimeVersion: '1' });

/** What stands in the frames, short: the methods of calls with how they ended. */
function describeCalls(frames: readonly RecordedFrame[]): string[] {
  const begun = frames.filter((frame) => frame.kind === 'begin');
  return begun.map(({ call, known }) => {
    const messages = frames.filter((frame) => frame.kind === 'message' && frame.call === call).length;
    const end = frames.find((frame) => frame.kind === 'end' && frame.call === call);
    const how = end?.kind === 'end' ? (end.by ?? `code ${end.code}`) : 'open';
    return `${known!.name}: ${messages}, ${how}`;
  });
}

describe('a recorder', () => {
  it('records requests, answers and errors with their times, and closes the file', async () => {
    await using harness = await RecordHarness.start({
      handlers: {
        version: (_call, reply) => void harness.clock.advance(20).then(() => reply(null, version)),
        containerStatus: (_call, reply) => reply({ code: status.NOT_FOUND, details: 'not “there”' }),
      },
    });
    const { clock, client } = harness;
    await client.version();
    await clock.advance(100);
    await expect(client.containerStatus({ containerId: 'abc' })).rejects.toMatchObject({
      code: 'CRI_NOT_FOUND',
    });
    const frames = await harness.finish();
    expect(describeCalls(frames)).toEqual(['Version: 1, code 0', 'ContainerStatus: 0, code 5']);
    expect(frames[0]).toMatchObject({
      kind: 'meta',
      mode: 'relay',
      startedAt: '2026-01-02T03:04:05.000Z',
      part: 0,
    });
    const times = frames.flatMap((frame) => ('at' in frame ? [`${frame.kind} ${frame.at}`] : []));
    expect(times).toEqual([
      ...['begin 0', 'message 20000', 'end 20000', 'begin 120000', 'end 120000', 'close 120000'],
    ]);
    expect(frames.filter(({ kind }) => kind === 'end').at(-1)).toMatchObject({ message: 'not “there”' });
    expect(frames.at(-1)).toMatchObject({ kind: 'close', reason: 'stopped', calls: 2 });
    expect((await stat(harness.file)).mode & 0o777).toBe(0o600);
  });

  it('writes a message once, however often it comes', async () => {
    const list = ListContainersResponse.fromPartial({
      containers: Array.from({ length: 100 }, (_, i) => ({ id: `container-${i}-${Math.sin(i)}` })),
    });
    await using harness = await RecordHarness.start({
      handlers: { listContainers: (_call, reply) => reply(null, list) },
    });
    for (let i = 0; i < 20; i++) await harness.client.listContainers();
    const frames = await harness.finish();
    expect(frames.filter(({ kind }) => kind === 'blob')).toHaveLength(2);
    await using file = await RecordingFile.open(harness.file);
    for await (const _ of file.readFrames());
    expect(ListContainersRequest.decode(await file.readBlob(0))).toEqual(
      ListContainersRequest.fromPartial({}),
    );
    expect(ListContainersResponse.decode(await file.readBlob(1))).toEqual(list);
  });

  it('leaves a call open that was not answered, and says who gave one up', async () => {
    let asked = 0;
    await using harness = await RecordHarness.start({ handlers: { version: () => (asked += 1) } });
    const { client } = harness;
    const abort = new AbortController();
    const givenUp = client.version({}, { signal: abort.signal });
    const hanging = client.version().catch(() => undefined);
    await untilTrue(() => asked === 2);
    abort.abort(new Error('enough'));
    await expect(givenUp).rejects.toThrow('enough');
    await untilTrue(() => harness.proxy.counts.open === 1);
    expect(describeCalls(await harness.finish())).toEqual(['Version: 0, client', 'Version: 0, open']);
    client.close();
    await hanging;
  });

  it('records each event of a stream as it comes', async () => {
    let send: ((event: ContainerEventResponse) => void) | undefined;
    let end: (() => void) | undefined;
    await using harness = await RecordHarness.start({
      handlers: {
        getContainerEvents: (call) => {
          send = (event) => call.write(event);
          end = () => call.emit('error', { code: status.UNAVAILABLE, details: 'restarting' });
        },
      },
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { containerId } of harness.client.getContainerEvents()) seen.push(containerId);
    })().catch(() => undefined);
    await untilTrue(() => send !== undefined);
    for (const containerId of ['a', 'b']) {
      send!({
        ...{ containerId, containerEventType: ContainerEventType.CONTAINER_STARTED_EVENT, createdAt: 1n },
        ...{ podSandboxStatus: undefined, containersStatuses: [] },
      });
      await untilTrue(() => seen.includes(containerId));
      await harness.clock.advance(10);
    }
    end!();
    await reading;
    const frames = await harness.finish();
    expect(describeCalls(frames)).toEqual(['GetContainerEvents: 2, code 14']);
    expect(frames.flatMap((frame) => (frame.kind === 'message' ? [frame.at] : []))).toEqual([0, 10_000]);
  });

  it('brings nothing secret to the disk, and leaves the bytes of the client as they are', async () => {
    let arrived: unknown;
    await using harness = await RecordHarness.start({
      handlers: {
        createContainer: (call, reply) => {
          arrived = call.request.config?.envs[0]?.value.toString();
          reply({ code: status.UNKNOWN, details: 'bad value opensesame in "argument-1"' });
        },
      },
    });
    const creating = harness.client.createContainer({
      podSandboxId: 'sandbox',
      config: { envs: [{ key: 'PASSWORD', value: Buffer.from('opensesame') }], args: ['argument-1'] },
    });
    await expect(creating).rejects.toThrow('opensesame');
    expect(arrived).toBe('opensesame');
    await harness.finish();
    await using file = await RecordingFile.open(harness.file);
    let text = '';
    for await (const frames of file.readFrames()) {
      text += JSON.stringify(frames);
      for (const frame of frames)
        if (frame.kind === 'blob') text += (await file.readBlob(frame.blob)).toString();
    }
    expect(text).toContain('PASSWORD');
    expect(text).toContain('bad value [redacted] in \\"[redacted]\\"');
    expect(text).not.toMatch(/opensesame|argument-1/);
  });

  it('is on the disk after a second, so that a kill costs no more', async () => {
    await using harness = await RecordHarness.start({
      handlers: { version: (_call, reply) => reply(null, version) },
    });
    await harness.client.version();
    await harness.clock.advance(1_000);
    await untilTrue(() => harness.proxy.counts.bytes > 100);
    expect(describeCalls(await readRecording(harness.file))).toEqual(['Version: 1, code 0']);
  });

  it('ends when it is full, says so once, lets calls go on, and takes none of them for hung', async () => {
    const told: string[] = [];
    let filler = 0;
    await using harness = await RecordHarness.start(
      {
        handlers: {
          version: (_call, reply) => reply(null, { ...version, runtimeVersion: noise(filler++) }),
          status: () => undefined,
        },
      },
      { maxBytes: 2 ** 20, onEnded: (reason) => void told.push(reason) },
    );
    const open = harness.client.status().catch(() => undefined);
    await untilTrue(() => harness.proxy.counts.open === 1);
    while (told.length === 0) await harness.client.version();
    // It is whole at once: the program may be killed at any time.
    expect((await readRecording(harness.file)).at(-1)).toMatchObject({
      kind: 'close',
      reason: 'full',
      at: 0,
    });
    expect((await harness.client.version()).runtimeName).toBe('test');
    await harness.clock.advance(60_000);
    expect(harness.proxy.counts).toMatchObject({ ended: 'full', open: 1 });
    await harness.finish();
    expect(told).toEqual(['full']);
    expect((await stat(harness.file)).size).toBeLessThanOrEqual(2 ** 20);
    expect(await summarizeRecording(harness.file)).toMatchObject({ end: 'full', durationMs: 0, hangs: [] });
    harness.client.close();
    await open;
  });

  it('goes on in a new file when it rolls, and tells there again of calls that are open', async () => {
    let filler = 0;
    await using harness = await RecordHarness.start(
      {
        handlers: {
          version: (_call, reply) => reply(null, { ...version, runtimeVersion: noise(filler++) }),
          status: () => undefined,
        },
      },
      { maxBytes: 2 ** 20, whenFull: 'roll' },
    );
    const hanging = harness.client.status().catch(() => undefined);
    while (harness.proxy.counts.files < 3) {
      await harness.client.version();
      await harness.clock.advance(1);
    }
    const frames = await harness.finish();
    expect(frames[0]).toMatchObject({ kind: 'meta', part: harness.proxy.counts.files - 1 });
    const [open] = frames.filter((frame) => frame.kind === 'begin');
    expect(open).toMatchObject({ call: 1, method: '/runtime.v1.RuntimeService/Status' });
    expect(open!.at).toBeLessThan(0);
    expect((await readRecording(`${harness.file}.1`)).at(-1)).toMatchObject({
      kind: 'close',
      reason: 'rolled',
    });
    const sizes = await Promise.all(['', '.1'].map((end) => stat(`${harness.file}${end}`)));
    expect(sizes[0]!.size + sizes[1]!.size).toBeLessThanOrEqual(2 ** 20);
    harness.client.close();
    await hanging;
  });

  it('leaves a file that is there alone, unless it is told to replace it', async () => {
    await using harness = await RecordHarness.start({});
    const file = `${harness.file}.other`;
    await writeFile(file, 'precious');
    await expect(RecordHarness.start({}, { file })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('exists already') as string,
    });
    expect(await readFile(file, 'utf8')).toBe('precious');
    await using replacing = await RecordHarness.start({}, { file, replace: true });
    expect((await replacing.finish())[0]).toMatchObject({ kind: 'meta' });
    await writeFile(`${harness.file}.2.1`, 'precious, too');
    const rolls = { file: `${harness.file}.2`, whenFull: 'roll' } as const;
    await expect(RecordHarness.start({}, rolls)).rejects.toThrow(
      'the older part of the recording is to be there',
    );
    await mkdir(`${harness.file}.3`);
    const folder = RecordHarness.start({}, { file: `${harness.file}.3`, replace: true });
    await expect(folder).rejects.toThrow('it is there and is no file');
  });

  it('leaves no file behind when it cannot listen, and those alone that it was to replace', async () => {
    await using harness = await RecordHarness.start({});
    const folder = dirname(harness.file);
    const before = await readdir(folder);
    const options = { upstream: harness.server.endpoint, listen: harness.proxy.endpoint };
    const second = RecordProxy.start({ ...options, file: join(folder, 'second') });
    await expect(second).rejects.toMatchObject({ code: 'ENDPOINT_IN_USE' });
    expect(await readdir(folder)).toEqual(before);
    for (const name of ['third', 'third.1']) await writeFile(join(folder, name), 'precious');
    const replacing = { file: join(folder, 'third'), replace: true, whenFull: 'roll' } as const;
    const third = RecordProxy.start({ ...options, ...replacing });
    await expect(third).rejects.toMatchObject({ code: 'ENDPOINT_IN_USE' });
    expect((await readdir(folder)).filter((name) => !before.includes(name)).sort()).toEqual([
      'third',
      'third.1',
    ]);
    for (const name of ['third', 'third.1'])
      expect(await readFile(join(folder, name), 'utf8')).toBe('precious');
  });

  it('makes the folder of its file', async () => {
    await using base = await RecordHarness.start({});
    const file = `${base.file}.folder/with/parts/node.plrec`;
    await using harness = await RecordHarness.start({}, { file });
    expect((await harness.finish())[0]).toMatchObject({ kind: 'meta' });
  });

  it('leaves no older part of another recording beside its own', async () => {
    await using harness = await RecordHarness.start({});
    const file = `${harness.file}.other`;
    for (const name of [file, `${file}.1`]) await writeFile(name, 'worthless');
    await using replacing = await RecordHarness.start({}, { file, replace: true, whenFull: 'roll' });
    await expect(stat(`${file}.1`)).rejects.toThrow('ENOENT');
    expect((await replacing.finish())[0]).toMatchObject({ kind: 'meta' });
    await mkdir(`${file}.2.1`);
    const folder = RecordHarness.start({}, { file: `${file}.2`, replace: true, whenFull: 'roll' });
    await expect(folder).rejects.toThrow('other.2.1 cannot be written: it is there and is no file');
  });
});

/** A text that cannot be packed, another one for each number. */
function noise(number: number): string {
  let [state, text] = [number + 1, ''];
  for (let i = 0; i < 4_000; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += state.toString(36);
  }
  return text;
}
