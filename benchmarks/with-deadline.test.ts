import { once } from 'node:events';
import { expect, it } from 'vitest';
import { withDeadline } from './with-deadline.js';

const forEver = async (signal: AbortSignal): Promise<void> => {
  await once(new EventTarget(), 'never', { signal });
};

it('says what was waited for', async () => {
  await expect(withDeadline('until pigs fly', 10, new AbortController().signal, forEver)).rejects.toThrow(
    'waited 0.01 s until pigs fly',
  );
});

it('gives what comes in time, and the reason of whoever ended it before', async () => {
  const stop = new AbortController();
  await expect(
    withDeadline('for it', 60_000, stop.signal, async () => await Promise.resolve(7)),
  ).resolves.toBe(7);
  const waiting = withDeadline('for ever', 60_000, stop.signal, forEver);
  stop.abort(new Error('Ctrl-C'));
  await expect(waiting).rejects.not.toThrow('waited');
});
