import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NamespaceMode, PodSandboxConfig } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { type PodNetwork } from '../../src/box/network/pod-network.js';
import {
  NetworkHarness,
  NEVER,
  sandboxConfig,
  whyNoNetworkHarness,
  type LabSandbox,
} from './network-harness.js';

const lacking = whyNoNetworkHarness();
const title = `the limits of the network of pods${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;

function attach(network: PodNetwork, { id, pid }: LabSandbox, config = sandboxConfig()) {
  return network.attach({ sandboxId: id, holderPid: pid, config }, NEVER);
}

describe.skipIf(lacking !== undefined)(title, () => {
  it('refuses host ports that are taken, and makes no link for their pod', async () => {
    await using lab = await NetworkHarness.make();
    await using network = await lab.open({ toolPath: await lab.toolPath(undefined) });
    const [a, b] = [await lab.sandbox(), await lab.sandbox()];
    const withPort = (hostPort: number, hostIp = '') =>
      sandboxConfig([{ hostPort, containerPort: 80, hostIp }]);
    await attach(network, a, withPort(8080));
    const taken = `127.0.0.1:8080/tcp is taken by sandbox ${a.id}`;
    await expect(attach(network, b, withPort(8080, '127.0.0.1'))).rejects.toThrow(taken);
    await lab.serve({ ...a, pid: lab.hostPid }, 9090, 'I am the host');
    await expect(attach(network, b, withPort(9090))).rejects.toThrow(/9090\/tcp.*EADDRINUSE/);
    const { links, processes } = await lab.inventory();
    expect(links.filter((name) => name.startsWith('plv'))).toHaveLength(1);
    expect(processes).toHaveLength(1);
    expect(network.ipsOf(b.id)).toEqual([]);
    await network.detach(a.id);
    expect((await lab.inventory()).links).toEqual(['lo']);
  });

  it('takes no range that leads elsewhere, nor that of another runtime', async () => {
    await using lab = await NetworkHarness.make();
    await lab.onHost('ip', 'link', 'add', 'vpn', 'type', 'bridge');
    await lab.onHost('ip', 'link', 'set', 'vpn', 'up');
    await lab.onHost('ip', 'route', 'add', '10.88.64.0/18', 'dev', 'vpn');
    const [a, b, c] = [await lab.sandbox(), await lab.sandbox(), await lab.sandbox()];
    await using stubborn = await lab.open({ podCidr: '10.88.0.0/16' });
    expect(stubborn.status()).toMatchObject({ ready: false, reason: 'PodRangeTaken' });
    const overlap = 'the pod range 10.88.0.0/16 overlaps the route to 10.88.64.0/18 on vpn';
    await expect(attach(stubborn, a)).rejects.toThrow(overlap);
    await using one = await lab.open();
    await using other = await lab.open({ rootDir: join(lab.rootDir, 'other') });
    const both = await Promise.all([attach(one, b), attach(other, c)]);
    const ranges = both.map(({ ips }) => ips[0]!.replace(/\.\d+\.\d+$/, ''));
    expect(ranges.sort()).toEqual(['10.89', '10.90']);
    await using small = await lab.open({ rootDir: join(lab.rootDir, 'small'), podCidr: '192.0.2.0/30' });
    expect(await attach(small, a)).toEqual({ ips: ['192.0.2.2'] });
    const usedUp = 'the pod range 192.0.2.0/30 is used up: 1 sandboxes';
    await expect(attach(small, await lab.sandbox())).rejects.toThrow(usedUp);
    for (const network of [one, other, small]) await network.restore([]);
    expect((await lab.inventory()).links).toEqual(['lo', 'vpn']);
    await lab.onHost('ip', 'route', 'del', '10.88.64.0/18');
    await expect.poll(() => stubborn.status().ready, { timeout: 30_000 }).toBe(true);
  });

  it('gives no part of a range to two runtimes that ask for it at the same moment', async () => {
    await using lab = await NetworkHarness.make();
    for (const cidrs of [
      ['10.88.0.0/16', '10.88.0.0/16'],
      ['10.88.0.0/16', '10.88.1.0/24'],
      ['10.88.1.0/24', '10.88.0.0/16'],
    ]) {
      const [one, other] = await Promise.all(
        cidrs.map((podCidr, at) => lab.open({ podCidr, rootDir: join(lab.rootDir, `${at} ${podCidr}`) })),
      );
      const sandboxes = [await lab.sandbox(), await lab.sandbox()];
      const attached = await Promise.allSettled([attach(one!, sandboxes[0]!), attach(other!, sandboxes[1]!)]);
      const made = attached.filter(({ status }) => status === 'fulfilled');
      expect(made.length).toBeLessThan(2);
      for (const each of attached)
        if (each.status === 'rejected')
          expect(String(each.reason)).toMatch(/overlaps|belongs to somebody else/);
      const bridges = (await lab.inventory()).links.filter((name) => name.startsWith('podloop'));
      expect(bridges).toHaveLength(made.length);
      for (const network of [one!, other!]) {
        await network.restore([]);
        await network.close();
      }
      expect((await lab.inventory()).links).toEqual(['lo']);
    }
  });

  it('refuses a host port that a pod of another runtime has', async () => {
    await using lab = await NetworkHarness.make();
    const toolPath = await lab.toolPath(undefined);
    await using one = await lab.open({ toolPath });
    await using other = await lab.open({ toolPath, rootDir: join(lab.rootDir, 'other') });
    const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
    const [a, b] = [await lab.sandbox(), await lab.sandbox()];
    const attached = await Promise.allSettled([attach(one, a, config), attach(other, b, config)]);
    expect(attached.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refused = attached.find((each) => each.status === 'rejected');
    expect(String(refused?.reason)).toMatch(/8080\/tcp.*EADDRINUSE/);
    for (const network of [one, other]) await network.restore([]);
    expect((await lab.inventory()).links).toEqual(['lo']);
  });

  it('gives no address to pods with the host’s network, and only a loopback in mode none', async () => {
    await using lab = await NetworkHarness.make();
    const a = await lab.sandbox();
    await using network = await lab.open();
    const linux = { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } };
    const config = PodSandboxConfig.fromPartial({ ...sandboxConfig(), linux });
    expect(await attach(network, a, config)).toEqual({ ips: [] });
    await using none = await lab.open({ mode: 'none' });
    expect(none.status()).toMatchObject({ ready: true, mode: 'none' });
    expect(await attach(none, a)).toEqual({ ips: [] });
    const links = JSON.parse(await lab.inside(a, 'ip', '-j', 'link')) as {
      ifname: string;
      flags: string[];
    }[];
    expect(links.map(({ ifname, flags }) => [ifname, flags.includes('UP')])).toEqual([['lo', true]]);
    expect((await lab.inventory()).links).toEqual(['lo']);
  });

  it('says what is missing where no network can be made', async () => {
    await using lab = await NetworkHarness.make();
    const toolPath = join(lab.rootDir, 'nothing');
    await using auto = await lab.open({ toolPath });
    expect(auto.isolates).toBe(false);
    expect(auto.status()).toMatchObject({ ready: true, mode: 'host', reason: 'NoPodNetwork' });
    expect(auto.status().message).toContain('"ip" (iproute2)');
    await using bridge = await lab.open({ mode: 'bridge', toolPath });
    expect(bridge.status()).toMatchObject({ ready: false, mode: 'bridge', reason: 'NetworkUnavailable' });
    await expect(attach(bridge, await lab.sandbox())).rejects.toThrow(/not ready: .*iproute2/);
  });

  it('leaves nothing behind when it is given up, or the sandbox goes meanwhile', async () => {
    await using lab = await NetworkHarness.make();
    await using network = await lab.open();
    const before = await lab.inventory();
    const a = await lab.sandbox();
    const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
    const request = { sandboxId: a.id, holderPid: a.pid, config };
    const abort = new AbortController();
    const attached = network.attach(request, abort.signal);
    abort.abort(new Error('the caller is gone'));
    await expect(attached).rejects.toThrow('the caller is gone');
    const [outcome] = await Promise.allSettled([network.attach(request, NEVER), network.detach(a.id)]);
    expect(outcome.status).toBe('rejected');
    await a.kill();
    await expect(network.attach(request, NEVER)).rejects.toThrow(/holder \d+ of sandbox .* is gone/);
    expect(await lab.inventory()).toEqual(before);
  });
});
