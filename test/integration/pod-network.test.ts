import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Protocol } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { NetworkHarness, NEVER, sandboxConfig, whyNoNetworkHarness } from './network-harness.js';

const lacking = whyNoNetworkHarness();
/**
 * Ways to serve host ports: a proxy everywhere; packet rules where PODLOOP_PACKET_TOOLS names folders, with colons
 * between them, that hold iptables-restore and iptables-save, or nft.
 */
const PACKET_TOOLS: [string, string | undefined][] = [
  ['a proxy', undefined],
  ...(process.env.PODLOOP_PACKET_TOOLS ?? '')
    .split(':')
    .filter((folder) => folder !== '')
    .map((folder): [string, string] => [`the rules of ${folder}`, folder]),
];

const title = `the network of pods${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;

describe.skipIf(lacking !== undefined)(title, () => {
  it('gives each sandbox an address that the host and the others reach, and leaves nothing behind', async () => {
    await using lab = await NetworkHarness.make();
    await using network = await lab.open();
    const before = await lab.inventory();
    const [a, b] = [await lab.sandbox(), await lab.sandbox()];
    const attach = async ({ id, pid }: typeof a) =>
      (await network.attach({ sandboxId: id, holderPid: pid, config: sandboxConfig() }, NEVER)).ips[0]!;
    const [addressOfA, addressOfB] = await Promise.all([attach(a), attach(b)]);
    expect(addressOfA).not.toBe(addressOfB);
    await lab.serve(a, 80, 'I am a');
    await lab.serve(b, 80, 'I am b');
    expect(await lab.ask(addressOfA, 80)).toMatch(/^I am a /);
    expect(await lab.ask(addressOfB, 80, a)).toBe(`I am b ${addressOfA}`);
    expect(await lab.ask('127.0.0.1', 80, b)).toBe('I am b 127.0.0.1');
    await network.detach(a.id);
    await b.kill();
    await network.detach(b.id);
    await network.detach(b.id);
    expect(await lab.inventory()).toEqual(before);
  });

  it.each(PACKET_TOOLS)('serves host ports to all who ask through %s', async (kind, tools) => {
    await using lab = await NetworkHarness.make();
    const neighbour = await lab.neighbour();
    await using network = await lab.open({ toolPath: await lab.toolPath(tools) });
    const before = await lab.inventory();
    const a = await lab.sandbox();
    const b = await lab.sandbox();
    const config = sandboxConfig([
      { hostPort: 8080, containerPort: 80 },
      { hostPort: 8053, containerPort: 53, protocol: Protocol.UDP },
      { hostPort: 8081, containerPort: 80, hostIp: '127.0.0.1' },
    ]);
    const { ips } = await network.attach({ sandboxId: a.id, holderPid: a.pid, config }, NEVER);
    await network.attach({ sandboxId: b.id, holderPid: b.pid, config: sandboxConfig() }, NEVER);
    await lab.serve(a, 80, 'I am a');
    await lab.serve(a, 53, 'I am udp', 'udp');
    const gateway = ips[0]!.replace(/\d+$/, '1');
    expect(await lab.ask('127.0.0.1', 8080)).toBe(`I am a ${gateway}`);
    expect(await lab.ask('127.0.0.1', 8081)).toBe(`I am a ${gateway}`);
    expect(await lab.ask('198.51.100.2', 8080)).toMatch(/^I am a /);
    expect(await lab.ask('127.0.0.1', 8053, undefined, 'udp')).toBe(`I am udp ${gateway}`);
    expect(await lab.ask('198.51.100.2', 8080, b)).toMatch(/^I am a /);
    expect(await lab.ask(gateway, 8080, a)).toMatch(/^I am a /);
    // Rules let the pod see who asks; a proxy asks in its own name.
    const seen = kind === 'a proxy' ? gateway : '198.51.100.9';
    expect(await lab.ask('198.51.100.2', 8080, neighbour)).toBe(`I am a ${seen}`);
    expect(await lab.ask('198.51.100.2', 8053, neighbour, 'udp')).toBe(`I am udp ${seen}`);
    expect(await lab.ask('198.51.100.2', 8081, neighbour)).toBe('ECONNREFUSED');
    if (kind !== 'a proxy') {
      await lab.serve(neighbour, 7, 'far away');
      expect(await lab.ask('198.51.100.9', 7, a)).toBe('far away 198.51.100.2');
      expect(await lab.processes()).toEqual([]);
    }
    await network.detach(a.id);
    expect(await lab.ask('127.0.0.1', 8080)).toBe('ECONNREFUSED');
    await network.detach(b.id);
    expect(await lab.inventory()).toEqual(before);
    for (const [program, ...args] of [['iptables-save'], ['nft', 'list', 'ruleset']] as const) {
      const listing =
        tools === undefined ? '' : await lab.onHost(join(tools, program), ...args).catch(() => '');
      expect(listing).not.toContain('podloop');
    }
  });
});
