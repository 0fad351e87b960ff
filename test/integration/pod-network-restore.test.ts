import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProcess, readBootId } from '../../src/embedded/process/process-identity.js';
import { NetworkLab, NEVER, sandboxConfig, whyNoNetworkLab } from './network-lab.js';

const lacking = whyNoNetworkLab();
const title = `the network of pods after a restart${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;

describe.skipIf(lacking !== undefined)(title, () => {
  it('undoes what belongs to sandboxes that are gone, and leaves the others alone', async () => {
    await using lab = await NetworkLab.make();
    const before = await lab.inventory();
    const [a, b, c] = [await lab.sandbox(), await lab.sandbox(), await lab.sandbox()];
    const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
    const toolPath = await lab.toolPath(undefined);
    const first = await lab.open({ toolPath });
    const attached = await first.attach({ sandboxId: a.id, holderPid: a.pid, config }, NEVER);
    await first.attach({ sandboxId: b.id, holderPid: b.pid, config: sandboxConfig() }, NEVER);
    // As after a kill: nothing is undone.
    await first.close();
    await lab.serve(a, 80, 'I am a');
    // One more was killed before it had made anything, and one left a link that is on no record.
    const intent = {
      sandboxId: c.id,
      bootId: await readBootId(),
      holder: { pid: c.pid, startTicks: findProcess(c.pid)!.startTicks },
      ips: ['10.88.0.77'],
      hostPorts: [],
      portsBy: 'proxy',
    };
    const records = join(lab.rootDir, 'network/pods');
    await writeFile(join(records, `${c.id}.json`), JSON.stringify(intent));
    await writeFile(join(records, `${b.id}.json.tmp`), '{"sandb');
    const { links } = await lab.inventory();
    const bridge = links.find((name) => name.startsWith('podloop'))!;
    await lab.onHost('ip', 'link', 'add', 'plvffffffffffff', 'master', bridge, 'type', 'veth');

    await using second = await lab.open({ toolPath });
    await second.restore([{ id: a.id, holderPid: a.pid }]);
    expect(second.ipsOf(a.id)).toEqual(attached.ips);
    expect(await lab.ask('127.0.0.1', 8080)).toMatch(/^I am a /);
    const left = (await lab.inventory()).links.filter((name) => name.startsWith('plv'));
    expect(left).toEqual([`plv${a.id.slice(0, 12)}`]);
    const d = await lab.sandbox();
    const request = { sandboxId: d.id, holderPid: d.pid, config: sandboxConfig() };
    expect((await second.attach(request, NEVER)).ips).not.toEqual(attached.ips);
    await second.restore([]);
    expect(await lab.inventory()).toEqual(before);
    expect(await readdir(records)).toEqual([]);
  });

  it('undoes in mode host what another mode has left, and bridges of runtimes whose root is gone', async () => {
    await using lab = await NetworkLab.make();
    const before = await lab.inventory();
    const [a, b, c] = [await lab.sandbox(), await lab.sandbox(), await lab.sandbox()];
    const roots = ['mine', 'gone', 'there'].map((name) => join(lab.rootDir, name));
    for (const [index, { id, pid }] of [a, b, c].entries()) {
      await using network = await lab.open({ rootDir: roots[index]! });
      await network.attach({ sandboxId: id, holderPid: pid, config: sandboxConfig() }, NEVER);
    }
    await rm(roots[1]!, { recursive: true });
    const names = async () => (await lab.inventory()).links.filter((name) => name.startsWith('podloop'));
    await using host = await lab.open({ mode: 'host', rootDir: roots[0]! });
    expect(host.isolates).toBe(false);
    await host.restore([]);
    // A sandbox still hangs on the one whose root is gone.
    expect(await names()).toEqual(['podloop0a590000', 'podloop0a5a0000']);
    for (const { id } of [b, c]) await lab.onHost('ip', 'link', 'del', `plv${id.slice(0, 12)}`);
    await using mine = await lab.open({ rootDir: roots[0]! });
    await mine.restore([]);
    expect(await names()).toEqual(['podloop0a5a0000']);
    await using there = await lab.open({ rootDir: roots[2]! });
    await there.restore([]);
    expect(await lab.inventory()).toEqual(before);
  });

  it('puts a sandbox back on its bridge when somebody has removed it', async () => {
    await using lab = await NetworkLab.make();
    await using network = await lab.open();
    const [a, b] = [await lab.sandbox(), await lab.sandbox()];
    const attach = ({ id, pid }: typeof a) =>
      network.attach({ sandboxId: id, holderPid: pid, config: sandboxConfig() }, NEVER);
    const { ips } = await attach(a);
    await lab.serve(a, 80, 'I am a');
    const { links } = await lab.inventory();
    await lab.onHost(
      'ip',
      'link',
      'del',
      links.find((name) => name.startsWith('podloop'))!,
    );
    // The next one finds that the bridge is gone, and makes it anew.
    await attach(b);
    await using next = await lab.open();
    await next.restore([a, b].map(({ id, pid }) => ({ id, holderPid: pid })));
    expect(await lab.ask(ips[0]!, 80, b)).toMatch(/^I am a /);
    await next.restore([]);
    expect((await lab.inventory()).links).toEqual(['lo']);
  });

  it('starts a port proxy again that was killed, and lets it end with the holder', async () => {
    await using lab = await NetworkLab.make();
    await using network = await lab.open({ toolPath: await lab.toolPath(undefined) });
    const a = await lab.sandbox();
    const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
    await network.attach({ sandboxId: a.id, holderPid: a.pid, config }, NEVER);
    await lab.serve(a, 80, 'I am a');
    const [first = ''] = await lab.processes();
    process.kill(Number.parseInt(first, 10), 'SIGKILL');
    await expect.poll(() => lab.ask('127.0.0.1', 8080), { timeout: 30_000 }).toMatch(/^I am a /);
    await network.close();
    await a.kill();
    await expect.poll(() => lab.processes(), { timeout: 30_000 }).toEqual([]);
  });

  it('finds everything again after kills in the middle of attaching', async () => {
    await using lab = await NetworkLab.make();
    const before = await lab.inventory();
    const toolPath = await lab.toolPath(undefined);
    const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
    // Each round breaks off at another helper, without any undoing, as a kill does.
    for (let round = 1; round <= 8; round++) {
      const a = await lab.sandbox();
      const broken = await lab.open({ toolPath: await lab.toolPathThatEndsAfter(round) });
      const attaching = broken.attach({ sandboxId: a.id, holderPid: a.pid, config }, NEVER);
      await attaching.catch(() => undefined);
      await broken.close();
      await using next = await lab.open({ toolPath });
      await next.restore([]);
      expect(await lab.inventory()).toEqual(before);
      expect(await readdir(join(lab.rootDir, 'network/pods'))).toEqual([]);
    }
  });
});
