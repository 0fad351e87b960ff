import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PodSandboxConfig } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { type PodNetwork } from '../../src/box/network/pod-network.js';
import {
  NetworkHarness,
  NEVER,
  sandboxConfig,
  whyNoNetworkHarness,
  type LabSandbox,
} from './network-harness.js';

const lacking = whyNoNetworkHarness();
const title = `the network of pods by CNI plugins${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;
const REAL_PLUGINS = process.env.PODLOOP_CNI_BIN_DIR;

/** One call of a plugin, as it wrote it down itself. */
interface Call {
  readonly plugin: string;
  readonly command: string;
  readonly id: string;
  readonly netns: string;
  readonly args: string;
  readonly config: Record<string, unknown>;
}

/** A plugin that writes down what it is asked, and answers to ADD with what it got and its own name. */
const FAKE_PLUGIN = `#!${process.execPath}
const fs = require('fs');
const plugin = require('path').basename(process.argv[1]);
const config = JSON.parse(fs.readFileSync(0, 'utf8'));
const { CNI_COMMAND: command, CNI_CONTAINERID: id, CNI_NETNS: netns, CNI_ARGS: args } = process.env;
fs.appendFileSync(__dirname + '/calls', JSON.stringify({ plugin, command, id, netns, args, config }) + '\\n');
if (fs.existsSync(__dirname + '/' + plugin + '.hangs') && command === 'ADD') setInterval(() => 0, 1000);
else if (fs.existsSync(__dirname + '/' + plugin + '.fails') && command === 'ADD') {
  console.log(JSON.stringify({ cniVersion: config.cniVersion, code: 11, msg: 'no room', details: 'come back later' }));
  process.exit(1);
} else if (command === 'ADD') {
  const before = config.prevResult || { cniVersion: config.cniVersion, ips: [{ address: 'fd00::7/64' }, { address: '10.1.2.3/24' }] };
  console.log(JSON.stringify({ ...before, seen: [...(before.seen || []), plugin] }));
}
`;

class FakePlugins {
  private constructor(
    readonly lab: NetworkHarness,
    readonly binDir: string,
  ) {}

  static async make(lab: NetworkHarness, plugins: Record<string, unknown>[]): Promise<FakePlugins> {
    const fake = new FakePlugins(lab, join(lab.rootDir, 'plugins'));
    await mkdir(fake.binDir);
    await mkdir(join(lab.rootDir, 'cni'));
    for (const { type } of plugins) {
      await writeFile(join(fake.binDir, type as string), FAKE_PLUGIN);
      await chmod(join(fake.binDir, type as string), 0o755);
    }
    const list = { cniVersion: '1.0.0', name: 'lab', plugins };
    await writeFile(join(lab.rootDir, 'cni/10-lab.conflist'), JSON.stringify(list));
    await writeFile(join(lab.rootDir, 'cni/99-other.conflist'), 'not JSON, and not looked at');
    return fake;
  }

  open(): Promise<PodNetwork> {
    return this.lab.open({ cniBinDir: this.binDir });
  }

  async let(plugin: string, what: 'hangs' | 'fails'): Promise<void> {
    await writeFile(join(this.binDir, `${plugin}.${what}`), '');
  }

  async calls(): Promise<Call[]> {
    const text = await readFile(join(this.binDir, 'calls'), 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Call);
  }
}

function attach(network: PodNetwork, { id, pid }: LabSandbox, config = sandboxConfig()) {
  return network.attach({ sandboxId: id, holderPid: pid, config }, NEVER);
}

describe.skipIf(lacking !== undefined)(title, () => {
  it('calls each plugin with the result of the one before, and backwards to undo it', async () => {
    await using lab = await NetworkHarness.make();
    const fake = await FakePlugins.make(lab, [
      { type: 'first', capabilities: { portMappings: false }, custom: 1 },
      { type: 'second', capabilities: { portMappings: true, bandwidth: true, dns: true } },
    ]);
    const a = await lab.sandbox();
    const config = PodSandboxConfig.fromPartial({
      ...sandboxConfig([{ hostPort: 8080, containerPort: 80 }]),
      annotations: { 'kubernetes.io/egress-bandwidth': '10M' },
      dnsConfig: { servers: ['10.0.0.10'], searches: ['svc'], options: [] },
    });
    const first = await fake.open();
    expect(first.status()).toMatchObject({ ready: true, mode: 'cni' });
    expect(await attach(first, a, config)).toEqual({ ips: ['10.1.2.3', 'fd00::7'] });
    await first.close();
    await using second = await fake.open();
    await second.restore([{ id: a.id, holderPid: a.pid }]);
    expect(second.ipsOf(a.id)).toEqual(['10.1.2.3', 'fd00::7']);
    await expect.poll(async () => (await fake.calls()).length).toBe(4);
    await a.kill();
    await second.detach(a.id);
    await second.detach(a.id);
    const calls = await fake.calls();
    const order = ['first ADD', 'second ADD', 'first CHECK', 'second CHECK', 'second DEL', 'first DEL'];
    expect(calls.map(({ plugin, command }) => `${plugin} ${command}`)).toEqual(order);
    const result = { cniVersion: '1.0.0', ips: [{ address: 'fd00::7/64' }, { address: '10.1.2.3/24' }] };
    expect(calls[0]).toMatchObject({ id: a.id, netns: `/proc/${a.pid}/ns/net` });
    expect(calls[0]!.args).toContain(';K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;');
    expect(calls[0]!.config).toEqual({ type: 'first', custom: 1, name: 'lab', cniVersion: '1.0.0' });
    const runtimeConfig = {
      portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }],
      dns: { servers: ['10.0.0.10'], searches: ['svc'], options: [] },
      bandwidth: { egressRate: 10_000_000, egressBurst: 2_147_483_647 },
    };
    const prevResult = { ...result, seen: ['first'] };
    expect(calls[1]!.config).toEqual({
      type: 'second',
      name: 'lab',
      cniVersion: '1.0.0',
      runtimeConfig,
      prevResult,
    });
    const last = { ...result, seen: ['first', 'second'] };
    // The holder is dead: there is no namespace any more.
    expect(calls[4]).toMatchObject({ netns: '', config: { prevResult: last, runtimeConfig } });
    expect(calls[5]).toMatchObject({ netns: '', config: { prevResult: last } });
    expect(await lab.inventory()).toMatchObject({ links: ['lo'], processes: [] });
  });

  it('undoes what was made before a plugin failed, and passes its words on', async () => {
    await using lab = await NetworkHarness.make();
    const fake = await FakePlugins.make(lab, [{ type: 'first' }, { type: 'second' }]);
    await fake.let('second', 'fails');
    await using network = await fake.open();
    const a = await lab.sandbox();
    const words = 'ADD of CNI plugin "second" (network lab): no room; come back later (code 11)';
    await expect(attach(network, a)).rejects.toThrow(words);
    const order = ['first ADD', 'second ADD', 'second DEL', 'first DEL'];
    expect((await fake.calls()).map(({ plugin, command }) => `${plugin} ${command}`)).toEqual(order);
    await network.detach(a.id);
    expect(await fake.calls()).toHaveLength(4);
  });

  it('lets a plugin that hangs hold up nobody else, and kills it when the sandbox goes', async () => {
    await using lab = await NetworkHarness.make();
    const fake = await FakePlugins.make(lab, [{ type: 'first' }]);
    await fake.let('first', 'hangs');
    await using network = await fake.open();
    const [a, b] = [await lab.sandbox(), await lab.sandbox()];
    const hanging = attach(network, a);
    hanging.catch(() => undefined);
    await expect.poll(async () => (await fake.calls()).length, { timeout: 30_000 }).toBe(1);
    const abort = new AbortController();
    const second = network.attach(
      { sandboxId: b.id, holderPid: b.pid, config: sandboxConfig() },
      abort.signal,
    );
    await expect.poll(async () => (await fake.calls()).length, { timeout: 30_000 }).toBe(2);
    abort.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    await network.detach(a.id);
    await expect(hanging).rejects.toThrow(`sandbox ${a.id} is being removed`);
    expect((await fake.calls()).filter(({ command }) => command === 'DEL').map(({ id }) => id)).toEqual([
      b.id,
      a.id,
    ]);
    expect(await lab.processes()).toEqual([]);
  });

  it('serves host ports itself where no plugin does, and says why a list is not used', async () => {
    await using lab = await NetworkHarness.make();
    const fake = await FakePlugins.make(lab, [{ type: 'first' }]);
    await using network = await fake.open();
    const a = await lab.sandbox();
    await attach(network, a, sandboxConfig([{ hostPort: 8080, containerPort: 80 }]));
    expect(await lab.processes()).toHaveLength(1);
    await network.detach(a.id);
    expect(await lab.processes()).toEqual([]);
    await using other = await lab.open({ cniBinDir: join(lab.rootDir, 'nowhere') });
    expect(other.status()).toMatchObject({ ready: true, mode: 'bridge' });
    expect(other.status().message).toContain('10-lab.conflist is not used: the plugin "first" is not in');
  });

  it.skipIf(REAL_PLUGINS === undefined)(
    'works with the reference plugins (PODLOOP_CNI_BIN_DIR)',
    async () => {
      await using lab = await NetworkHarness.make();
      await mkdir(join(lab.rootDir, 'cni'));
      const ipam = { type: 'host-local', subnet: '10.222.0.0/24', dataDir: join(lab.rootDir, 'leases') };
      const list = {
        cniVersion: '1.0.0',
        name: 'lab',
        plugins: [
          {
            type: 'bridge',
            bridge: 'lab0',
            isGateway: true,
            ipam: { ...ipam, routes: [{ dst: '0.0.0.0/0' }] },
          },
          { type: 'tuning', sysctl: { 'net.ipv4.conf.eth0.arp_filter': '1' } },
        ],
      };
      await writeFile(join(lab.rootDir, 'cni/10-lab.conflist'), JSON.stringify(list));
      await using network = await lab.open({ cniBinDir: REAL_PLUGINS });
      const [a, b] = [await lab.sandbox(), await lab.sandbox()];
      const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
      const { ips } = await attach(network, a, config);
      await attach(network, b);
      await lab.serve(a, 80, 'I am a');
      expect(await lab.ask(ips[0]!, 80, b)).toMatch(/^I am a 10\.222\.0\./);
      expect(await lab.ask('127.0.0.1', 8080)).toMatch(/^I am a /);
      await network.restore([{ id: a.id, holderPid: a.pid }]);
      await expect.poll(async () => network.ipsOf(b.id)).toEqual([]);
      expect(network.ipsOf(a.id)).toEqual(ips);
      await network.detach(a.id);
      const { links, processes } = await lab.inventory();
      // The bridge is the plugin's, which never takes it away.
      expect({ links, processes }).toEqual({ links: ['lo', 'lab0'], processes: [] });
    },
  );
});
