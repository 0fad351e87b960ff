import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type Injection, Injections } from './injections.js';
import { type Rule } from '../chaos-rule.js';

const RULE: Rule = { name: 'any', match: {}, fault: { type: 'hang', at: 'request' } };

describe('the counts of injections', () => {
  it('are by method, and fold the names that a client invents', () => {
    const injections = new Injections({
      clock: new FakeClock(),
      logger: SILENT_LOGGER,
      onInjection: undefined,
    });
    for (let at = 0; at < 5_000; at++) injections.note(RULE, { method: `Invented${at}` });
    for (let i = 0; i < 2; i++) injections.note(RULE, { method: 'Invented7' });
    injections.note({ ...RULE, name: 'another' }, { method: 'Version' });
    const { counts } = injections;
    expect(counts).toHaveLength(102);
    expect(counts[7]).toMatchObject({ method: 'Invented7', count: 3 });
    expect(counts[100]).toEqual({ rule: 'any', fault: 'hang', method: '(others)', count: 4_900 });
    expect(counts[101]).toMatchObject({ rule: 'another', method: 'Version', count: 1 });
  });

  it('hold no names of any length', () => {
    const seen: Injection[] = [];
    const injections = new Injections({
      clock: new FakeClock(),
      logger: SILENT_LOGGER,
      onInjection: (injection) => void seen.push(injection),
    });
    injections.note(RULE, { method: 'x'.repeat(1_000_000) });
    expect(injections.counts[0]!.method).toHaveLength(201);
    expect(seen[0]!.method).toHaveLength(201);
  });

  it('go on when a listener fails', () => {
    const errors: string[] = [];
    const injections = new Injections({
      clock: new FakeClock(),
      logger: { ...SILENT_LOGGER, error: (message) => void errors.push(message) },
      onInjection: () => {
        throw new Error('no');
      },
    });
    injections.note(RULE, { method: 'Version' });
    expect(injections.counts).toHaveLength(1);
    expect(errors).toEqual(['A listener for injected faults failed']);
  });
});
