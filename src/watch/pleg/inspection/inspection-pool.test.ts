import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type InspectionEnd, inspectionEnded } from '#base/channels/pleg-channels.js';
import {
  type Inspection,
  InspectionPool,
  type InspectionHandle,
  type InspectionPoolOptions,
} from './inspection-pool.js';

interface Call {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly answer: (value: string) => void;
  readonly fail: (error: Error) => void;
}

interface Submitted {
  readonly handle: InspectionHandle<string>;
  readonly outcome: { value: string | undefined; error: Error | undefined; budgetEnded: boolean };
}

function setUp(
  limits: Partial<
    Pick<InspectionPoolOptions, 'concurrency' | 'slowLimit' | 'deadlineMs' | 'yieldToLoop'>
  > = {},
) {
  const clock = new FakeClock();
  const pool = new InspectionPool({
    clock,
    concurrency: limits.concurrency ?? 2,
    slowAfterMs: 1_000,
    slowLimit: limits.slowLimit ?? 2,
    deadlineMs: limits.deadlineMs ?? 120_000,
    yieldToLoop: limits.yieldToLoop,
  });
  const begun: Call[] = [];
  const submit = (
    name: string,
    { urgent = false, knownSlow = false, whenIdle = false, run }: Partial<Inspection<string>> = {},
  ): Submitted => {
    const handle = pool.submit<string>({
      pod: { uid: name, namespace: 'default', name },
      urgent,
      knownSlow,
      whenIdle,
      run:
        run ??
        (async (signal) =>
          new Promise((answer, fail) => {
            // Ignores its signal, as a call that hangs in the kernel does.
            begun.push({ name, signal, answer, fail });
          })),
    });
    const outcome: Submitted['outcome'] = { value: undefined, error: undefined, budgetEnded: false };
    handle.result.then(
      (value) => (outcome.value = value),
      (error: unknown) => (outcome.error = error as Error),
    );
    void handle.budgetEnd.then(() => (outcome.budgetEnded = true));
    return { handle, outcome };
  };
  const names = (): string[] => begun.map(({ name }) => name);
  const call = (name: string): Call => begun.findLast((one) => one.name === name)!;
  return { clock, pool, submit, names, call, begun };
}

describe('answers that arrive together', () => {
  it('end one inspection in each turn of the event loop, and its place is taken before the next one ends', async () => {
    const turns: (() => void)[] = [];
    const { clock, submit, names, call } = setUp({
      concurrency: 3,
      yieldToLoop: async () => new Promise<void>((turn) => turns.push(turn)),
    });
    const submitted = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => submit(name));
    for (const name of ['a', 'b', 'c']) call(name).answer('fine');
    const begun: string[][] = [];
    for (let turn = 0; turn < 3; turn++) {
      await clock.settle();
      begun.push(names().slice(3));
      turns.shift()!();
    }
    expect(begun).toEqual([['d'], ['d', 'e'], ['d', 'e', 'f']]);
    await clock.settle();
    expect(submitted.map(({ outcome }) => outcome.value)).toEqual([
      ...['fine', 'fine', 'fine'],
      ...[undefined, undefined, undefined],
    ]);
  });

  it('count as in time while they wait for their turn, and a cancelled one stays cancelled', async () => {
    const turns: (() => void)[] = [];
    const { clock, submit, call } = setUp({
      yieldToLoop: async () => new Promise<void>((turn) => turns.push(turn)),
    });
    const [first, late] = [submit('first'), submit('late')];
    const cancelled = submit('cancelled');
    call('first').answer('fine');
    await clock.settle();
    call('late').answer('fine');
    call('cancelled').answer('fine');
    await clock.settle();
    cancelled.handle.cancel(new Error('stopped'));
    await clock.advance(200_000);
    expect([first.outcome.value, late.outcome.value]).toEqual(['fine', undefined]);
    for (let turn = 0; turn < 3; turn++) {
      turns.shift()?.();
      await clock.settle();
    }
    expect(late.outcome).toMatchObject({ value: 'fine', error: undefined });
    expect(cancelled.outcome).toMatchObject({ value: undefined, error: new Error('stopped') });
    expect(clock.pendingTimers).toBe(0);
  });

  it('are not displaced while they wait for their turn', async () => {
    const turns: (() => void)[] = [];
    const { clock, pool, submit, call } = setUp({
      ...{ concurrency: 1, slowLimit: 1 },
      yieldToLoop: async () => new Promise<void>((turn) => turns.push(turn)),
    });
    const slow = submit('slow');
    await clock.advance(1_000);
    const quick = submit('quick');
    call('quick').answer('fine');
    await clock.settle();
    submit('another');
    call('slow').answer('late, but there');
    await clock.advance(1_000);
    for (let turn = 0; turn < 3; turn++) {
      turns.shift()?.();
      await clock.settle();
    }
    expect([quick.outcome.value, slow.outcome.value]).toEqual(['fine', 'late, but there']);
    expect(pool.displaced).toBe(0);
  });
});

describe('the budget', () => {
  it('has a fixed number of places, and the next inspection begins when one ends', async () => {
    const { clock, pool, submit, names, call } = setUp();
    const first = submit('a');
    submit('b');
    submit('c');
    expect([names(), pool.queued]).toEqual([['a', 'b'], 1]);
    call('a').answer('fine');
    await clock.settle();
    expect(first.outcome).toMatchObject({ value: 'fine', budgetEnded: true });
    expect([names(), pool.queued]).toEqual([['a', 'b', 'c'], 0]);
  });

  it('serves deaths first, then in order of arrival', async () => {
    const { clock, submit, names, call } = setUp({ concurrency: 1 });
    submit('running');
    submit('one');
    submit('two');
    submit('death one', { urgent: true });
    submit('death two', { urgent: true });
    for (const name of ['running', 'death one', 'death two', 'one']) {
      call(name).answer('');
      await clock.settle();
    }
    expect(names()).toEqual(['running', 'death one', 'death two', 'one', 'two']);
  });

  it('moves a waiting pod with a new death to the front, once', async () => {
    const { clock, pool, submit, names, call } = setUp({ concurrency: 1 });
    submit('running');
    submit('one');
    const dying = submit('two');
    dying.handle.hurry();
    dying.handle.hurry();
    expect(pool.queued).toBe(2);
    for (const name of ['running', 'two', 'one']) {
      call(name).answer('');
      await clock.settle();
    }
    dying.handle.hurry();
    expect(names()).toEqual(['running', 'two', 'one']);
    expect(pool.queued).toBe(0);
  });

  it('continues when a run throws before its first await, or rejects with something that is not an error', async () => {
    const { clock, submit, names } = setUp({ concurrency: 1 });
    const thrown = submit('throws', {
      run: () => {
        throw new Error('synchronously');
      },
    });
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what is tested
    const odd = submit('odd', { run: async () => Promise.reject('a string') });
    submit('next');
    await clock.settle();
    expect(thrown.outcome.error?.message).toBe('synchronously');
    expect(odd.outcome.error?.message).toBe('a string');
    expect(names()).toEqual(['next']);
  });
});

describe('a slow inspection', () => {
  it('leaves the budget after its time, continues, and its result still counts', async () => {
    const { clock, pool, submit, names, call } = setUp({ concurrency: 1 });
    const slow = submit('slow');
    submit('next');
    await clock.advance(999);
    expect([slow.outcome.budgetEnded, names()]).toEqual([false, ['slow']]);
    await clock.advance(1);
    expect([slow.outcome.budgetEnded, names()]).toEqual([true, ['slow', 'next']]);
    expect(pool.inFlight()).toMatchObject([
      { pod: { uid: 'slow' }, ageMs: 1_000, slow: true },
      { pod: { uid: 'next' }, ageMs: 0, slow: false },
    ]);
    await clock.advance(60_000);
    call('slow').answer('at last');
    await clock.settle();
    expect(slow.outcome.value).toBe('at last');
  });

  it('is cancelled when its place outside is needed: the longest-running first, and never more than the limit', async () => {
    const { clock, pool, submit, call } = setUp({ concurrency: 1, slowLimit: 2 });
    const hung = ['h1', 'h2', 'h3', 'h4'].map((name) => submit(name));
    submit('retry', { knownSlow: true });
    const outside = (): string[] =>
      pool
        .inFlight()
        .filter(({ slow }) => slow)
        .map(({ pod }) => pod.uid);
    const seen: string[][] = [];
    for (let second = 0; second < 4; second++) {
      await clock.advance(1_000);
      seen.push(outside());
      expect(outside().length).toBeLessThanOrEqual(2);
    }
    // The retry began at once and was the longest-running when the second hung one needed room.
    expect(seen).toEqual([
      ['retry', 'h1'],
      ['h1', 'h2'],
      ['h2', 'h3'],
      ['h3', 'h4'],
    ]);
    expect(pool.displaced).toBe(3);
    expect(hung[0]!.outcome.error).toMatchObject({ code: 'INSPECTION_DISPLACED' });
    expect(hung[0]!.outcome.error?.message).toContain('default/h1');
    expect(call('h1').signal.aborted).toBe(true);
    expect(hung[3]!.outcome.error).toBeUndefined();
  });

  it('that waits for a place outside gets none that a newer slow one is taking', async () => {
    const { clock, pool, submit, names } = setUp({ concurrency: 1, slowLimit: 1 });
    submit('h1');
    await clock.advance(1_000);
    submit('waiting', { knownSlow: true });
    submit('h2');
    await clock.advance(1_000);
    expect(names()).toEqual(['h1', 'h2']);
    expect(pool.inFlight()).toMatchObject([{ pod: { uid: 'h2' }, slow: true }]);
    expect(pool.queued).toBe(1);
  });
});

describe('an inspection known to be slow', () => {
  it('never takes a place of the budget, is waited for by nobody, and waits for a free place outside', async () => {
    const { clock, submit, names, call } = setUp({ concurrency: 1, slowLimit: 2 });
    const known = ['k1', 'k2', 'k3'].map((name) => submit(name, { knownSlow: true, urgent: true }));
    submit('well');
    await clock.settle();
    expect(known.map(({ outcome }) => outcome.budgetEnded)).toEqual([true, true, true]);
    expect(names()).toEqual(['k1', 'k2', 'well']);
    call('k2').answer('');
    await clock.settle();
    expect(names()).toEqual(['k1', 'k2', 'well', 'k3']);
  });

  it('is cancelled at the deadline even if it ignores its signal', async () => {
    const { clock, pool, submit, call } = setUp();
    const known = submit('k', { knownSlow: true });
    await clock.advance(119_999);
    expect(known.outcome.error).toBeUndefined();
    await clock.advance(1);
    expect(known.outcome.error).toMatchObject({ code: 'INSPECTION_DEADLINE' });
    expect(known.outcome.error?.message).toBe('status of pod default/k (k) did not arrive within 120000 ms');
    expect([call('k').signal.aborted, pool.inFlight(), clock.pendingTimers]).toEqual([true, [], 0]);
  });
});

describe('the deadline', () => {
  it('counts from the start, the time in the budget included', async () => {
    const { clock, submit } = setUp();
    const hung = submit('h');
    await clock.advance(119_999);
    expect(hung.outcome.error).toBeUndefined();
    await clock.advance(1);
    expect(hung.outcome.error).toMatchObject({ code: 'INSPECTION_DEADLINE' });
  });

  it('that fires late does not count before an answer that may have arrived is read', async () => {
    const { clock, submit, call } = setUp();
    const answered = submit('answered');
    const hung = submit('hung');
    await clock.advance(1_000);
    clock.stall(300_000);
    await clock.advance(0);
    expect(answered.outcome.error).toBeUndefined();
    call('answered').answer('was there all the time');
    // The longest grace: a stall of minutes does not extend it further.
    await clock.advance(1_000);
    expect(answered.outcome.value).toBe('was there all the time');
    expect(hung.outcome.error).toMatchObject({ code: 'INSPECTION_DEADLINE' });
  });

  it('that passed while the pod was still in the budget does not count at once either', async () => {
    const { clock, submit, call } = setUp();
    const answered = submit('answered');
    clock.stall(300_000);
    await clock.advance(0);
    expect(answered.outcome).toMatchObject({ error: undefined, budgetEnded: true });
    call('answered').answer('there');
    await clock.advance(100);
    expect(answered.outcome.value).toBe('there');
  });

  it('that is late each time ends it in the end', async () => {
    const { clock, submit } = setUp();
    const hung = submit('h', { knownSlow: true });
    for (let stalls = 0; stalls < 30 && hung.outcome.error === undefined; stalls++) {
      clock.stall(120_000);
      await clock.advance(0);
    }
    expect(hung.outcome.error).toMatchObject({ code: 'INSPECTION_DEADLINE' });
  });
});

describe('cancel', () => {
  const reason = new Error('the pod is gone');

  it('of a waiting inspection prevents its start', async () => {
    const { clock, pool, submit, names, call } = setUp({ concurrency: 1, slowLimit: 1 });
    submit('a');
    submit('k', { knownSlow: true });
    const waiting = [submit('b'), submit('death', { urgent: true }), submit('k2', { knownSlow: true })];
    for (const { handle } of waiting) handle.cancel(reason);
    expect(pool.queued).toBe(0);
    await clock.settle();
    for (const { outcome } of waiting) expect(outcome).toMatchObject({ error: reason, budgetEnded: true });
    call('a').answer('');
    call('k').answer('');
    await clock.settle();
    expect(names()).toEqual(['a', 'k']);
  });

  it('of one in the budget or outside aborts its signal and gives its place to the next', async () => {
    const { clock, submit, names, call } = setUp({ concurrency: 1, slowLimit: 1 });
    const outside = submit('outside');
    await clock.advance(1_000);
    const inside = submit('inside');
    submit('next');
    submit('retry', { knownSlow: true });
    expect(names()).toEqual(['outside', 'inside']);
    inside.handle.cancel(reason);
    outside.handle.cancel(reason);
    await clock.settle();
    expect([call('inside').signal.reason, call('outside').signal.reason]).toEqual([reason, reason]);
    expect(names()).toEqual(['outside', 'inside', 'next', 'retry']);
    expect(inside.outcome.error).toBe(reason);
  });

  it('of a finished one does nothing, and neither does an answer after a cancel', async () => {
    const { clock, pool, submit, call } = setUp();
    const done = submit('done');
    call('done').answer('fine');
    await clock.settle();
    done.handle.cancel(reason);
    const cancelled = submit('cancelled');
    cancelled.handle.cancel(reason);
    cancelled.handle.cancel(new Error('again'));
    call('cancelled').answer('too late');
    await clock.settle();
    expect(done.outcome).toMatchObject({ value: 'fine', error: undefined });
    expect(cancelled.outcome).toMatchObject({ value: undefined, error: reason });
    expect([pool.inFlight(), pool.queued, clock.pendingTimers]).toEqual([[], 0, 0]);
  });

  it('of all leaves no timer and no place taken', async () => {
    const { clock, pool, submit, begun } = setUp({ concurrency: 3, slowLimit: 3 });
    const all = Array.from({ length: 50 }, (_, i) => submit(`p${i}`, { knownSlow: i % 2 === 0 }));
    await clock.advance(1_500);
    for (const { handle } of all) handle.cancel(reason);
    await clock.settle();
    const count = begun.length;
    expect([pool.inFlight(), pool.queued, clock.pendingTimers]).toEqual([[], 0, 0]);
    submit('after');
    expect(begun.length).toBe(count + 1);
  });
});

describe('an inspection for idle times', () => {
  it('begins once the budget and its queue are empty, one at a time, and delays no other', async () => {
    const { clock, pool, submit, names, call } = setUp({ concurrency: 2 });
    submit('a');
    submit('later', { whenIdle: true });
    submit('last', { whenIdle: true });
    submit('b');
    submit('c');
    expect([names(), pool.queued]).toEqual([['a', 'b'], 3]);
    call('a').answer('');
    await clock.settle();
    call('b').answer('');
    await clock.settle();
    expect(names()).toEqual(['a', 'b', 'c']);
    call('c').answer('');
    await clock.settle();
    expect([names().slice(3), pool.queued]).toEqual([['later'], 1]);
    submit('d');
    expect(names().slice(4)).toEqual(['d']);
    call('later').answer('');
    await clock.settle();
    expect(names().slice(5)).toEqual([]);
    call('d').answer('');
    await clock.settle();
    expect(names().slice(5)).toEqual(['last']);
  });

  it('is cancelled when it is slow, and takes no place outside the budget', async () => {
    const { clock, pool, submit, call } = setUp({ concurrency: 1, slowLimit: 1 });
    const hung = submit('hung', { knownSlow: true });
    const later = submit('later', { whenIdle: true });
    await clock.advance(1_000);
    expect(later.outcome).toMatchObject({ error: { code: 'INSPECTION_DEADLINE' }, budgetEnded: true });
    expect(call('later').signal.aborted).toBe(true);
    expect([hung.outcome.error, pool.displaced, pool.inFlight().length]).toEqual([undefined, 0, 1]);
  });

  it('leaves when it is cancelled before its turn', async () => {
    const { clock, pool, submit, names, call } = setUp({ concurrency: 1 });
    submit('a');
    submit('later', { whenIdle: true }).handle.cancel(new Error('stopped'));
    expect(pool.queued).toBe(0);
    call('a').answer('');
    await clock.settle();
    expect(names()).toEqual(['a']);
  });
});

it('reports the duration of each inspection that ended by itself, and of none that was cancelled', async () => {
  const { clock, submit, call } = setUp({ concurrency: 1, deadlineMs: 2_000 });
  const told: InspectionEnd[] = [];
  const stopTelling = inspectionEnded.subscribe((end) => told.push(end));
  submit('answers');
  submit('waits').handle.cancel(new Error('the pod is gone'));
  await clock.advance(300);
  call('answers').answer('');
  await clock.settle();
  submit('cancelled').handle.cancel(new Error('the pod is gone'));
  submit('hangs');
  await clock.advance(2_000);
  stopTelling();
  expect(told.map(({ pod, durationMs, wasSlow }) => [pod.uid, durationMs, wasSlow])).toEqual([
    ['answers', 300, false],
    ['hangs', 2_000, true],
  ]);
  expect(told.map(({ error }) => error)).toEqual([undefined, expect.stringMatching(/did not arrive within/)]);
});
