/**
 * Containers that tell the host and other pods lies about the network. Needs root; skipped elsewhere. The "host" is a
 * network namespace of the test: the machine's own routes are never at stake.
 *
 * @module
 */
import { expect, describe, it } from 'vitest';
import {
  type LabSandbox,
  NetworkHarness,
  NEVER,
  sandboxConfig,
  whyNoNetworkHarness,
} from './network-harness.js';
import {
  frame,
  icmpv6Packet,
  redirect,
  routerAdvertisement,
  sendFrames,
  whyNoRawFrames,
} from './raw-frames.js';

const lacking = whyNoNetworkHarness() ?? (await whyNoRawFrames());
const title = `a container that lies about the network${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;

const ROUTER_MAC = '02:00:00:00:00:66';
const LINK_LOCAL = Buffer.from('fe80000000000000000000fffe000066', 'hex');
const ALL_NODES = Buffer.from('ff020000000000000000000000000001', 'hex');
const IPV6 = 0x86dd;
const IPV4 = 0x0800;

/** Frames to all, to the addresses that bridges keep to themselves, and to each end of the links. */
const DESTINATIONS: readonly [string, (macs: { bridge: string; pod: string; port: string }) => string][] = [
  ['all nodes', () => '33:33:00:00:00:01'],
  ['everybody', () => 'ff:ff:ff:ff:ff:ff'],
  ['the bridge', ({ bridge }) => bridge],
  ['the other pod', ({ pod }) => pod],
  ['its own port of the bridge', ({ port }) => port],
  ...['00', '03', '0e'].map((last): [string, () => string] => [
    `bridges alone (${last})`,
    () => `01:80:c2:00:00:${last}`,
  ]),
];

describe.skipIf(lacking !== undefined)(title, () => {
  interface Scene extends AsyncDisposable {
    readonly lab: NetworkHarness;
    readonly attacker: LabSandbox;
    readonly victim: LabSandbox;
    readonly ips: readonly [attacker: string, victim: string];
  }

  async function scene(): Promise<Scene> {
    const lab = await NetworkHarness.make();
    const network = await lab.open();
    const [attacker, victim] = [await lab.sandbox(), await lab.sandbox()];
    const attach = async ({ id, pid }: LabSandbox) =>
      (await network.attach({ sandboxId: id, holderPid: pid, config: sandboxConfig() }, NEVER)).ips[0]!;
    const ips = [await attach(attacker), await attach(victim)] as const;
    const end = async () => {
      await network[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    };
    return { lab, attacker, victim, ips, [Symbol.asyncDispose]: end };
  }

  /** What the kernel has come to believe: IPv6 addresses that are not link-local, and the routes of IPv6. */
  async function beliefs({ lab, victim }: Scene): Promise<string[]> {
    const at = async (run: (...argv: string[]) => Promise<string>) => [
      await run('ip', '-6', '-o', 'addr', 'show', 'scope', 'global'),
      await run('ip', '-6', 'route'),
      await run('sh', '-c', 'cat /proc/sys/net/ipv6/conf/*/mtu'),
    ];
    return [
      ...(await at((...argv) => lab.onHost(...argv))),
      ...(await at((...argv) => lab.inside(victim, ...argv))),
    ];
  }

  /** The MAC address of a link. */
  async function macOf(run: (...argv: string[]) => Promise<string>, link: string): Promise<string> {
    const text = await run('ip', '-o', 'link', 'show', 'dev', link);
    return /link\/ether ([0-9a-f:]+)/.exec(text)![1]!;
  }

  async function namesOf({ lab, attacker, victim }: Scene) {
    const onHost = (...argv: string[]) => lab.onHost(...argv);
    const links = (await lab.inventory()).links;
    const bridge = links.find((name) => name.startsWith('podloop'))!;
    return {
      bridge: await macOf(onHost, bridge),
      port: await macOf(onHost, `plv${attacker.id.slice(0, 12)}`),
      pod: await macOf((...argv) => lab.inside(victim, ...argv), 'eth0'),
    };
  }

  it('gives neither the host nor another pod an address, a route or an MTU by router advertisements', async () => {
    await using it = await scene();
    const macs = await namesOf(it);
    const before = await settled(() => beliefs(it));
    const frames = DESTINATIONS.map(([, choose], at) => {
      const prefix = Buffer.from(`fd99dead${String(at).padStart(4, '0')}00000000000000000000`, 'hex');
      const message = routerAdvertisement(prefix, ROUTER_MAC);
      return frame(choose(macs), ROUTER_MAC, IPV6, icmpv6Packet(LINK_LOCAL, ALL_NODES, message));
    });
    await sendFrames(it.lab, it.attacker, frames);
    await sendFrames(it.lab, it.attacker, frames);
    // What is sent is handled by the kernel before the sender has ended; an answer shows that packets do go round.
    await it.lab.serve(it.victim, 80, 'I am here');
    expect(await it.lab.ask(it.ips[1], 80, it.attacker)).toMatch(/^I am here /);
    expect(await beliefs(it)).toEqual(before);
  });

  it('does not lead the packets of another pod to itself by redirects in the name of the gateway', async () => {
    await using it = await scene();
    const { pod } = await namesOf(it);
    const [better, victim] = it.ips;
    const router = victim.replace(/\d+$/, '1');
    const destination = '192.0.2.77';
    const way = () => it.lab.inside(it.victim, 'ip', 'route', 'get', destination);
    const before = await way();
    expect(before).toContain(`via ${router}`);
    // Redirects count only when they name a neighbour whose MAC address is known.
    expect(await it.lab.ask(better, 9, it.victim)).toBe('ECONNREFUSED');
    const payload = redirect({ router, victim, destination, better });
    await sendFrames(it.lab, it.attacker, [frame(pod, ROUTER_MAC, IPV4, payload)]);
    expect(await way()).toBe(before);
  });

  it('finds the host’s ends of links without IPv6, also when they were made by an earlier runtime', async () => {
    await using lab = await NetworkHarness.make();
    const first = await lab.open();
    const sandbox = await lab.sandbox();
    await first.attach({ sandboxId: sandbox.id, holderPid: sandbox.pid, config: sandboxConfig() }, NEVER);
    const links = (await lab.inventory()).links.filter((name) => name !== 'lo');
    const fileOf = (link: string, name: string) => `/proc/sys/net/ipv6/conf/${link}/${name}`;
    for (const link of links)
      await lab.onHost(
        'sh',
        '-c',
        `echo 0 >${fileOf(link, 'disable_ipv6')}; echo 1 >${fileOf(link, 'accept_ra')}`,
      );
    await first[Symbol.asyncDispose]();
    await using second = await lab.open();
    await second.restore([{ id: sandbox.id, holderPid: sandbox.pid, config: sandboxConfig() }]);
    await expect
      .poll(() =>
        lab.onHost(
          'cat',
          ...links.flatMap((link) => [fileOf(link, 'accept_ra'), fileOf(link, 'disable_ipv6')]),
        ),
      )
      .toBe('0\n1\n'.repeat(links.length));
  });

  /** The answer once it stays the same: link-local addresses come some moments after their link. */
  async function settled<T>(ask: () => Promise<T>): Promise<T> {
    let last = await ask();
    await expect
      .poll(
        async () => {
          const previous = JSON.stringify(last);
          last = await ask();
          return JSON.stringify(last) === previous;
        },
        { interval: 200, timeout: 10_000 },
      )
      .toBe(true);
    return last;
  }
});
