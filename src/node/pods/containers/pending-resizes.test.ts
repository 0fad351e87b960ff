import { expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { findResizeObstacle, type ResizeObstacle } from '../admission/admit-pod.js';
import { DesiredPods } from '../loop/desired-pods.js';
import { PendingResizes } from './pending-resizes.js';

const CAPACITY = { cpuMilli: 2_000n, memoryBytes: 1_000n };

function web(cpu: string, more: { image?: string; memory?: string } = {}): NodePod {
  const { image = 'a', memory = '100' } = more;
  return aNodePod({
    spec: { containers: [{ name: 'main', image, resources: { requests: { cpu, memory } } }] },
  });
}

/** Beside pods that have taken that much of the node. */
function setUp(usedMilli: bigint) {
  const used = { cpuMilli: usedMilli, memoryBytes: 0n };
  const desired = new DesiredPods();
  const told: string[] = [];
  const state = { isEnding: false };
  const held = new PendingResizes({
    ...{ desired, logger: SILENT_LOGGER },
    workers: { isKnown: () => true, isTerminationRequested: () => state.isEnding },
    findObstacle: (before, after) => findResizeObstacle(before, after, { requests: used }, CAPACITY),
    onHeld: (_, { reason, message }: ResizeObstacle) => told.push(`${reason}: ${message}`),
  });
  return { held, desired, used, told, state };
}

it('leaves a pod the resources that it has while the node has no more, and edits the rest', () => {
  const { held, desired, used, told } = setUp(1_500n);
  const before = web('500m');
  desired.set(before);
  const wish = web('1', { image: 'b' });
  const now = held.adapt(wish, before);
  expect(now.spec.containers).toEqual(web('500m', { image: 'b' }).spec.containers);
  expect(told).toEqual([
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000",
  ]);
  desired.set(now);
  expect(held.obstacleOf('uid-web')).toMatchObject({ reason: 'OutOfcpu' });
  expect(held.fits(wish)).toBe(false);
  used.cpuMilli = 1_200n;
  expect(held.obstacleOf('uid-web')?.message).toContain('requested: 1000, used: 1200, capacity: 2000');
  used.cpuMilli = 1_000n;
  expect(held.obstacleOf('uid-web')).toMatchObject({ reason: 'OutOfcpu' });
  expect(held.fits(wish)).toBe(true);
  expect(held.adapt(wish, now)).toBe(wish);
  expect(held.size).toBe(0);
  expect(held.obstacleOf('uid-web')).toBeUndefined();
});

it('says once of an edit that the node could never give that much', () => {
  const { held, desired, told } = setUp(0n);
  const before = web('500m');
  desired.set(before);
  const wish = web('500m', { memory: '1001' });
  desired.set(held.adapt(wish, before));
  held.adapt(wish, desired.find('uid-web'));
  expect(told).toEqual([
    "Infeasible: Node didn't have enough capacity: memory, requested: 1001, capacity: 1000",
  ]);
});

it('hinders no pod that asks for less, be the node as full as it may', () => {
  const { held, desired, told } = setUp(9_000n);
  const before = web('500m');
  desired.set(before);
  const wish = web('400m');
  expect(held.adapt(wish, before)).toBe(wish);
  expect(told).toEqual([]);
});

it('takes a newer edit in place of the one that waits, and forgets that of a pod that ends', () => {
  const { held, desired, state } = setUp(1_500n);
  const before = web('500m');
  desired.set(before);
  held.adapt(web('1'), before);
  const other = web('800m');
  held.adapt(other, before);
  expect(held.wishes()).toEqual([other]);
  expect(held.adapt(before, before)).toBe(before);
  expect(held.size).toBe(0);
  held.adapt(other, before);
  state.isEnding = true;
  expect(held.fits(other)).toBe(false);
  expect(held.wishes()).toEqual([]);
});
