import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChannelClient } from '#support/clients/channel-client.js';
import { execRequest, StreamingHarness } from '#support/harness/streaming-harness.js';
import { type StreamRequest } from '../stream-request.js';

let lab: StreamingHarness;

beforeEach(async () => {
  lab = await StreamingHarness.start();
});

afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

function open(request: StreamRequest, ...protocols: string[]): Promise<ChannelClient> {
  return ChannelClient.open(lab.server.grant(request), ...protocols);
}

const V5 = 'v5.channel.k8s.io';

describe('exec through a WebSocket', () => {
  it.each([V5, 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io'])(
    'gives both outputs, the exit code and a normal close: %s',
    async (protocol) => {
      const client = await open(execRequest('echo out; echo err >&2; exit 3'), protocol);
      expect(await client.closed).toBe(1000);
      expect(client.socket.protocol).toBe(protocol);
      expect(client.channels.slice(1, 3)).toEqual(['out\n', 'err\n']);
      expect(client.status).toMatchObject({ details: { causes: [{ reason: 'ExitCode', message: '3' }] } });
    },
  );

  it.each([['channel.k8s.io'], ['base64.channel.k8s.io'], []])(
    'says in words that a command failed, and nothing when it did not: %s',
    async (...protocols) => {
      const failed = await open(execRequest('exit 3'), ...protocols);
      await failed.closed;
      expect(failed.text(3)).toBe('command terminated with non-zero exit code: 3');
      const fine = await open(execRequest('true'), ...protocols);
      await fine.closed;
      expect(fine.text(3)).toBe('');
    },
  );

  it.each([V5, 'v4.base64.channel.k8s.io'])('passes input on: %s', async (protocol) => {
    const client = await open(execRequest('read x; echo "got $x"', { stdin: true }), protocol);
    client.send(0, 'hello\n');
    await client.closed;
    expect(client.channels[1]).toBe('got hello\n');
  });

  it('passes the end of the input on', async () => {
    const client = await open(execRequest('cat; echo done', { stdin: true }), V5);
    client.send(0, 'hello\n');
    client.endInput();
    expect(await client.closed).toBe(1000);
    expect(client.channels[1]).toBe('hello\ndone\n');
    expect(client.status).toMatchObject({ status: 'Success' });
  });

  it('carries much output to a client at its own pace', async () => {
    const client = await open(execRequest('head -c 20000000 /dev/zero'), V5);
    client.socket.pause();
    for (let others = 0; others < 5; others++) await lab.serveOther();
    client.socket.resume();
    await client.closed;
    expect(client.channels[1]).toHaveLength(20_000_000);
  });

  it('gives a command a terminal of the size that the client says', async () => {
    const shell = 'until [ "$(stty size)" = "45 123" ]; do sleep 0.02; done; tty; echo err >&2; exit 5';
    const client = await open(execRequest(shell, { tty: true, stdin: true }), V5);
    client.send(4, '{"Width":123,"Height":45}');
    await client.closed;
    expect(client.channels[1]).toMatch(/^\/dev\/pts\/\d+\r\nerr\r\n$/);
    expect(client.text(2)).toBe('');
    expect(client.status).toMatchObject({ details: { causes: [{ message: '5' }] } });
  });

  it('kills the command when the client leaves', async () => {
    const client = await open(execRequest('echo $$; exec sleep 1000'), V5);
    await client.see(1, /\n/);
    client.socket.terminate();
    await lab.idle();
    expect(() => process.kill(Number(client.channels[1]), 0)).toThrow();
  });

  it('says why a command cannot be run', async () => {
    const client = await open({ ...execRequest(''), argv: ['/no/such/program'] }, V5);
    await client.closed;
    expect(client.status).toMatchObject({ status: 'Failure', reason: 'InternalError' });
  });

  it('does not wait for one who holds the output and says nothing', async () => {
    const client = await open(execRequest('sleep 1000 & echo $!'), V5);
    await client.closed;
    process.kill(Number(client.channels[1]), 'SIGKILL');
    expect(client.status).toMatchObject({ status: 'Success' });
  });
});

describe('attach through a WebSocket', () => {
  const request = {
    kind: 'attach',
    containerId: 'c',
    tty: false,
    stdin: true,
    stdout: true,
    stderr: true,
  } as const;

  it('joins the client with the container until the container ends', async () => {
    const client = await open(request, V5);
    client.send(0, 'to the container');
    client.send(4, '{"Width":80,"Height":25}');
    lab.container.stdout.write('from it');
    lab.container.stderr.write('errors');
    await client.see(1, /from it/);
    await client.see(2, /errors/);
    const [input] = (await once(lab.container.stdin, 'data')) as [Buffer];
    expect(input.toString()).toBe('to the container');
    while (lab.container.sizes.length === 0) await lab.clock.sleep(5);
    lab.container.end();
    expect(await client.closed).toBe(1000);
    expect(lab.container.sizes).toEqual([[80, 25]]);
    expect(client.status).toMatchObject({ status: 'Success' });
  });

  it('lets go of the container when the client leaves', async () => {
    const client = await open(request, V5);
    lab.container.stdout.write('here');
    await client.see(1, /here/);
    client.socket.terminate();
    await lab.idle();
    expect(lab.container.closed).toBe(true);
    expect(lab.container.stdin.writableEnded).toBe(false);
  });

  it('says that there is nothing to attach to', async () => {
    const client = await open({ ...request, containerId: 'gone' }, V5);
    await client.closed;
    expect(client.status).toMatchObject({ message: 'Internal error occurred: container is not running' });
  });
});
