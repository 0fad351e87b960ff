import { expect, it } from 'vitest';
import { findSuspicions, type QuickFacts } from './find-suspicions.js';

const WELL: QuickFacts = {
  health: { healthy: true, listInFlightMs: undefined, stuckPodCount: 0 },
  ...{
    isConnected: true,
    longestListMs: 8,
    usualListMs: 5,
    ioFull: 0,
    memoryFull: 0,
    isKubeletHealthy: true,
    stoppedShims: 0,
    stoppedDaemons: 0,
    longOciCalls: 0,
  },
};

it('a node on which nothing is wrong raises no suspicion', () => {
  expect(findSuspicions(WELL)).toEqual([]);
  expect(
    findSuspicions({ ...WELL, ioFull: undefined, memoryFull: undefined, isKubeletHealthy: undefined }),
  ).toEqual([]);
  // Slow, but as ever: the routine examination judges it.
  expect(findSuspicions({ ...WELL, longestListMs: 900, usualListMs: 800 })).toEqual([]);
});

it.each<[string, Partial<QuickFacts>]>([
  ['the runtime is away', { isConnected: false }],
  ['the event generator is not healthy', { health: { ...WELL.health, healthy: false } }],
  ['a list is not answered', { health: { ...WELL.health, listInFlightMs: 3_000 } }],
  ['pods are stuck', { health: { ...WELL.health, stuckPodCount: 1 } }],
  ['a list was slow', { longestListMs: 600 }],
  ['processes wait for disks', { ioFull: 11 }],
  ['processes wait for memory', { memoryFull: 11 }],
  ['the kubelet is not healthy', { isKubeletHealthy: false }],
  ['a runtime or a kubelet is stopped', { stoppedDaemons: 1 }],
  ['a shim is stopped', { stoppedShims: 1 }],
  ['a call of the OCI runtime takes long', { longOciCalls: 1 }],
])('says that %s', (reason, change) => {
  expect(findSuspicions({ ...WELL, ...change })).toEqual([reason]);
});
