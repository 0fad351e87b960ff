import { expect, it } from 'vitest';
import { sharesOf } from './cpu-profile.js';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 6 });

it('gives each function its share of the work, and none to waiting', () => {
  const nodes = [
    { id: 1, callFrame: frame('(idle)') },
    { id: 2, callFrame: frame('scan', 'file:///a/cri/list-decoder.js') },
    { id: 3, callFrame: frame('(garbage collector)') },
    { id: 4, callFrame: frame('scan', 'file:///a/cri/list-decoder.js') },
  ];
  const shares = sharesOf({ nodes, samples: [1, 2, 3, 4], timeDeltas: [1000, 20, 10, 10] });
  expect(shares).toEqual([
    { name: 'scan (cri/list-decoder.js:7)', share: 0.75 },
    { name: '(garbage collector)', share: 0.25 },
  ]);
});

it('has nothing to tell of a profile without samples', () => {
  expect(sharesOf({ nodes: [] })).toEqual([]);
});
