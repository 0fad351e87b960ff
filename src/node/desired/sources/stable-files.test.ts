import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StableFiles, type SteadyLook } from './stable-files.js';

const OPTIONS = { settleMs: 200, patienceMs: 20_000 };
const signs = (files: Record<string, string>): Map<string, string> => new Map(Object.entries(files));
const said = (look: SteadyLook): Partial<SteadyLook> =>
  Object.fromEntries(
    Object.entries(look).filter(
      ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );

describe('looks at files', () => {
  it('find a content once two of them, far enough apart, have seen it', () => {
    const files = new StableFiles(OPTIONS);
    expect(said(files.look(0, signs({ a: '1' })))).toEqual({ unsettled: ['a'], nextLookInMs: 200 });
    expect(said(files.look(150, signs({ a: '1' })))).toEqual({ unsettled: ['a'], nextLookInMs: 50 });
    expect(said(files.look(160, signs({ a: '2' })))).toEqual({ unsettled: ['a'], nextLookInMs: 200 });
    expect(said(files.look(360, signs({ a: '2' })))).toEqual({ steady: ['a'] });
    expect(said(files.look(361, signs({ a: '2' })))).toEqual({ steady: ['a'] });
    files.taken('a', '2');
    expect(said(files.look(400, signs({ a: '2' })))).toEqual({});
    expect(said(files.look(500, signs({ a: '3' })))).toEqual({ nextLookInMs: 200 });
    expect(said(files.look(550, signs({ a: '2' })))).toEqual({});
  });

  it('find a content at once that is known to be whole, and no other', () => {
    const files = new StableFiles(OPTIONS);
    const whole = new Set(['a']);
    expect(said(files.look(0, signs({ a: '1', b: '1' }), whole))).toEqual({
      ...{ steady: ['a'], unsettled: ['b'], nextLookInMs: 200 },
    });
    files.taken('a', '1');
    expect(said(files.look(10, signs({ a: '2', b: '1' })))).toMatchObject({ unsettled: ['b'] });
    expect(said(files.look(20, signs({ a: '3', b: '1' }), whole))).toMatchObject({ steady: ['a'] });
  });

  it('find an absence once it was there for long enough, and no longer when it ended', () => {
    const files = new StableFiles(OPTIONS);
    files.look(0, signs({ a: '1' }));
    files.taken('a', '1');
    expect(said(files.look(100, signs({})))).toEqual({ leaving: ['a'], nextLookInMs: 200 });
    expect(said(files.look(200, signs({ a: '1' })))).toEqual({});
    expect(said(files.look(290, signs({})))).toEqual({ leaving: ['a'], nextLookInMs: 200 });
    expect(said(files.look(490, signs({})))).toEqual({ gone: ['a'] });
    expect(said(files.look(500, signs({})))).toEqual({});
  });

  it('hold an absence back, for a while, as long as a new file is not steady', () => {
    const files = new StableFiles(OPTIONS);
    files.look(0, signs({ a: '1' }));
    files.taken('a', '1');
    expect(said(files.look(1_000, signs({ b: '1' })))).toMatchObject({ leaving: ['a'], unsettled: ['b'] });
    expect(said(files.look(1_250, signs({ b: '2' })))).toMatchObject({ leaving: ['a'], unsettled: ['b'] });
    expect(said(files.look(1_450, signs({ b: '2' })))).toEqual({ steady: ['b'], gone: ['a'] });
    files.taken('b', '2');
    files.look(2_000, signs({ c: '1' }));
    expect(said(files.look(3_999, signs({ c: '2' })))).toMatchObject({ leaving: ['b'] });
    expect(said(files.look(4_000, signs({ c: '3' })))).toMatchObject({ gone: ['b'] });
  });

  it('notice the absence of what was there before the first of them', () => {
    const files = new StableFiles(OPTIONS);
    files.expect('a', 0);
    files.expect('b', 0);
    expect(said(files.look(0, signs({ b: '1' })))).toMatchObject({ leaving: ['a'], unsettled: ['b'] });
    expect(said(files.look(200, signs({ b: '1' })))).toEqual({ gone: ['a'], steady: ['b'] });
  });

  it('name what never stands still, from when it began to move', () => {
    const files = new StableFiles(OPTIONS);
    files.look(0, signs({ a: '0' }));
    files.taken('a', '0');
    for (let at = 1_000; at < 21_000; at += 100) {
      expect(files.look(at, signs({ a: String(at) })).restless).toEqual([]);
    }
    expect(files.look(21_000, signs({ a: 'x' })).restless).toEqual(['a']);
    expect(said(files.look(21_200, signs({ a: 'x' })))).toEqual({ steady: ['a'] });
  });

  it('name again what is released', () => {
    const files = new StableFiles(OPTIONS);
    files.look(0, signs({ a: '1' }));
    files.taken('a', '1');
    files.release('a');
    expect(said(files.look(200, signs({ a: '1' })))).toEqual({ steady: ['a'] });
    files.release('unknown');
    files.taken('unknown', '1');
    expect(said(files.look(201, signs({})))).toMatchObject({ leaving: ['a'] });
  });

  it('believe only what was the same, or missing, in all looks of a settling time', () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 300 }),
      files: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'), {
        noNullPrototype: true,
      }),
      take: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const files = new StableFiles(OPTIONS);
        const history: { readonly at: number; readonly files: Record<string, string> }[] = [];
        let now = 0;
        for (const { waitMs, files: present, take } of steps) {
          now += waitMs;
          history.push({ at: now, files: present });
          const { steady, gone } = files.look(now, signs(present));
          const since = history.findLastIndex(({ at }) => at <= now - OPTIONS.settleMs);
          const recent = history.slice(since);
          for (const name of [...steady, ...gone]) {
            expect(since).toBeGreaterThanOrEqual(0);
            // A file that comes back as it was before is no other one.
            const seen = recent.filter((look) => name in look.files || gone.includes(name));
            expect(seen.every((look) => look.files[name] === present[name])).toBe(true);
          }
          if (take) for (const name of steady) files.taken(name, present[name]!);
        }
      }),
      { numRuns: 300 },
    );
  });
});
