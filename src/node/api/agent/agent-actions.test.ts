import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { containerActions } from './agent-actions.js';

it('has each checkpoint kept in a file of its own, in a folder for its owner alone, for two minutes at least', async () => {
  const rootDir = await mkdtemp(join(tmpdir(), 'podloop-checkpoints-'));
  try {
    const clock = new FakeClock({ nowMs: Date.UTC(2026, 10, 23, 12) });
    const asked: unknown[] = [];
    const actions = containerActions({
      ...{ rootDir, clock },
      client: {
        execSync: async () => Promise.reject(new Error('not asked for')),
        checkpointContainer: async (request) => {
          asked.push(request);
          return Promise.resolve({});
        },
      },
    });
    const container = { pod: { uid: 'u', namespace: 'ns', name: 'web' }, name: 'main', id: 'c1' };
    const first = await actions.checkpoint(container, 0);
    await clock.advance(1);
    const second = await actions.checkpoint(container, 300);
    const folder = join(rootDir, 'checkpoints');
    expect([first, second]).toEqual([
      join(folder, 'checkpoint-web_ns-main-2026-11-23T12:00:00.000Z.tar'),
      join(folder, 'checkpoint-web_ns-main-2026-11-23T12:00:00.001Z.tar'),
    ]);
    expect(asked).toEqual([
      { containerId: 'c1', location: first, timeout: 120n },
      { containerId: 'c1', location: second, timeout: 300n },
    ]);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  } finally {
    await rm(rootDir, { recursive: true });
  }
});
