import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../watch/cri/client.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ReplayServer, summarizeRecording } from './index.js';
import { RecordingParts } from './recording-parts.js';
import { STRICT_RULES } from './redaction/redaction-rules.js';

const METHODS = [
  'ListPodSandbox',
  'ListContainers',
  'ContainerStatus',
  'PodSandboxStatus',
  'GetContainerEvents',
];

let folder: string;
let files = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-hostile-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Exchange {
  readonly method: string;
  readonly request: Uint8Array;
  readonly answer: Uint8Array;
}

/** A recording whose frames are right, and whose messages are what a test likes. */
async function write(exchanges: readonly Exchange[]): Promise<string> {
  const path = join(folder, `${files++}.plrec`);
  const clock = new FakeClock();
  const parts = await RecordingParts.create({
    ...{ path, replace: false, maxBytes: 2 ** 20, whenFull: 'stop', clock },
    meta: { podloop: '0', mode: 'relay', upstream: 'unix:///x', rules: STRICT_RULES },
  });
  for (const [call, { method, request, answer }] of exchanges.entries()) {
    const now = clock.monotonicMs();
    const frame = { call, method: `/runtime.v1.RuntimeService/${method}`, connection: 1 };
    await parts.begin(frame, now, Buffer.from(request));
    await parts.message(call, now, Buffer.from(answer));
    await parts.end(call, now, { code: 0 });
  }
  await parts.close(
    { calls: exchanges.length, redacted: 0, unknownFields: 0, unreadable: 0 },
    'stopped',
    clock.monotonicMs(),
  );
  return path;
}

/** The code of a call's error; OK when there was none. */
async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'OK',
    (error: unknown) => (error as { code: string }).code,
  );
}

describe('a recording whose messages are none', () => {
  it('is replayed as one that tells nothing there, and ends nobody', async () => {
    const exchange = fc.record({
      method: fc.constantFrom(...METHODS),
      request: fc.uint8Array({ maxLength: 12 }),
      answer: fc.uint8Array({ maxLength: 24 }),
    });
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(exchange, { minLength: 1, maxLength: 6 }), async (exchanges) => {
        const file = await write(exchanges);
        expect((await summarizeRecording(file)).methods.length).toBeGreaterThan(0);
        const listen = `unix://${join(folder, 'replay.sock')}`;
        await using replay = await ReplayServer.start({ file, listen, clock: new FakeClock() });
        const client = new CriClient({ endpoint: replay.endpoint });
        try {
          for (const code of await Promise.all([
            codeOf(client.listPodSandbox()),
            codeOf(client.listContainers()),
            codeOf(client.containerStatus({ containerId: 'x' })),
            codeOf(client.podSandboxStatus({ podSandboxId: 'x' })),
          ])) {
            seen.add(code);
          }
          expect((await client.version()).runtimeName).toBe('podloop-replay');
        } finally {
          client.close();
        }
        await rm(file);
      }),
      { numRuns: 60 },
    );
    const expected = ['OK', 'CRI_UNIMPLEMENTED', 'CRI_NOT_FOUND'];
    expect([...seen].filter((code) => !expected.includes(code))).toEqual([]);
  });
});
