import { describe, expect, it } from 'vitest';
import { OBSERVER_OPTIONS, resolveObserverOptions } from './options.js';

describe('the options of the observer', () => {
  it('have the defaults of the table', () => {
    const defaults = Object.fromEntries(
      Object.entries(OBSERVER_OPTIONS).map(([name, facts]) => [name, facts.default]),
    );
    expect(resolveObserverOptions({})).toEqual(defaults);
  });

  it('are refused when unknown, naming those there are', () => {
    expect(() => resolveObserverOptions({ relistPeriod: 1 } as object)).toThrow(
      /^unknown option relistPeriod; there are runtimeEndpoint, mode, relistPeriodMs/,
    );
  });

  it.each([
    [{ mode: 'both' }, 'option mode: "both" is not one of generic, evented, auto'],
    [{ relistPeriodMs: 0 }, 'option relistPeriodMs: 0 is not a positive duration'],
    [{ queueCapacity: 1.5 }, 'option queueCapacity: 1.5 is not a positive whole number'],
    [{ runtimeEndpoint: 7 }, 'option runtimeEndpoint: 7 is not a string'],
  ])('are refused when wrong, saying what would be right: %j', (given, message) => {
    expect(() => resolveObserverOptions(given as object)).toThrow(message);
  });

  it('lengthen the threshold for a period that it would be too short for, unless it is given', () => {
    expect(resolveObserverOptions({ relistPeriodMs: 300_000 }).relistThresholdMs).toBe(900_000);
    const given = resolveObserverOptions({ relistPeriodMs: 300_000, relistThresholdMs: 400_000 });
    expect(given.relistThresholdMs).toBe(400_000);
  });
});
