import { describe, expect, it } from 'vitest';
import { aSidecar, aBareContainer } from '#support/builders/pod-action-inputs.js';
import { computeStopOrder } from './compute-stop-order.js';

const named = (...names: string[]): { name: string }[] => names.map((name) => ({ name }));

describe('containers are stopped', () => {
  const spec = { initContainers: [aSidecar('log'), aBareContainer('setup'), aSidecar('mesh')] };

  it('all that are not sidecars at once, then sidecars from the last to the first', () => {
    expect(computeStopOrder(spec, named('log', 'mesh', 'a', 'b', 'setup', 'stray'))).toEqual([
      named('a', 'b', 'setup', 'stray'),
      named('mesh'),
      named('log'),
    ]);
  });

  it('without empty waves, and two of a name together', () => {
    expect(computeStopOrder(spec, named('log', 'log'))).toEqual([named('log', 'log')]);
    expect(computeStopOrder(spec, [])).toEqual([]);
  });

  it('all at once where nobody knows what they are', () => {
    expect(computeStopOrder(undefined, named('a', 'mesh'))).toEqual([named('a', 'mesh')]);
  });
});
