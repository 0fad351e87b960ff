import { describe, expect, it } from 'vitest';
import { computeStatusResources } from './container-status-resources.js';

const MI = 1024n * 1024n;
const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
const inForce = { cpuShares: 102n, cpuQuotaUs: 20_000n, cpuPeriodUs: 100_000n, memoryBytes: 64n * MI };

describe('the resources in the status of a container', () => {
  it('are those of the manifest where they are in force, or where that is unknown', () => {
    const all = { allocatedResources: resources.requests, resources };
    expect(computeStatusResources({ resources }, undefined)).toEqual(all);
    expect(computeStatusResources({ resources }, inForce)).toEqual(all);
  });

  it('are empty, and nothing is promised, where nothing was asked for', () => {
    for (const none of [{}, { resources: {} }, { resources: { requests: {}, limits: {} } }]) {
      expect(computeStatusResources(none, inForce)).toEqual({ resources: {} });
      expect(computeStatusResources(none, undefined)).toEqual({ resources: {} });
    }
  });

  it('are those that are in force while others are wanted', () => {
    const actual = { ...inForce, cpuShares: 512n, cpuQuotaUs: 150_000n, memoryBytes: 96n * MI };
    expect(computeStatusResources({ resources }, actual)).toEqual({
      allocatedResources: resources.requests,
      resources: { requests: { cpu: '500m', memory: '32Mi' }, limits: { cpu: '1500m', memory: '96Mi' } },
    });
  });

  it('show no limit that is not in force', () => {
    const actual = { ...inForce, cpuQuotaUs: undefined, memoryBytes: undefined };
    expect(computeStatusResources({ resources }, actual).resources).toEqual({ requests: resources.requests });
  });

  it('are as they were written for the least amounts', () => {
    const least = { limits: { cpu: '1m' }, requests: { cpu: '1m' } };
    const actual = { cpuShares: 2n, cpuQuotaUs: 1000n, cpuPeriodUs: 100_000n, memoryBytes: undefined };
    expect(computeStatusResources({ resources: least }, actual).resources).toEqual(least);
  });
});
