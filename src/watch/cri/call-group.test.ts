import { describe, expect, it } from 'vitest';

import { CallGroup } from './call-group.js';

/** A call that runs until it is cancelled. */
function callIn(group: CallGroup): Promise<never> {
  group.throwIfGivenUp();
  return new Promise((_, reject) => group.join(reject));
}

describe('calls that belong together', () => {
  it('cancels the others as soon as one fails, and rejects with that failure', async () => {
    const failure = new Error('one failed');
    let other: Promise<never> | undefined;
    let late: (() => Promise<never>) | undefined;
    const run = CallGroup.run(undefined, async (group) => {
      other = callIn(group);
      late = () => callIn(group);
      return Promise.race([other, Promise.reject(failure)]);
    });
    await expect(run).rejects.toBe(failure);
    await expect(other).rejects.toBe(failure);
    expect(late).toThrow(failure);
  });

  it('cancels all when the signal aborts, with its reason', async () => {
    const controller = new AbortController();
    const calls: Promise<never>[] = [];
    const run = CallGroup.run(controller.signal, (group) => {
      calls.push(callIn(group), callIn(group));
      return Promise.all(calls);
    });
    controller.abort('enough');
    await expect(run).rejects.toBe('enough');
    for (const call of calls) await expect(call).rejects.toBe('enough');
  });

  it('starts nothing when the signal has already aborted', async () => {
    let begun = 0;
    const run = CallGroup.run(AbortSignal.abort('before'), () => Promise.resolve(begun++));
    await expect(run).rejects.toBe('before');
    expect(begun).toBe(0);
  });

  it('leaves a finished call alone, and recognizes its own reason', async () => {
    const controller = new AbortController();
    let told = 0;
    let group: CallGroup | undefined;
    const run = CallGroup.run(controller.signal, (its) => {
      group = its;
      const giveUp = (): number => told++;
      its.join(giveUp);
      its.leave(giveUp);
      return callIn(its);
    });
    const reason = new Error('stop');
    expect(group!.wasGivenUpFor(reason)).toBe(false);
    controller.abort(reason);
    await expect(run).rejects.toBe(reason);
    expect(told).toBe(0);
    expect(group!.wasGivenUpFor(reason)).toBe(true);
    expect(group!.wasGivenUpFor(new Error('stop'))).toBe(false);
  });

  it('stops listening to the signal once it has run', async () => {
    const controller = new AbortController();
    let group: CallGroup | undefined;
    await CallGroup.run(controller.signal, (its) => Promise.resolve((group = its)));
    controller.abort('later');
    expect(group!.wasGivenUpFor('later')).toBe(false);
  });
});
