import { describe, expect, it } from 'vitest';
import { someNodeFacts } from '#support/builders/node-pods.js';
import { ContainerResizes } from './container-resizes.js';

const LIMITS = { cpuShares: 2, cpuQuotaUs: undefined, memoryBytes: undefined } as never;

describe('what is known of limits that were changed', () => {
  it('is of one pod, and goes with it', () => {
    const resizes = new ContainerResizes({ node: () => someNodeFacts() });
    const status = { id: 'c1', resources: undefined } as never;
    resizes.applied('u1', 'c1', LIMITS);
    resizes.refused('u1', 'c2');
    resizes.refused('u2', 'c3');
    expect(resizes.actualOf('u1', status)).toBe(LIMITS);
    expect(resizes.actualOf('u2', status)).toBeUndefined();
    resizes.forget('u1');
    expect(resizes.actualOf('u1', status)).toBeUndefined();
    expect(resizes.isRefused('u1', 'c2')).toBe(false);
    expect(resizes.isRefused('u2', 'c3')).toBe(true);
  });
});
