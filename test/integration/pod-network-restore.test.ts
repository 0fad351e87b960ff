import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProcess, readBootId } from '../../src/box/process/child-identity.js';
import { type LoggedLine, LogRecorder } from '#support/fakes/log-recorder.js';
import { NetworkHarness, NEVER, sandboxConfig, whyNoNetworkHarness } from './network-harness.js';

const lacking = whyNoNetworkHarness();
const title = `the network of pods after a restart${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;
/** How each of three runtimes goes: its pod is removed, it is killed with its pod, or its root folder goes as well. */
const ORDERS = [
  ['pod', 'pod', 'pod'],
  ['killed', 'pod', 'killed'],
  ['root', 'pod', 'pod'],
  ['pod', 'killed', 'root'],
  ['root', 'root', 'root'],
].map((order) => ({ order }));

describe.skipIf(lacking !== undefined)(title, () => {
  it('undoes what belongs to sandboxes that are gone, and leaves the others alone', async () => {
    await using lab = await NetworkHarness.make();
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

  it('keeps the network of a live sandbox whose record cannot be read, and writes that anew', async () => {
    await using lab = await NetworkHarness.make();
    const before = await lab.inventory();
    const [a, b, c] = [await lab.sandbox(), await lab.sandbox(), await lab.sandbox()];
    for (const toolPath of [await lab.toolPath(undefined), undefined]) {
      const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
      const first = await lab.open({ toolPath });
      const { ips } = await first.attach({ sandboxId: a.id, holderPid: a.pid, config }, NEVER);
      await first.attach({ sandboxId: b.id, holderPid: b.pid, config: sandboxConfig() }, NEVER);
      await first.close();
      if (toolPath !== undefined) await lab.serve(a, 80, 'I am a');
      const records = join(lab.rootDir, 'network/pods');
      for (const { id } of [a, b]) await writeFile(join(records, `${id}.json`), '{"sandb');

      await using second = await lab.open({ toolPath });
      // b is gone: what there is of it is found by its name.
      await second.restore([{ id: a.id, holderPid: a.pid, config }]);
      expect(second.ipsOf(a.id)).toEqual(ips);
      expect(await lab.ask(ips[0]!, 80)).toMatch(/^I am a /);
      expect(await lab.ask('127.0.0.1', 8080)).toMatch(/^I am a /);
      const left = (await lab.inventory()).links.filter((name) => name.startsWith('plv'));
      expect(left).toEqual([`plv${a.id.slice(0, 12)}`]);
      expect((await readdir(records)).sort()).toEqual([`${a.id}.json`, `${b.id}.json.unreadable`].sort());
      const request = { sandboxId: c.id, holderPid: c.pid, config };
      await expect(second.attach(request, NEVER)).rejects.toThrow(`8080/tcp is taken by sandbox ${a.id}`);
      await second.restore([]);
      expect(await lab.inventory()).toEqual(before);
      await rm(join(records, `${b.id}.json.unreadable`));
    }
  });

  it('leaves alone what it cannot judge of a live sandbox, until that is removed', async () => {
    await using lab = await NetworkHarness.make();
    const before = await lab.inventory();
    const [a, b] = [await lab.sandbox(), await lab.sandbox()];
    const toolPath = await lab.toolPath(undefined);
    const config = sandboxConfig([{ hostPort: 8080, containerPort: 80 }]);
    const first = await lab.open({ toolPath });
    await first.attach({ sandboxId: a.id, holderPid: a.pid, config }, NEVER);
    await first.close();
    const record = join(lab.rootDir, 'network/pods', `${a.id}.json`);
    await writeFile(record, '');
    // Nobody can say any more which address is its own.
    await lab.inside(a, 'ip', 'addr', 'flush', 'dev', 'eth0');
    const between = await lab.inventory();

    await using second = await lab.open({ toolPath });
    await second.restore([{ id: a.id, holderPid: a.pid, config }]);
    expect(await lab.inventory()).toEqual(between);
    await second.attach({ sandboxId: b.id, holderPid: b.pid, config: sandboxConfig() }, NEVER);
    await second.detach(b.id);
    expect(await lab.inventory()).toEqual(between);
    expect(await readFile(record, 'utf8')).toBe('');
    await second.detach(a.id);
    expect(await lab.inventory()).toEqual(before);
    expect(await readFile(`${record}.unreadable`, 'utf8')).toBe('');
  });

  it('has undone what was being made when it is closed', async () => {
    await using lab = await NetworkHarness.make();
    const before = await lab.inventory();
    const toolPath = await lab.toolPath(undefined);
    const network = await lab.open({ toolPath });
    const sandboxes = await Promise.all(Array.from({ length: 6 }, () => lab.sandbox()));
    const config = sandboxConfig([{ hostPort: 0, containerPort: 80 }]);
    const attaching = Promise.allSettled(
      sandboxes.map(({ id, pid }) => network.attach({ sandboxId: id, holderPid: pid, config }, NEVER)),
    );
    // The first record is there: some are half made by now.
    const records = join(lab.rootDir, 'network/pods');
    await expect.poll(() => readdir(records), { interval: 1, timeout: 30_000 }).not.toEqual([]);
    await network.close();
    const left = await lab.inventory();
    const outcomes = await attaching;
    const made = sandboxes.filter((_sandbox, at) => outcomes[at]?.status === 'fulfilled');
    expect(left.links.filter((name) => name.startsWith('plv'))).toHaveLength(made.length);
    expect(await readdir(records)).toHaveLength(made.length);
    expect(made.length).toBeLessThan(sandboxes.length);
    await using next = await lab.open({ toolPath });
    await next.restore([]);
    expect(await lab.inventory()).toEqual(before);
    const { id, pid } = sandboxes[0]!;
    await expect(network.attach({ sandboxId: id, holderPid: pid, config }, NEVER)).rejects.toThrow('ending');
  });

  const KINDS = [
    { forwarding: true, host: 'a host that forwards packets' },
    { forwarding: false, host: 'a host that forwards none' },
  ];
  it.each(KINDS)(
    'undoes in mode host what another mode has left, and bridges of runtimes whose root is gone, on $host',
    async ({ forwarding }) => {
      await using lab = await NetworkHarness.make({ forwarding });
      const toolPath = await lab.toolPathWithRules();
      const before = await lab.inventory();
      const [a, b, c] = [await lab.sandbox(), await lab.sandbox(), await lab.sandbox()];
      const roots = ['mine', 'gone', 'there'].map((name) => join(lab.rootDir, name));
      for (const [index, { id, pid }] of [a, b, c].entries()) {
        await using network = await lab.open({ rootDir: roots[index]!, toolPath });
        await network.attach({ sandboxId: id, holderPid: pid, config: sandboxConfig() }, NEVER);
      }
      await rm(roots[1]!, { recursive: true });
      const names = async () => (await lab.inventory()).links.filter((name) => name.startsWith('podloop'));
      await using host = await lab.open({ mode: 'host', rootDir: roots[0]!, toolPath });
      expect(host.isolates).toBe(false);
      await host.restore([]);
      // A sandbox still hangs on the one whose root is gone.
      expect(await names()).toEqual(['podloop0a590000', 'podloop0a5a0000']);
      for (const { id } of [b, c]) await lab.onHost('ip', 'link', 'del', `plv${id.slice(0, 12)}`);
      await using mine = await lab.open({ rootDir: roots[0]!, toolPath });
      await mine.restore([]);
      expect(await names()).toEqual(['podloop0a5a0000']);
      await using there = await lab.open({ rootDir: roots[2]!, toolPath });
      await there.restore([]);
      expect(await lab.inventory()).toEqual(before);
    },
  );

  it.each(ORDERS)(
    'leaves a host without forwarding as it was, whoever goes first and how: $order',
    async ({ order }) => {
      await using lab = await NetworkHarness.make({ forwarding: false });
      const toolPath = await lab.toolPathWithRules();
      const before = await lab.inventory();
      const runtimes = await Promise.all(
        [0, 1, 2].map(async (index) => {
          const rootDir = join(lab.rootDir, `runtime-${index}`);
          return { rootDir, network: await lab.open({ rootDir, toolPath }), sandbox: await lab.sandbox() };
        }),
      );
      for (const { network, sandbox } of runtimes)
        await network.attach(
          { sandboxId: sandbox.id, holderPid: sandbox.pid, config: sandboxConfig() },
          NEVER,
        );
      for (const [at, what] of [...order].entries()) {
        expect((await lab.inventory()).forwarding).toBe('1');
        const { rootDir, network, sandbox } = runtimes[at]!;
        if (what === 'pod') {
          await network.detach(sandbox.id);
          await network.close();
          continue;
        }
        // Killed; and so are its pods.
        await network.close();
        await sandbox.kill();
        await lab.onHost('ip', 'link', 'del', `plv${sandbox.id.slice(0, 12)}`).catch(() => undefined);
        if (what === 'root') await rm(rootDir, { recursive: true });
        await using next = await lab.open({
          rootDir: what === 'root' ? join(lab.rootDir, 'next') : rootDir,
          toolPath,
        });
        await next.restore([]);
      }
      expect(await lab.inventory()).toEqual(before);
    },
  );

  it('puts a sandbox back on its bridge when somebody has removed it', async () => {
    await using lab = await NetworkHarness.make();
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

  it('goes on with the restore when settings of links cannot be written', async () => {
    await using lab = await NetworkHarness.make();
    const [a, b] = [await lab.sandbox(), await lab.sandbox()];
    const first = await lab.open();
    const attach = ({ id, pid }: typeof a) =>
      first.attach({ sandboxId: id, holderPid: pid, config: sandboxConfig() }, NEVER);
    const [{ ips }] = [await attach(a), await attach(b)];
    await first.close();
    await lab.serve(a, 80, 'I am a');
    const [linkOfA, linkOfB] = [a, b].map(({ id }) => `plv${id.slice(0, 12)}`);
    await lab.onHost('ip', 'link', 'set', linkOfA!, 'nomaster');
    const logger = new LogRecorder();
    // The shell that writes the settings of all links fails.
    const toolPath = await lab.toolPathWithShell(
      `case "$*" in *${linkOfB}*) exit 9;; esac; exec "$real" "$@"`,
    );
    await using second = await lab.open({ toolPath, logger });
    await second.restore([a, b].map(({ id, pid }) => ({ id, holderPid: pid })));
    expect(await lab.ask(ips[0]!, 80, b)).toMatch(/^I am a /);
    const [{ fields }] = logger.lines.filter(
      ({ message }) => message === 'Settings of links are not restored',
    ) as [LoggedLine];
    expect(fields['link']).toContain(linkOfB);
    await second.restore([]);
  });

  it('logs the settings of pods’ links that could not be written, once', async () => {
    await using lab = await NetworkHarness.make();
    const a = await lab.sandbox();
    const logger = new LogRecorder();
    const toolPath = await lab.toolPathWithShell(
      'case "$*" in *accept_ra*) echo "/refused $#";; esac; exec "$real" "$@"',
    );
    await using first = await lab.open({ toolPath, logger });
    await first.attach({ sandboxId: a.id, holderPid: a.pid, config: sandboxConfig() }, NEVER);
    const unset = () => logger.lines.filter(({ message }) => message.includes('settings of its link'));
    // One file of the host's end and one of the pod's.
    expect(unset().map(({ fields }) => fields)).toEqual([
      {
        sandboxId: a.id,
        files: expect.stringMatching(/^\/refused \d+ \/refused \d+$/) as string,
        remedy: expect.stringContaining('/proc/sys writable') as string,
      },
    ]);
    const b = await lab.sandbox();
    await first.attach({ sandboxId: b.id, holderPid: b.pid, config: sandboxConfig() }, NEVER);
    expect(unset()).toHaveLength(1);
    await first.restore([]);
  });

  it('starts a port proxy again that was killed, and lets it end with the holder', async () => {
    await using lab = await NetworkHarness.make();
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
    await using lab = await NetworkHarness.make();
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
