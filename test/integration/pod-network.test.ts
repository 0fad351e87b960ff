import { describe, expect, it } from 'vitest';
import { Protocol } from '../../src/cri/generated/runtime/v1/cri.js';
import { NetworkLab, sandboxConfig, whyNoNetworkLab } from './network-lab.js';

const lacking = whyNoNetworkLab();
const never = new AbortController().signal;

describe.skipIf(lacking !== undefined)(
  `the network of pods${lacking === undefined ? '' : ` (skipped: ${lacking})`}`,
  () => {
    it('gives each sandbox an address that the host and the others reach, and leaves nothing behind', async () => {
      await using lab = await NetworkLab.make();
      await using network = await lab.open();
      const before = await lab.inventory();
      const [a, b] = [await lab.sandbox(), await lab.sandbox()];
      const attach = async ({ id, pid }: typeof a) =>
        (await network.attach({ sandboxId: id, holderPid: pid, config: sandboxConfig() }, never)).ips[0]!;
      const [addressOfA, addressOfB] = await Promise.all([attach(a), attach(b)]);
      expect(addressOfA).not.toBe(addressOfB);
      await lab.serve(a, 80, 'I am a');
      await lab.serve(b, 80, 'I am b');
      expect(await lab.ask(addressOfA, 80)).toMatch(/^I am a /);
      expect(await lab.ask(addressOfB, 80, a)).toBe(`I am b ${addressOfA}`);
      expect(await lab.ask('127.0.0.1', 80, b)).toBe('I am b 127.0.0.1');
      await network.detach(a.id, a.pid);
      await b.kill();
      await network.detach(b.id);
      await network.detach(b.id);
      expect(await lab.inventory()).toEqual(before);
    });

    it('serves host ports, also to itself and through the loopback', async () => {
      await using lab = await NetworkLab.make();
      await using network = await lab.open();
      const before = await lab.inventory();
      const a = await lab.sandbox();
      const config = sandboxConfig([
        { hostPort: 8080, containerPort: 80 },
        { hostPort: 8053, containerPort: 53, protocol: Protocol.UDP },
      ]);
      const { ips } = await network.attach({ sandboxId: a.id, holderPid: a.pid, config }, never);
      await lab.serve(a, 80, 'I am a');
      await lab.serve(a, 53, 'I am udp', 'udp');
      expect(await lab.ask('127.0.0.1', 8080)).toMatch(/^I am a /);
      expect(await lab.ask('127.0.0.1', 8053, undefined, 'udp')).toMatch(/^I am udp /);
      const gateway = ips[0]!.replace(/\d+$/, '1');
      expect(await lab.ask(gateway, 8080, a)).toMatch(/^I am a /);
      await network.detach(a.id);
      expect(await lab.inventory()).toEqual(before);
    });
  },
);
