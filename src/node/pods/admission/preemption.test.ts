import { describe, expect, it } from 'vitest';
import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { chooseVictims, computeNeeds, mayPreempt } from './preemption.js';

const CRITICAL = 2_000_000_000;

interface Amounts {
  readonly cpu?: string;
  readonly memory?: string;
  /** Limits as well, so that it is Guaranteed. */
  readonly isGuaranteed?: boolean;
}

function pod(name: string, { cpu, memory, isGuaranteed = false }: Amounts = {}): NodePod {
  const requests = { ...(cpu && { cpu }), ...(memory && { memory }) };
  const resources = { requests, ...(isGuaranteed && { limits: requests }) };
  return aNodePod({ name, source: 'api', spec: { containers: [{ name: 'main', image: 'i', resources }] } });
}

function choose(pods: readonly NodePod[], needs: Readonly<Record<string, bigint>>): string[] | undefined {
  return chooseVictims(pods, new Map(Object.entries(needs)))?.map(({ metadata }) => metadata.name);
}

describe('pods that go for a critical one', () => {
  it('are of the lowest class of service that will do', () => {
    const pods = [
      pod('guaranteed', { cpu: '1', memory: '1Gi', isGuaranteed: true }),
      pod('burstable', { cpu: '1' }),
      pod('best-effort'),
    ];
    expect(choose(pods, { pods: 1n })).toEqual(['best-effort']);
    expect(choose(pods, { cpu: 500n })).toEqual(['burstable']);
    expect(choose(pods, { cpu: 500n, pods: 1n })).toEqual(['burstable']);
    expect(choose(pods, { cpu: 1_500n })).toEqual(['burstable', 'guaranteed']);
  });

  it('are as few as will do, and of those that do as well the smaller', () => {
    const pods = [pod('a', { cpu: '300m' }), pod('b', { cpu: '700m' }), pod('c', { cpu: '600m' })];
    expect(choose(pods, { cpu: 500n })).toEqual(['c']);
    expect(choose(pods, { cpu: 650n })).toEqual(['b']);
    expect(choose(pods, { cpu: 900n })).toEqual(['b', 'a']);
  });

  it('are none when not even all of them would do, or nothing is needed', () => {
    expect(choose([pod('a', { cpu: '1' })], { cpu: 1_001n })).toBeUndefined();
    expect(choose([pod('a', { cpu: '1' })], { 'hugepages-2Mi': 1n })).toBeUndefined();
    expect(choose([pod('a', { cpu: '1' })], {})).toEqual([]);
  });

  it('need not give back what others give back that end as it is', () => {
    const shortages = [{ resource: 'cpu', requested: 800n, used: 900n, capacity: 1_000n }];
    expect([...computeNeeds(shortages, [])]).toEqual([['cpu', 700n]]);
    expect([...computeNeeds(shortages, [pod('leaving', { cpu: '300m' })])]).toEqual([['cpu', 400n]]);
    expect(computeNeeds(shortages, [pod('leaving', { cpu: '1' })]).size).toBe(0);
  });
});

describe('whether a pod may be ended for another', () => {
  const withPriority = (priority: number, source = 'api'): NodePod =>
    aNodePod({ source, spec: { priority } });
  const system = (priorityClassName: string): NodePod =>
    aNodePod({ source: 'api', spec: { priorityClassName } });

  it('follows from how critical both are', () => {
    expect(isCriticalPod(aNodePod())).toBe(true);
    expect(isCriticalPod(withPriority(CRITICAL))).toBe(true);
    expect(isCriticalPod(system('system-node-critical'))).toBe(true);
    expect(isCriticalPod(withPriority(CRITICAL - 1))).toBe(false);
    expect(mayPreempt(withPriority(CRITICAL), withPriority(5))).toBe(true);
    expect(mayPreempt(withPriority(5), withPriority(1))).toBe(false);
    expect(mayPreempt(system('system-node-critical'), system('system-cluster-critical'))).toBe(true);
    expect(mayPreempt(system('system-cluster-critical'), system('system-node-critical'))).toBe(false);
  });

  it('is never so of a static pod', () => {
    expect(mayPreempt(withPriority(CRITICAL), withPriority(0, 'file'))).toBe(false);
  });
});
