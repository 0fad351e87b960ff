import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { PulledImages } from './pulled-images.js';

const MINUTE = 60_000;
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-pulled-'));
  path = join(folder, 'pulled.json');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A record of a and b, and lists that show some images, of which a few are in use. */
async function lab() {
  const clock = new FakeClock();
  const pulled = await PulledImages.open(path, clock);
  for (const id of ['a', 'b']) await pulled.add(id, clock.now());
  const look = async (present: string[], inUse: string[] = []): Promise<string[]> => {
    const seen = { present: new Set(present), inUse: new Set(inUse) };
    await pulled.observe({ ...seen, known: pulled.all(), nowMs: clock.now() });
    return idsOf(pulled);
  };
  /** What an agent that starts now reads. */
  const kept = async (): Promise<string[]> => idsOf(await PulledImages.open(path, clock));
  return { clock, pulled, look, kept };
}

function idsOf(pulled: PulledImages): string[] {
  return [...pulled.all()].map(({ id }) => id).sort();
}

describe('the record of images that we fetched', () => {
  it('forgets what two looks in a row have missed, some minutes apart', async () => {
    const { clock, look, kept } = await lab();
    expect(await look(['b', 'other'])).toEqual(['b']);
    expect(await kept()).toEqual(['a', 'b']);
    await clock.advance(MINUTE);
    await look(['b']);
    expect(await kept()).toEqual(['a', 'b']);
    await clock.advance(4 * MINUTE);
    expect(await look(['b'])).toEqual(['b']);
    expect(await kept()).toEqual(['b']);
    expect(await look(['a', 'b'])).toEqual(['b']);
  });

  it('has again what one look has missed and the next one shows, with when it was last used', async () => {
    const { clock, pulled, look, kept } = await lab();
    await look(['a', 'b'], ['a']);
    const [before] = pulled.all().filter(({ id }) => id === 'a');
    await clock.advance(5 * MINUTE);
    expect(await look(['b'])).toEqual(['b']);
    await clock.advance(5 * MINUTE);
    expect(await look(['a', 'b'])).toEqual(['a', 'b']);
    expect(pulled.all()).toContainEqual(before);
    await clock.advance(5 * MINUTE);
    await look(['b']);
    await clock.advance(5 * MINUTE);
    await look(['a', 'b'], ['a']);
    expect(pulled.all()).toContainEqual({ ...before, lastUsedAtMs: clock.now() });
    expect(await kept()).toEqual(['a', 'b']);
  });

  it('starts over after a list that has shown it', async () => {
    const { clock, look, kept } = await lab();
    for (const present of [['b'], ['a', 'b'], ['b']]) {
      await look(present);
      await clock.advance(5 * MINUTE);
    }
    expect(await kept()).toEqual(['a', 'b']);
  });

  it('forgets nothing for looks that show nothing at all', async () => {
    const { clock, look, kept } = await lab();
    for (let count = 1; count <= 3; count++) {
      expect(await look([])).toEqual(['a', 'b']);
      await clock.advance(5 * MINUTE);
    }
    expect(await kept()).toEqual(['a', 'b']);
  });

  it('has an image again that was pulled again after a list had missed it', async () => {
    const { clock, pulled, look, kept } = await lab();
    await look(['b']);
    await clock.advance(5 * MINUTE);
    await pulled.add('a', clock.now());
    expect(pulled.all()).toContainEqual({ id: 'a', pulledAtMs: clock.now() });
    expect(await look(['b'])).toEqual(['b']);
    expect(await kept()).toEqual(['a', 'b']);
  });

  it('has no more what was removed', async () => {
    const { clock, pulled, kept } = await lab();
    await clock.advance(MINUTE);
    for (const id of ['a', 'unknown']) await pulled.forget(id, clock.now());
    expect(idsOf(pulled)).toEqual(['b']);
    expect(await kept()).toEqual(['b']);
  });

  it('has what was fetched again since it was removed', async () => {
    const { clock, pulled } = await lab();
    const removedAtMs = clock.now();
    await clock.advance(1_000);
    await pulled.add('a', clock.now());
    await clock.advance(1_000);
    await pulled.forget('a', removedAtMs);
    expect(pulled.has('a')).toBe(true);
  });

  it('does not have again what was removed with a look that shows it once more', async () => {
    const { clock, pulled, look } = await lab();
    await clock.advance(MINUTE);
    await look(['b']);
    await pulled.forget('a', clock.now());
    expect(await look(['a', 'b'])).toEqual(['b']);
  });
});
