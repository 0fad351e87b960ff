import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type ProbeResult } from './probe-result.js';
import { ProbeResults } from './probe-results.js';

function aResult(containerId: string, result: 'success' | 'failure' = 'success'): ProbeResult {
  return { podUid: 'uid-web', containerId, containerName: 'main', type: 'readiness', result, message: '' };
}

const open = (onClose = (): void => undefined) => new ProbeResults({ clock: new FakeClock(), onClose });

describe('results that nobody has read yet', () => {
  it('come in their order, the newest of each container only', () => {
    const results = open();
    for (const result of [aResult('a'), aResult('b'), aResult('a', 'failure')]) results.push(result);
    expect([results.queued, results.folded]).toEqual([2, 1]);
    expect([results.take(), results.take(), results.take()]).toEqual([
      aResult('b'),
      aResult('a', 'failure'),
      undefined,
    ]);
  });

  it('are read as they come, until the end', async () => {
    let closed = 0;
    const results = open(() => closed++);
    const read: string[] = [];
    const reading = (async () => {
      for await (const { containerId } of results) read.push(containerId);
    })();
    results.push(aResult('a'));
    await expect.poll(() => read).toEqual(['a']);
    results.push(aResult('b'));
    results.close();
    results.close();
    results.push(aResult('late'));
    await reading;
    expect([read, closed]).toEqual([['a', 'b'], 1]);
  });

  it('end when their reader leaves', async () => {
    let closed = 0;
    const results = open(() => closed++);
    results.push(aResult('a'));
    for await (const _ of results) break;
    expect(closed).toBe(1);
  });

  it('have one reader', async () => {
    const results = open();
    const first = results[Symbol.asyncIterator]();
    const waiting = first.next();
    await expect(results[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'SUBSCRIPTION_IN_USE',
    });
    results.push(aResult('a'));
    expect((await waiting).value).toEqual(aResult('a'));
    await first.return(undefined);
  });
});
