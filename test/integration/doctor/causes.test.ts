import { describe, expect, it } from 'vitest';
import { SickNode } from './sick-node.js';

describe('podloop doctor', () => {
  it('blames nothing on a healthy node', async () => {
    await using sick = await SickNode.start({ pods: 30, containersPerPod: 2 });
    const { code, diagnosis } = await sick.examine();
    expect(diagnosis.findings).toEqual([]);
    expect(code).toBe(0);
  });
});
