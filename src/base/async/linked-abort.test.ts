import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { linkAbort } from './linked-abort.js';

describe('a linked abort', () => {
  it('follows its parent, with the same reason', () => {
    const parent = new AbortController();
    const linked = linkAbort(parent.signal);
    const reason = new Error('enough');
    parent.abort(reason);
    expect(linked.signal.reason).toBe(reason);
  });

  it('is aborted from the start if its parent is', () => {
    const reason = new Error('before');
    expect(linkAbort(AbortSignal.abort(reason)).signal.reason).toBe(reason);
  });

  it('aborts alone, and its parent does not', () => {
    const parent = new AbortController();
    const linked = linkAbort(parent.signal);
    linked.abort(new Error('only this one'));
    expect([linked.signal.aborted, parent.signal.aborted]).toEqual([true, false]);
  });

  it('leaves no listener on its parent once unlinked', () => {
    const parent = new AbortController();
    const linked = linkAbort(parent.signal);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
    linked.unlink();
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
    parent.abort();
    expect(linked.signal.aborted).toBe(false);
  });

  it('works without a parent', () => {
    const linked = linkAbort(undefined);
    linked.unlink();
    linked.abort();
    expect(linked.signal.aborted).toBe(true);
  });
});
