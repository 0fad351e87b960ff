import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CriClient } from '../../watch/cri/client.js';
import {
  ListContainersResponse,
  ListPodSandboxResponse,
  StatusResponse,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { GrpcMessage } from '../relay/index.js';
import { FakeClock } from '#testing/fake-clock.js';
import { readRecording } from '#support/harness/record-harness.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { ReplayServer, summarizeRecording } from './index.js';
import { RECORDED_METHODS } from './recorded-method.js';
import { Recorder } from './recorder.js';
import { LARGEST_MESSAGE } from './recording-format.js';
import { RecordingParts } from './recording-parts.js';
import { STRICT_RULES } from './redaction/redaction-rules.js';

const SANDBOXES = Buffer.from(
  ListPodSandboxResponse.encode(ListPodSandboxResponse.fromPartial({ items: [{ id: 's' }] })).finish(),
);
const CONTAINERS = Buffer.from(
  ListContainersResponse.encode(
    ListContainersResponse.fromPartial({ containers: [{ id: 'c', podSandboxId: 's' }] }),
  ).finish(),
);
const STATUS = Buffer.from(
  StatusResponse.encode(
    StatusResponse.fromPartial({ status: { conditions: [{ type: 'RuntimeReady' }] } }),
  ).finish(),
);

let folder: string;
let path: string;
let clock: FakeClock;
let parts: RecordingParts;
let lastCall = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-incomplete-'));
  path = join(folder, 'r.plrec');
  clock = new FakeClock();
  parts = await RecordingParts.create({
    ...{ path, replace: false, maxBytes: 2 ** 20, whenFull: 'stop', clock },
    meta: { podloop: '0', mode: 'relay', upstream: 'unix:///x', rules: STRICT_RULES },
  });
});

afterEach(async () => {
  await parts.close({ calls: 0, redacted: 0, unknownFields: 0, unreadable: 0 }, 'stopped', 0);
  await rm(folder, { recursive: true, force: true });
});

/** A call that is answered with success, and what is recorded of its messages; a second later it is later. */
async function answer(
  method: string,
  messages: readonly (Buffer | undefined)[],
  how: { readonly missing?: number } = {},
): Promise<void> {
  const [call, now] = [++lastCall, clock.monotonicMs()];
  const frame = { call, method: `/runtime.v1.RuntimeService/${method}`, connection: 1 };
  await parts.begin(frame, now, Buffer.alloc(0));
  for (const message of messages) await parts.message(call, now, message);
  await parts.end(call, now, { code: 0, ...how });
  await clock.advance(1_000);
}

/** What a replay at its last moment says. */
async function replayEnd(ask: (client: CriClient) => Promise<unknown>): Promise<unknown> {
  await parts.close(
    { calls: lastCall, redacted: 0, unknownFields: 0, unreadable: 0 },
    'stopped',
    clock.monotonicMs(),
  );
  const fromMs = (await summarizeRecording(path)).durationMs;
  const listen = `unix://${join(folder, 'replay.sock')}`;
  await using replay = await ReplayServer.start({ file: path, listen, clock: new FakeClock(), fromMs });
  const client = new CriClient({ endpoint: replay.endpoint });
  try {
    return await ask(client);
  } finally {
    client.close();
  }
}

const idsOf = async (client: CriClient): Promise<string[]> => [
  ...(await client.listPodSandbox()).items.map(({ id }) => id),
  ...(await client.listContainers()).containers.map(({ id }) => id),
];

describe('an answer of which something is missing', () => {
  it.each<[string, () => Promise<void>]>([
    ['that was too large', () => answer('ListContainers', [undefined])],
    ['that was lost', () => answer('ListContainers', [], { missing: 1 })],
    ['that was lost by a podloop that did not count it', () => answer('ListContainers', [])],
    ['of which a half is there', () => answer('StreamContainers', [Buffer.alloc(0)], { missing: 1 })],
  ])('does not empty the node: a list %s', async (_what, loseList) => {
    await answer('ListPodSandbox', [SANDBOXES]);
    await answer('ListContainers', [CONTAINERS]);
    await loseList();
    await answer('ListPodSandbox', [undefined]);
    expect(await replayEnd(idsOf)).toEqual(['s', 'c']);
  });

  it('empties it when the answer was that there is nothing', async () => {
    await answer('ListPodSandbox', [SANDBOXES]);
    await answer('ListContainers', [CONTAINERS]);
    await answer('StreamContainers', []);
    await answer('ListPodSandbox', [Buffer.alloc(0)]);
    expect(await replayEnd(idsOf)).toEqual([]);
  });

  it('leaves what was answered before', async () => {
    await answer('Status', [STATUS]);
    await answer('Status', [undefined]);
    const conditions = async (client: CriClient): Promise<unknown> =>
      (await client.status()).status?.conditions.map(({ type }) => type);
    expect(await replayEnd(conditions)).toEqual(['RuntimeReady']);
  });
});

describe('a recorder that gets too much', () => {
  const method = RECORDED_METHODS.get('/runtime.v1.RuntimeService/ListContainers')!;
  const small = GrpcMessage.of(CONTAINERS);
  const huge = new GrpcMessage(new Array<Buffer>(4).fill(Buffer.alloc(LARGEST_MESSAGE)));

  it('says of a call how many messages of its answer are missing', async () => {
    const recorder = new Recorder({
      parts,
      rules: STRICT_RULES,
      clock,
      logger: SILENT_LOGGER,
      onEnded: () => undefined,
    });
    const atMs = clock.monotonicMs();
    const call = recorder.begin({ method, atMs, connection: 1, timeout: undefined, request: huge })!;
    recorder.message(call, method, atMs, small);
    recorder.message(call, method, atMs, small);
    recorder.end(call, method, atMs, { code: 0 });
    await recorder.close();
    expect(recorder.counts).toMatchObject({ lost: 2, unreadable: 1 });
    const frames = await readRecording(path);
    expect(frames.find(({ kind }) => kind === 'end')).toMatchObject({ code: 0, missing: 2 });
    expect(frames.find(({ kind }) => kind === 'lost')).toMatchObject({ messages: 2 });
  });

  it.each(['stop', 'roll'] as const)('takes none for hung while it is behind (%s)', async (whenFull) => {
    const file = join(folder, 'behind');
    const slow = await RecordingParts.create({
      ...{ path: file, replace: false, maxBytes: 2 ** 20, whenFull, clock },
      meta: { podloop: '0', mode: 'relay', upstream: 'unix:///x', rules: STRICT_RULES },
    });
    const recorder = new Recorder({
      ...{ parts: slow, rules: STRICT_RULES, clock, logger: SILENT_LOGGER, onEnded: () => undefined },
    });
    const atMs = clock.monotonicMs();
    const call = recorder.begin({ method, atMs, connection: 1, timeout: undefined, request: small })!;
    for (let i = 0; i < 30; i++) {
      const image = randomBytes(25_000).toString('hex');
      const list = ListContainersResponse.fromPartial({ containers: [{ id: 'c', image: { image } }] });
      recorder.message(call, method, atMs, GrpcMessage.of(ListContainersResponse.encode(list).finish()));
    }
    const closed = recorder.close();
    clock.stall(30_000);
    await closed;
    expect(slow.parts).toBe(whenFull === 'roll' ? 2 : 1);
    for (const name of whenFull === 'roll' ? [file, `${file}.1`] : [file])
      expect(await summarizeRecording(name)).toMatchObject({ durationMs: 0, hangs: [] });
  });

  it('keeps of an error that has no end as much as can be read', async () => {
    const recorder = new Recorder({
      parts,
      rules: STRICT_RULES,
      clock,
      logger: SILENT_LOGGER,
      onEnded: () => undefined,
    });
    const atMs = clock.monotonicMs();
    const call = recorder.begin({ method, atMs, connection: 1, timeout: undefined, request: small })!;
    recorder.end(call, method, atMs, { code: 2, message: 'no '.repeat(2 ** 20) });
    await recorder.close();
    const [error] = (await summarizeRecording(path)).errors;
    expect(error!.message).toMatch(/^no no .*… \(\d+ more characters\)$/);
    expect(error!.message.length).toBeLessThan(20_000);
  });
});
