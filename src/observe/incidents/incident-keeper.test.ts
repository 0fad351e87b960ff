import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Finding, type FindingCode } from '#doctor';
import { type Incident, IncidentStore } from '#history';
import { type RecordedFrame, RecordingFile, ReplayServer } from '#proxy/record';
import { aNode } from '#support/builders/node-facts-builder.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { cri, CriClient, GrpcStatusError } from '#watch';
import { toCutOffRecords } from '../findings/finding-records.js';
import { FindingTracker } from '../findings/finding-tracker.js';
import { CallRing } from './call-ring.js';
import { IncidentKeeper, type IncidentRoom } from './incident-keeper.js';

const STATUS = '/runtime.v1.RuntimeService/ContainerStatus';
const SECRET = 'hunter2-and-more';
const MINUTE = 60_000;

async function setUp(isWritable = true, room?: IncidentRoom) {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-incidents-'));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  const rootDir = isWritable ? folder : join(folder, 'a-file', 'below');
  if (!isWritable) await writeFile(join(folder, 'a-file'), '');
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const ring = new CallRing({ clock, maxBytes: 8 * 2 ** 20, maxAgeMs: 5 * MINUTE });
  const tracker = new FindingTracker();
  const cutOff: Incident[] = [];
  const make = async (): Promise<IncidentKeeper> => {
    const keeper = new IncidentKeeper({
      ...{ rootDir, ring, hostRoot: folder, nodeName: 'node', version: '0.1.0', clock, logger },
      ...(room === undefined ? {} : { room }),
      onCutOff: async (incident) => {
        // It is on record before its file says so.
        expect((await new IncidentStore(rootDir).find(incident.id))?.state).toBe('open');
        cutOff.push(incident);
      },
      runtime: () => ({ endpoint: 'unix:///run/cri.sock', name: 'containerd', version: '2.1.9' }),
    });
    await keeper.start();
    return keeper;
  };
  const keeper = await make();
  onTestFinished(async () => keeper[Symbol.asyncDispose]());
  const examineAs = (findings: readonly Finding[]): void => {
    const changes = tracker.update(findings, clock.now());
    keeper.examined({ facts: aNode(), changes }, tracker.active);
  };
  const examineOnly = (...codes: readonly FindingCode[]): void => {
    examineAs(
      codes.map((code) => ({
        ...{ code, severity: 'critical', message: `${code} is wrong`, evidence: [], remedy: 'mend it' },
      })),
    );
  };
  const examine = async (...codes: readonly FindingCode[]): Promise<void> => {
    examineOnly(...codes);
    await keeper.settled();
  };
  /** A status whose answer has a secret. */
  const call = (id: string, error?: GrpcStatusError, message = ''): void => {
    const request = cri.ContainerStatusRequest.encode(
      cri.ContainerStatusRequest.fromPartial({ containerId: id }),
    );
    const sent = ring.sent(STATUS, request.finish());
    const answer = cri.ContainerStatusResponse.fromPartial({
      status: { id, annotations: { password: SECRET }, metadata: { name: 'main' }, message },
    });
    if (error === undefined) sent.message(Buffer.from(cri.ContainerStatusResponse.encode(answer).finish()));
    sent.ended(error);
  };
  return {
    rootDir,
    clock,
    logger,
    keeper,
    make,
    examine,
    examineAs,
    examineOnly,
    call,
    cutOff,
    store: new IncidentStore(rootDir),
  };
}

describe('an incident on the disk', () => {
  it('has the calls from before it, those while it lasted, and none from after it, without secrets', async () => {
    const { clock, keeper, examine, call, store } = await setUp();
    call('before');
    await clock.advance(MINUTE);
    await examine('ListHangs');
    call('while');
    call('failing', new GrpcStatusError(14, 'the runtime is gone'));
    await clock.advance(MINUTE);
    await examine();
    await examine();
    await clock.advance(3 * MINUTE);
    call('at the end');
    await examine();
    call('after');
    await keeper.settled();

    const [incident] = (await store.list()).items;
    expect(incident).toMatchObject({
      id: 1,
      state: 'over',
      gaps: [],
      findings: [{ code: 'ListHangs', spells: 1 }],
    });
    expect(Date.parse(incident!.recordedFrom)).toBe(Date.parse(incident!.beganAt) - MINUTE);
    const bytes = await readFile(store.recordingOf(1));
    await using file = await RecordingFile.open(store.recordingOf(1));
    const frames: RecordedFrame[] = [];
    for await (const block of file.readFrames()) frames.push(...block);
    const begins = frames.filter(({ kind }) => kind === 'begin');
    expect(begins.map((frame) => Math.round(('at' in frame ? frame.at : 0) / 1_000_000))).toEqual([
      0, 60, 60, 300,
    ]);
    expect(frames.filter(({ kind }) => kind === 'end')).toMatchObject([
      { code: 0 },
      { code: 0 },
      { code: 14, message: 'the runtime is gone' },
      { code: 0 },
    ]);
    expect(frames.at(-1)).toMatchObject({ kind: 'close', reason: 'stopped' });
    const blobs = await Promise.all(
      frames.flatMap((frame) => (frame.kind === 'blob' ? [file.readBlob(frame.blob)] : [])),
    );
    expect(Buffer.concat([bytes, ...blobs]).includes(SECRET)).toBe(false);
  });

  it('has each call once, however many are from before it, and those that come while these are written', async () => {
    const { keeper, examineOnly, call, store } = await setUp();
    for (let at = 0; at < 400; at++) call(`before-${at}`, undefined, `${at}`.repeat(5_000));
    examineOnly('ListHangs');
    for (let at = 0; at < 40; at++) {
      call(`while-${at}`);
      await nextTurn();
    }
    await keeper.settled();
    await keeper[Symbol.asyncDispose]();
    await using file = await RecordingFile.open(store.recordingOf(1));
    const frames: RecordedFrame[] = [];
    for await (const block of file.readFrames()) frames.push(...block);
    for (const kind of ['begin', 'message', 'end']) {
      const calls = frames.flatMap((frame) => (frame.kind === kind && 'call' in frame ? [frame.call] : []));
      expect([calls.length, new Set(calls).size]).toEqual([440, 440]);
    }
  });

  it('is a recording that replays: a client finds the answers of then', async () => {
    const { clock, keeper, examine, call, store } = await setUp();
    call('one');
    await examine('ListHangs');
    await clock.advance(2_000);
    await keeper[Symbol.asyncDispose]();
    const listen = `unix://${store.folder}/replay.sock`;
    await using replay = await ReplayServer.start({ file: store.recordingOf(1), listen });
    await using client = new CriClient({ endpoint: replay.endpoint });
    const { status } = await client.containerStatus({ containerId: 'one' });
    expect([status?.id, status?.metadata?.name]).toEqual(['one', 'main']);
    expect(status?.annotations).toEqual({ password: '[redacted]' });
  });

  it('has samples from before and while it lasted', async () => {
    const { clock, keeper, examine, store } = await setUp();
    const checked = (): void =>
      keeper.checked(
        {
          health: { healthy: true, listInFlightMs: undefined, stuckPodCount: 0 },
          ...{ isConnected: true, longestListMs: 1, usualListMs: 1, ioFull: 3, memoryFull: 0 },
          isKubeletHealthy: undefined,
          stoppedShims: 0,
          stoppedDaemons: 0,
          longOciCalls: 0,
        },
        { callsInFlight: [] },
      );
    checked();
    await examine('DiskFull');
    await clock.advance(5_000);
    checked();
    await keeper.settled();
    const text = await readFile(store.samplesOf(1), 'utf8');
    const samples = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; ioFull?: number });
    expect(samples.map(({ kind }) => kind)).toEqual(['check', 'examination', 'check']);
    expect(samples[0]).toMatchObject({ ioFull: 3, callsInFlight: [] });
  });

  it.for([
    ['the same', 'containerd-shim', 'containerd-shim-runc (pid 7) goes on'],
    ['gone', undefined, 'containerd-shim-runc (pid 7) has ended'],
    ['another, whose pid it has', 'sleep', 'containerd-shim-runc (pid 7) has ended'],
  ] as const)('says what became of the process: %s', async ([, comm, ending]) => {
    const { rootDir, clock, keeper, examineAs, store } = await setUp();
    const finding = { code: 'ShimStopped', severity: 'critical', message: 'it is stopped' } as const;
    const process = { pid: 7, command: 'containerd-shim-runc' };
    examineAs([{ ...finding, process, evidence: [], remedy: 'kill -CONT 7' }]);
    await mkdir(join(rootDir, 'proc/7'), { recursive: true });
    if (comm !== undefined) await writeFile(join(rootDir, 'proc/7/comm'), `${comm}\n`);
    await clock.advance(MINUTE);
    examineAs([]);
    examineAs([]);
    await keeper.settled();
    expect((await store.find(1))?.findings).toMatchObject([{ code: 'ShimStopped', ending }]);
  });

  it('is cut off when its observer ends, and the next one says so and goes on counting', async () => {
    const { clock, keeper, make, examine, call, cutOff, store } = await setUp();
    call('before');
    await examine('ListHangs');
    // As after a kill: nothing was closed, and the calls from before are there.
    await using file = await RecordingFile.open(store.recordingOf(1));
    const kinds: string[] = [];
    for await (const block of file.readFrames()) kinds.push(...block.map(({ kind }) => kind));
    expect(kinds).toEqual(['meta', 'blob', 'begin', 'blob', 'message', 'end']);
    await keeper[Symbol.asyncDispose]();
    await clock.advance(MINUTE);
    const next = await make();
    expect(await store.find(1)).toMatchObject({
      state: 'cut off',
      gaps: [
        expect.stringContaining('the observer ended before the incident did'),
        expect.stringContaining('the next observer began at'),
      ],
    });
    expect((await store.find(1))?.lastSeenAt).toBeDefined();
    expect((await store.find(1))?.findings).toMatchObject([
      {
        code: 'ListHangs',
        ending: expect.stringMatching(/^the observer stopped; the end was not seen/) as string,
      },
    ]);
    expect(cutOff.map(({ id }) => id)).toEqual([1]);
    expect(toCutOffRecords(cutOff[0]!, clock.now())).toMatchObject([
      {
        ...{ kind: 'finding', type: 'Normal', reason: 'ListHangs' },
        message: expect.stringMatching(/^The observer stopped; .*: ListHangs is wrong$/) as string,
        details: { state: 'cut off', incident: 1 },
      },
    ]);
    const changes = new FindingTracker().update(
      [{ code: 'DiskFull', severity: 'warning', message: '', evidence: [], remedy: '' }],
      clock.now(),
    );
    next.examined({ facts: aNode(), changes }, changes.began);
    await next.settled();
    expect((await next.list()).items.map(({ id }) => id)).toEqual([1, 2]);
    await next[Symbol.asyncDispose]();
  });

  it('stays in memory while nothing can be written, and says so once', async () => {
    const { keeper, examine, logger } = await setUp(false);
    await examine('ListHangs');
    await examine('ListHangs', 'DiskFull');
    expect((await keeper.list()).items).toMatchObject([
      {
        findings: [{ code: 'ListHangs' }, { code: 'DiskFull' }],
        gaps: [expect.stringContaining('could not be recorded')],
      },
    ]);
    expect(await keeper.find(1)).toMatchObject({ state: 'open' });
    const failures = logger.lines.filter(({ message }) => message.includes('cannot be written'));
    expect(failures).toHaveLength(1);
  });
});

it.each([
  {
    what: 'calls',
    room: { recordingBytes: 8_192, samplesBytes: 2 ** 20 },
    gap: 'its calls are not recorded to the end: it has the size that it may have',
  },
  {
    what: 'measurements',
    room: { recordingBytes: 2 ** 20, samplesBytes: 100 },
    gap: 'measurements are missing, as they take more room than an incident may have',
  },
])('one whose $what have more than their room says so', async ({ room, gap }) => {
  const { clock, examine, call, keeper, store } = await setUp(true, room);
  await examine('ListHangs');
  for (let at = 0; at < 500; at++) call(randomBytes(32).toString('hex'));
  await clock.advance(2_000);
  const isNamed = async (): Promise<readonly string[]> => {
    call('another');
    await examine('ListHangs');
    return (await store.find(1))!.gaps;
  };
  await expect.poll(isNamed).toEqual([gap]);
  await keeper[Symbol.asyncDispose]();
});

it('those of observers that were killed again and again are no more than others', async () => {
  const { make, store } = await setUp();
  const runtime = { endpoint: 'unix:///run/cri.sock', name: 'containerd', version: '2.1.9' };
  for (let id = 1; id <= 60; id++)
    await store.create({
      ...{ version: 1, id, state: 'open', node: 'node', podloop: '0.1.0', runtime },
      ...{ beganAt: '2026-01-02T03:00:00.000Z', recordedFrom: '2026-01-02T03:00:00.000Z' },
      ...{ findings: [], recurrences: [], gaps: [] },
    });
  const next = await make();
  expect(await store.ids()).toEqual(Array.from({ length: 50 }, (_, at) => at + 11));
  expect((await next.list()).items.map(({ state }) => state)).not.toContain('open');
  await next[Symbol.asyncDispose]();
});

it('are not counted from the first again where a folder cannot be read', async () => {
  const { rootDir, make } = await setUp();
  await rm(join(rootDir, 'incidents'), { recursive: true, force: true });
  // A link to itself: an error that says nothing of what is there.
  await symlink('incidents', join(rootDir, 'incidents'));
  await expect(make()).rejects.toThrow('ELOOP');
});

it('those that cannot be read are named', async () => {
  const { make, store, logger } = await setUp();
  for (const id of ['1', '2']) await mkdir(join(store.folder, id), { recursive: true });
  await writeFile(join(store.folder, '1', 'incident.json'), '{"version":');
  const next = await make();
  expect(await next.list()).toEqual({
    items: [],
    damaged: [
      { id: 1, why: 'it is no JSON' },
      { id: 2, why: 'incident.json is missing' },
    ],
  });
  expect(logger.complaints.map(({ fields }) => fields['id'])).toEqual([1, 2]);
  await next[Symbol.asyncDispose]();
});

it('a disk that hangs holds nobody up, and the incident is in memory', async () => {
  const { rootDir, clock, keeper, examineOnly, call } = await setUp();
  // Nobody ever reads from it, so that to open it for writing hangs.
  await mkdir(join(rootDir, 'incidents', '1'), { recursive: true });
  const pipe = join(rootDir, 'incidents', '1', 'incident.json.tmp');
  execFileSync('mkfifo', [pipe]);
  // So that in the end the thread that hangs goes on.
  onTestFinished(async () => (await open(pipe, 'r')).close());
  examineOnly('ListHangs');
  await expect.poll(async () => readdir(dirname(pipe))).toContain('samples.jsonl');
  for (let round = 0; round < 500; round++) {
    call(`call-${round}`);
    examineOnly('ListHangs');
  }
  const { items } = await keeper.list();
  expect(items).toMatchObject([{ id: 1, state: 'open', findings: [{ code: 'ListHangs' }] }]);
  expect(items[0]!.gaps).toEqual(['measurements are missing, as the disk did not take them in time']);
  const disposed = keeper[Symbol.asyncDispose]();
  await clock.advance(6_000);
  await disposed;
});

it('a number whose folder a kill left unfinished is given again', async () => {
  const { store, examine } = await setUp();
  await mkdir(join(store.folder, '1.tmp'), { recursive: true });
  await writeFile(join(store.folder, '1.tmp', 'incident.json'), '{"ver');
  expect(await store.list()).toEqual({ items: [], damaged: [] });
  await examine('ListHangs');
  expect((await store.list()).items).toMatchObject([{ id: 1, state: 'open' }]);
  expect(await readdir(store.folder)).toEqual(['1']);
});

it('the store removes the oldest incidents beyond its limits, and keeps the one that lasts', async () => {
  const { store } = await setUp();
  const incident = (id: number): Incident => ({
    ...{ version: 1, id, state: 'over', node: 'node', podloop: '', beganAt: '', recordedFrom: '' },
    ...{ runtime: { endpoint: '', name: '', version: '' }, findings: [], recurrences: [], gaps: [] },
  });
  for (const id of [1, 2, 3, 4]) expect(await store.create(incident(id))).toBe(true);
  expect(await store.create(incident(4))).toBe(false);
  await store.prune({ maxCount: 2, maxBytes: 2 ** 20 }, 1);
  expect(await store.ids()).toEqual([1, 4]);
  await store.prune({ maxCount: 9, maxBytes: 1 }, undefined);
  expect(await store.ids()).toEqual([]);
});
