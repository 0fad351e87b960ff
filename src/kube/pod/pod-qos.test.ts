import { describe, expect, it } from 'vitest';
import { type Container, type ResourceRequirements } from '../container/container.js';
import { applyPodDefaults } from './pod-defaults.js';
import { computePodQos } from './pod-qos.js';

function classOf(...resources: ResourceRequirements[]): string {
  const containers = resources.map((each, index): Container => ({
    name: `c${index}`,
    image: 'i',
    resources: each,
  }));
  return computePodQos({ containers });
}

const full = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } };

describe('the class of service of a pod', () => {
  it.each([
    ['BestEffort', [{}]],
    ['BestEffort', [{}, { requests: {}, limits: {} }]],
    ['BestEffort', [{ requests: { cpu: '0' }, limits: { memory: '0' } }]],
    ['BestEffort', [{ requests: { 'ephemeral-storage': '1Gi' } }]],
    ['Guaranteed', [full]],
    ['Guaranteed', [full, full]],
    ['Guaranteed', [{ limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1000m', memory: '1024Mi' } }]],
    ['Guaranteed', [{ ...full, limits: { ...full.limits, 'ephemeral-storage': '1Gi' } }]],
    ['Burstable', [full, {}]],
    ['Burstable', [{ requests: { cpu: '1' } }]],
    ['Burstable', [{ limits: { cpu: '1' }, requests: { cpu: '1' } }]],
    ['Burstable', [{ limits: full.limits, requests: { cpu: '500m', memory: '1Gi' } }]],
    ['Burstable', [{ limits: full.limits }]],
  ] as const)('is %s with %j', (expected, resources) => {
    expect(classOf(...(resources as readonly ResourceRequirements[]))).toBe(expected);
  });

  it('counts a limit as a request once defaults are applied', () => {
    const containers = [{ name: 'main', image: 'i', resources: { limits: full.limits } }];
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers } } as const;
    expect(computePodQos(applyPodDefaults(pod).spec)).toBe('Guaranteed');
  });

  it('takes init containers into account', () => {
    const containers = [{ name: 'main', image: 'i', resources: full }];
    expect(computePodQos({ containers, initContainers: [{ name: 'setup', image: 'i' }] })).toBe('Burstable');
  });
});
