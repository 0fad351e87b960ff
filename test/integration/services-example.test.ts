/**
 * The example with Services, as it is shipped: two web servers and a store that counts, on the embedded runtime.
 *
 * @module
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { BridgeNode, NODE_LIMIT, visit } from './bridge-node.js';
import { whyNoNetworkHarness } from './network-harness.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/services', import.meta.url));
const PODS = 3;
const lacking = whyNoNetworkHarness();

let node: BridgeNode;

const countOf = (answer: string): number => Number(/^visit (\d+), served by web-/.exec(answer)?.[1]);

describe.skipIf(lacking !== undefined)('examples/services', () => {
  let address: string;

  beforeAll(async () => {
    node = await BridgeNode.start(EXAMPLE);
    await node.untilReady(PODS);
    address = await node.printed('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
  }, patiently(150_000));

  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  }, patiently(120_000));

  it('is what an agent accepts, without a warning', async () => {
    const { code, stdout, stderr } = await node.podloop('validate', EXAMPLE);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain('warning');
  });

  it('counts visits whichever server answers', { timeout: patiently(120_000) }, async () => {
    const answers = [];
    for (let index = 0; index < 20; index++) answers.push(await visit(address));
    const first = countOf(answers[0]!);
    expect(answers.map(countOf)).toEqual(answers.map((_, index) => first + index));
    expect(new Set(answers.map((answer) => answer.replace(/^.* /, ''))).size).toBe(2);
  });

  it('goes on counting after the store was replaced', { timeout: patiently(240_000) }, async () => {
    const before = countOf(await visit(address));
    await node.printed('restart', 'store-0');
    await node.untilReady(PODS);
    await vi.waitFor(async () => expect(countOf(await visit(address))).toBeGreaterThan(before), NODE_LIMIT);
  });
});
