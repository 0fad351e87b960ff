import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedNode, SANDBOX_READY, until } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';
import { whyNoNetworkHarness } from './network-harness.js';

const lacking = whyNoNetworkHarness();
const title = `pods of a runtime with a network${lacking === undefined ? '' : ` (skipped: ${lacking})`}`;
const execute = promisify(execFile);
let program: RuntimeProgram;

/** A server in a shell's words, since the image has the host's programs. */
const SERVER = `exec ${process.execPath} -e 'require("net").createServer((c) => c.on("error", () => 0).end("I am " + require("os").networkInterfaces().eth0[0].address)).listen(80)'`;

async function ask(host: string, port: number): Promise<string> {
  return text(connect(port, host)).catch((error: unknown) => (error as NodeJS.ErrnoException).code ?? '');
}

/** Interfaces of ours on this machine, and processes that name the folder. */
async function inventory(folder: string): Promise<{ links: string[]; processes: number }> {
  const { stdout } = await execute('ip', ['-j', 'link']);
  const links = (JSON.parse(stdout) as { ifname: string }[]).map(({ ifname }) => ifname);
  let processes = 0;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(`${folder}/root/network`)) processes += 1;
  }
  return { links, processes };
}

describe.skipIf(lacking !== undefined)(title, () => {
  beforeAll(async () => {
    program = await RuntimeProgram.build();
  });

  afterAll(async () => {
    await program[Symbol.asyncDispose]();
  });

  it('keep their addresses and host ports when it is killed, and leave nothing when they are removed', async () => {
    await using node = await EmbeddedNode.prepare({ isolation: 'namespaces', network: 'bridge' });
    const first = await program.start(node);
    const { conditions = [] } = (await node.client.status({})).status ?? {};
    expect(conditions.find(({ type }) => type === 'NetworkReady')).toMatchObject({
      status: true,
      reason: 'OwnBridge',
    });
    // The kernel gives out ports from 32768 on.
    const hostPort = 20_000 + (process.pid % 10_000);
    const portMappings = [{ hostPort, containerPort: 80, protocol: 0 as const, hostIp: '' }];
    const web = await node.runPod('web', { portMappings });
    const other = await node.runPod('other');
    await node.run(web, 'server', SERVER);
    const ipOf = async (podSandboxId: string) =>
      (await node.client.podSandboxStatus({ podSandboxId })).status?.network?.ip ?? '';
    const [ip, otherIp] = [await ipOf(web), await ipOf(other)];
    expect(new Set([ip, otherIp, '']).size).toBe(3);
    await until(
      () => ask(ip, 80),
      (answer) => answer === `I am ${ip}`,
    );
    expect(await ask('127.0.0.1', hostPort)).toBe(`I am ${ip}`);
    const script = `exec ${process.execPath} -e 'require("net").connect(80, "${ip}").pipe(process.stdout)'`;
    await node.exited(await node.run(other, 'client', script));
    expect(await node.log('client')).toContain(`I am ${ip}`);

    await end(first, 'SIGKILL');
    expect(await ask('127.0.0.1', hostPort)).toBe(`I am ${ip}`);
    const second = await program.start(node);
    expect([await ipOf(web), await ipOf(other)]).toEqual([ip, otherIp]);
    expect(await ask('127.0.0.1', hostPort)).toBe(`I am ${ip}`);
    const links = [`plv${web.slice(0, 12)}`, `plv${other.slice(0, 12)}`];
    expect((await inventory(node.folder)).links).toEqual(expect.arrayContaining(links));
    for (const podSandboxId of [web, other]) {
      await node.client.stopPodSandbox({ podSandboxId });
      await node.client.removePodSandbox({ podSandboxId });
    }
    const left = await inventory(node.folder);
    expect(left.links.filter((name) => links.includes(name))).toEqual([]);
    expect(left.processes).toBe(0);
    expect(await ask('127.0.0.1', hostPort)).toBe('ECONNREFUSED');
    expect(await readdir(`${node.root}/network/pods`)).toEqual([]);
    expect(await readdir(`${node.root}/network`)).not.toContain('bridge.json');
    await end(second, 'SIGTERM');
  });

  it('leave no link, address or proxy when it is killed in the middle of making and removing them', async () => {
    await using node = await EmbeddedNode.prepare({ isolation: 'namespaces', network: 'bridge' });
    const port = 20_000 + (process.pid % 10_000);
    for (let round = 0; round < 6; round++) {
      const doomed = await program.start(node);
      let made = 0;
      const calls = Promise.allSettled(
        ['a', 'b', 'c', 'd'].map(async (name, index) => {
          const portMappings = [
            { hostPort: port + index, containerPort: 80, protocol: 0 as const, hostIp: '' },
          ];
          const id = await node.runPod(`${name}${round}`, { portMappings });
          made += 1;
          if (index % 2 === 1) await node.client.removePodSandbox({ podSandboxId: id });
        }),
      );
      // Each round lets some be whole, and catches the others, or their removal, wherever they are.
      await new Promise((resolve) => setTimeout(resolve, 50));
      await until(
        () => made,
        (count) => count >= round % 4,
      );
      await end(doomed, 'SIGKILL');
      await calls;
      const next = await program.start(node);
      const { items } = await node.client.listPodSandbox({});
      for (const { id, state } of items.filter((each) => each.state === SANDBOX_READY)) {
        const { status } = await node.client.podSandboxStatus({ podSandboxId: id });
        expect(status?.network?.ip, `${state}`).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      }
      const names = new Set(items.map(({ id }) => `plv${id.slice(0, 12)}`));
      const records = await readdir(`${node.root}/network/pods`);
      expect(records.filter((name) => !names.has(`plv${name.slice(0, 12)}`))).toEqual([]);
      await node.clear();
      expect(await readdir(`${node.root}/network/pods`)).toEqual([]);
      await until(
        () => inventory(node.folder),
        ({ processes }) => processes === 0,
      );
      const { links } = await inventory(node.folder);
      expect(links.filter((name) => names.has(name))).toEqual([]);
      await end(next, 'SIGTERM');
    }
    expect(await readdir(`${node.root}/network`)).not.toContain('bridge.json');
  });
});
