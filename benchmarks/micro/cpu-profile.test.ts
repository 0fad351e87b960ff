import { expect, it } from 'vitest';
import { partOf, sharesOf } from './cpu-profile.js';

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

it('says whose work a function is', () => {
  const part = (url: string, functionName = 'run') => partOf({ functionName, url, lineNumber: 1 });
  expect(part('', '(garbage collector)')).toBe('garbage collector');
  expect(part('', 'writeBuffer')).toBe('engine and native code');
  expect(part('node:internal/http2/core')).toBe('Node’s HTTP/2, sockets and streams');
  expect(part('node:events')).toBe('Node, the rest');
  expect(part('file:///x/node_modules/@grpc/grpc-js/build/src/client.js')).toBe('@grpc/grpc-js');
  const built = 'file:///x/node_modules/.cache/podloop-bench';
  expect(part(`${built}/src/cri/list-decoder.js`)).toBe('podloop');
  expect(part(`${built}/benchmarks/micro/list-readers.js`)).toBe('the benchmark');
});
