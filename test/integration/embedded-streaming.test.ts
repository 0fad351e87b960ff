/**
 * Exec, Attach and PortForward of a whole runtime: from the call to the last byte, in each isolation.
 *
 * @module
 */
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { ChannelClient } from '#support/clients/channel-client.js';
import { SpdyClient } from '#support/clients/spdy-client.js';
import { EmbeddedNode, HOST_IMAGE, ISOLATIONS, logLines, until } from './embedded-node.js';

const V5 = 'v5.channel.k8s.io';
const FORWARD = 'portforward.k8s.io';
/** As long as it gets, nearly. */
const HIDDEN = `not for everybody ${'x'.repeat(100_000)}`;

describe.each(ISOLATIONS)('streams of containers (isolation: %s)', (isolation) => {
  let node: EmbeddedNode;
  let pod = '';
  let idle = '';
  let count = 0;

  beforeAll(async () => {
    node = await EmbeddedNode.start({ isolation });
    pod = await node.runPod('streams');
    idle = await node.run(pod, 'idle', 'trap exit TERM; while :; do sleep 1; done', {
      envs: [
        { key: 'GREETING', value: Buffer.from('hello') },
        { key: 'HIDDEN', value: Buffer.from(HIDDEN) },
      ],
    });
  });

  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });

  const streams = { stdin: true, stdout: true, stderr: true };

  async function exec(script: string, more: Partial<Record<'tty' | keyof typeof streams, boolean>> = {}) {
    const request = { containerId: idle, cmd: ['sh', '-c', script], stdout: true, stderr: true, ...more };
    return (await node.client.exec(request)).url;
  }

  it('exec runs with the environment of the container and gives its exit code', async () => {
    const client = await ChannelClient.open(await exec('echo "$GREETING"; echo bad >&2; exit 9'), V5);
    expect(await client.closed).toBe(1000);
    expect([client.text(1), client.text(2)]).toEqual(['hello\n', 'bad\n']);
    expect(client.status).toMatchObject({ details: { causes: [{ reason: 'ExitCode', message: '9' }] } });
  });

  it('exec by SPDY gives both outputs, takes input and its end', async () => {
    const url = await exec('cat; cat /no/such/file', { stdin: true });
    const client = await SpdyClient.connect(url, 'v4.channel.k8s.io');
    const error = await client.open({ streamtype: 'error' });
    const stdin = await client.open({ streamtype: 'stdin' });
    const stdout = await client.open({ streamtype: 'stdout' });
    const stderr = await client.open({ streamtype: 'stderr' });
    await stdin.replied;
    stdin.write('through the container\n');
    stdin.end();
    expect((await stdout.ended).toString()).toBe('through the container\n');
    expect((await stderr.ended).toString()).toContain('/no/such/file');
    expect(JSON.parse((await error.ended).toString())).toMatchObject({ reason: 'NonZeroExitCode' });
  });

  it('exec at a terminal has its size, its Ctrl-C and its exit code', async () => {
    // A shell that waits for one long command could get its Ctrl-C just before it starts it, and would wait for it.
    const script =
      'trap "echo caught; exit 4" INT; until [ "$(stty size)" = "45 123" ]; do sleep 0.02; done; echo set; while :; do sleep 0.05; done';
    const client = await ChannelClient.open(
      await exec(script, { tty: true, stdin: true, stderr: false }),
      V5,
    );
    client.send(4, '{"Width":123,"Height":45}');
    await client.see(1, /set\r\n/);
    client.send(0, '\x03');
    expect(await client.closed).toBe(1000);
    expect(client.text(1)).toMatch(/caught\r\n$/);
    expect(client.status).toMatchObject({ details: { causes: [{ message: '4' }] } });
  });

  it('no command line tells what the variables of a container are, while a command is at a terminal', async () => {
    const script = 'echo "length ${#HIDDEN}"; read x';
    const terminal = { tty: true, stdin: true, stderr: false };
    const client = await ChannelClient.open(await exec(script, terminal), V5);
    await client.see(1, new RegExp(`length ${HIDDEN.length}\\r\\n`));
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(
      pids.map(async (pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    );
    expect(lines.some((line) => line.includes('sleep'))).toBe(true);
    expect(lines.filter((line) => line.includes('not for everybody'))).toEqual([]);
    client.send(0, '\n');
    expect(await client.closed).toBe(1000);
  });

  it('a command can open its outputs again by their names', async () => {
    const script = 'echo out >/dev/stdout; echo bad >/dev/stderr';
    const client = await ChannelClient.open(await exec(script), V5);
    await client.closed;
    expect([client.text(1), client.text(2)]).toEqual(['out\n', 'bad\n']);
    const { stdout, stderr } = await node.client.execSync({ containerId: idle, cmd: ['sh', '-c', script] });
    expect([stdout.toString(), stderr.toString()]).toEqual(['out\n', 'bad\n']);
  });

  it('a command ends with its client, and so does what it has started', async () => {
    const mark = `31${isolation.length}41`;
    const client = await ChannelClient.open(
      await exec(`trap "" HUP; sleep ${mark} & echo started; wait`),
      V5,
    );
    await client.see(1, /started/);
    client.socket.terminate();
    const look = { containerId: idle, cmd: ['sh', '-c', `cat /proc/[0-9]*/cmdline | tr "\\0" " "`] };
    await until(
      async () => (await node.client.execSync(look)).stdout.toString(),
      (found) => !found.includes(`sleep ${mark}`),
    );
  });

  it('a command that cannot be run says so to its client', async () => {
    const { url } = await node.client.exec({ containerId: idle, cmd: ['/no/such'], stdout: true });
    const client = await ChannelClient.open(url, V5);
    await client.closed;
    expect(client.status).toMatchObject({ status: 'Failure', reason: 'InternalError' });
  });

  it('attach gives what the container writes from then on, and ends with it', async () => {
    const name = `steps-${count++}`;
    const script = 'echo before; read x; echo "got $x"; echo bad >&2; exit 3';
    const containerId = await node.run(pod, name, script, { stdin: true, stdinOnce: true });
    await until(
      () => node.log(name),
      (log) => log.includes('before'),
    );
    const client = await ChannelClient.open((await node.client.attach({ containerId, ...streams })).url, V5);
    client.send(0, 'word\n');
    expect(await client.closed).toBe(1000);
    expect([client.text(1), client.text(2)]).toEqual(['got word\n', 'bad\n']);
    expect(client.status).toMatchObject({ status: 'Success' });
    expect((await node.exited(containerId)).exitCode).toBe(3);
    // In the log as ever: attaching takes nothing away.
    expect(logLines(await node.log(name))).toEqual(
      expect.arrayContaining(['stdout F before', 'stdout F got word', 'stderr F bad']),
    );
  });

  it('the end of the input is passed on to a container that takes input once, and only to it', async () => {
    const once = await node.run(pod, `cat-${count++}`, 'cat; echo over', { stdin: true, stdinOnce: true });
    const client = await ChannelClient.open(
      (await node.client.attach({ containerId: once, ...streams })).url,
      V5,
    );
    client.send(0, 'text\n');
    await client.see(1, /text/);
    client.endInput();
    await client.closed;
    expect(client.text(1)).toBe('text\nover\n');

    const open = await node.run(pod, `cat-${count++}`, 'cat', { stdin: true });
    for (const word of ['first', 'second']) {
      const { url } = await node.client.attach({ containerId: open, ...streams });
      const visitor = await ChannelClient.open(url, V5);
      visitor.send(0, `${word}\n`);
      await visitor.see(1, new RegExp(word));
      visitor.endInput();
      visitor.socket.terminate();
    }
    expect((await node.status(open)).exitCode).toBe(0);
    await node.client.removeContainer({ containerId: open });
  });

  it('attach to a terminal has its size and what is typed', async () => {
    const script = 'until [ "$(stty size)" = "30 99" ]; do sleep 0.02; done; echo set; read x; echo "got $x"';
    const containerId = await node.run(pod, `tty-${count++}`, script, { stdin: true, tty: true });
    const request = { containerId, stdin: true, stdout: true, tty: true };
    const client = await ChannelClient.open((await node.client.attach(request)).url, V5);
    client.send(4, '{"Width":99,"Height":30}');
    await client.see(1, /set\r\n/);
    client.send(0, 'word\r');
    expect(await client.closed).toBe(1000);
    expect(client.text(1)).toMatch(/got word\r\n$/);
  });

  it('a port of the pod is forwarded, from its loopback', async () => {
    const port = isolation === 'none' ? await findFreePort() : 8_080;
    // No network tool is certain to be in reach but Node itself.
    const server = `require("net").createServer((s) => s.end("from the pod")).listen(${port}, "127.0.0.1")`;
    const command = [process.execPath, '-e', server];
    await node.run(pod, `server-${count++}`, '', { command, image: { image: HOST_IMAGE } });
    const { url } = await node.client.portForward({ podSandboxId: pod, port: [] });
    const client = await SpdyClient.connect(url, FORWARD);
    let answer = '';
    for (let requestid = 0; answer === ''; requestid++) {
      const headers = { port: String(port), requestid: String(requestid) };
      await client.open({ ...headers, streamtype: 'error' });
      const data = await client.open({ ...headers, streamtype: 'data' });
      // Refused until the server listens.
      answer = await data.ended.then(String, () => '');
    }
    expect(answer).toBe('from the pod');
    client.socket.destroy();
  });

  it('end with a pod that is removed while somebody is attached and a port is forwarded', async () => {
    const port = isolation === 'none' ? await findFreePort() : 8_080;
    const leaving = await node.runPod('leaving');
    const server = `require("net").createServer((s) => s.write("here")).listen(${port}, "127.0.0.1", () => setInterval(() => console.log("up"), 20))`;
    const command = [process.execPath, '-e', server];
    const containerId = await node.run(leaving, 'server', '', { command, image: { image: HOST_IMAGE } });
    const attach = await node.client.attach({ containerId, stdout: true, stderr: true });
    const attached = await ChannelClient.open(attach.url, V5);
    await attached.see(1, /up/);
    const { url } = await node.client.portForward({ podSandboxId: leaving, port: [] });
    const client = await SpdyClient.connect(url, FORWARD);
    const forward = async (requestid: string) => {
      const headers = { port: String(port), requestid };
      const error = await client.open({ ...headers, streamtype: 'error' });
      return { error, data: await client.open({ ...headers, streamtype: 'data' }) };
    };
    const { data } = await forward('0');
    await until(
      () => data.data.toString(),
      (text) => text === 'here',
    );
    await node.client.stopPodSandbox({ podSandboxId: leaving });
    await node.client.removePodSandbox({ podSandboxId: leaving });
    expect(await attached.closed).toBe(1000);
    await data.ended.catch(() => undefined);
    const again = await forward('1');
    expect((await again.error.ended).toString()).toContain(`error forwarding port ${port}`);
    client.socket.destroy();
  });

  it('a port of the host is none of a pod with a network of its own', async () => {
    const server = createServer((socket) => socket.end('from the host'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { url } = await node.client.portForward({ podSandboxId: pod, port: [] });
    const client = await SpdyClient.connect(url, FORWARD);
    const error = await client.open({ port: String(port), requestid: '0', streamtype: 'error' });
    const data = await client.open({ port: String(port), requestid: '0', streamtype: 'data' });
    data.end();
    const message = (await error.ended).toString();
    if (isolation === 'none') expect(message).toBe('');
    else expect(message).toContain(`error forwarding port ${port}`);
    client.socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('streams of a runtime that ends', () => {
  it('end with it, and so do their commands; containers go on', async () => {
    await using node = await EmbeddedNode.start();
    const pod = await node.runPod('ends');
    const containerId = await node.run(pod, 'main', 'echo up; sleep 1000');
    const { url } = await node.client.exec({
      containerId,
      cmd: ['sh', '-c', 'echo $$; sleep 1000'],
      stdout: true,
    });
    const client = await ChannelClient.open(url, V5);
    await client.see(1, /\d+\n/);
    await node.runtime?.close();
    await client.closed;
    await until(
      () => isThere(Number(client.text(1))),
      (there) => !there,
    );
    await node.startInside();
    expect((await node.status(containerId)).exitCode).toBe(0);
    expect((await node.status(containerId)).finishedAt).toBe(0n);
  });
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
