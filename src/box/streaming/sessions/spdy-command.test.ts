import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SpdyClient, type SpdyClientStream } from '#support/clients/spdy-client.js';
import { execRequest, StreamingHarness } from '#support/harness/streaming-harness.js';
import { type StreamRequest } from '../stream-request.js';

let lab: StreamingHarness;

beforeEach(async () => {
  lab = await StreamingHarness.start();
});

afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

const ALL = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'];

/** Opens the streams of a request, in the order of client-go. */
async function open(request: StreamRequest, ...protocols: string[]) {
  const client = await SpdyClient.connect(lab.server.grant(request), ...protocols);
  const streams: Record<string, SpdyClientStream> = {};
  const { tty, stdin, stdout, stderr } = request as StreamRequest & { kind: 'exec' };
  const resize = tty && /^v[34]/.test(client.protocol);
  const wanted = Object.entries({ error: true, stdin, stdout, stderr, resize }).filter(([, yes]) => yes);
  for (const [streamtype] of wanted) streams[streamtype] = await client.open({ streamtype });
  await Promise.all(Object.values(streams).map((stream) => stream.replied));
  return {
    client,
    streams: streams as Record<'error' | 'stdin' | 'stdout' | 'stderr' | 'resize', SpdyClientStream>,
  };
}

describe('exec through SPDY/3.1', () => {
  it('gives both outputs, the exit code and a goodbye', async () => {
    const { client, streams } = await open(execRequest('echo out; echo err >&2; exit 3'), ...ALL);
    expect(client.protocol).toBe('v4.channel.k8s.io');
    expect((await streams.stdout.ended).toString()).toBe('out\n');
    expect((await streams.stderr.ended).toString()).toBe('err\n');
    expect(JSON.parse((await streams.error.ended).toString())).toMatchObject({
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
    client.socket.end();
    await client.closed;
    expect(client.goAway).toBe(0);
    expect(client.replyBlocks.map((block) => block.toString('hex'))).toEqual(Array(3).fill('00000000'));
  });

  it.each(ALL.slice(1))('says in words that a command failed: %s', async (protocol) => {
    const { streams } = await open(execRequest('exit 4'), protocol);
    expect((await streams.error.ended).toString()).toBe('command terminated with non-zero exit code: 4');
    const { streams: fine } = await open(execRequest('true'), protocol);
    expect((await fine.error.ended).toString()).toBe('');
  });

  it('passes input and its end on, many megabytes of it, to a client that grants no windows', async () => {
    const { streams } = await open(execRequest('cat', { stdin: true }), ...ALL);
    const text = Buffer.alloc(8_000_000, 'input ');
    for (let at = 0; at < text.length; at += 32_768) streams.stdin.write(text.subarray(at, at + 32_768));
    streams.stdin.end();
    expect((await streams.stdout.ended).equals(text)).toBe(true);
    expect(JSON.parse((await streams.error.ended).toString())).toMatchObject({ status: 'Success' });
  });

  it('grants what was read, and sends no more than what it is granted once it was', async () => {
    const { client, streams } = await open(execRequest('head -c 100; cat', { stdin: true }), ...ALL);
    // Windows of 100 bytes for streams, which were 64 KiB before; a byte more for the connection shows that we count.
    client.sendFrame(4, Buffer.from([0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 100]));
    client.sendFrame(9, Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]));
    streams.stdin.write(Buffer.alloc(100_000, 'x'));
    while (streams.stdout.data.length < 100) await lab.clock.sleep(5);
    // The command has all of its input by then, and would have answered with more.
    while ((client.granted.get(streams.stdin.id) ?? 0) < 30_000) await lab.clock.sleep(5);
    await lab.untilSteady(() => streams.stdout.data.length);
    expect(streams.stdout.data).toHaveLength(100);
    const more = Buffer.alloc(8);
    more.writeUInt32BE(streams.stdout.id, 0);
    more.writeUInt32BE(50, 4);
    client.sendFrame(9, more);
    while (streams.stdout.data.length < 150) await lab.clock.sleep(5);
    expect(client.granted.get(streams.stdin.id)).toBeGreaterThan(30_000);
    expect(client.granted.get(0)).toBeGreaterThan(30_000);
  });

  it('gives a command a terminal of the size that the client says, and changes it', async () => {
    const shell =
      'size() { until [ "$(stty size)" = "$1" ]; do sleep 0.02; done; echo "$1"; }; size "24 80"; size "45 123"';
    const { streams } = await open(execRequest(shell, { tty: true, stdin: true }), ...ALL);
    streams.resize.write('{"Width":80,"Height":24}\n');
    while (!streams.stdout.data.includes('24 80')) await lab.clock.sleep(5);
    streams.resize.write('{"Width":123,"Height":45}\n');
    expect((await streams.stdout.ended).toString()).toBe('24 80\r\n45 123\r\n');
  });

  it('kills the command when the client leaves, by a goodbye or without one', async () => {
    for (const leave of [
      (client: SpdyClient) => client.sendFrame(7, Buffer.alloc(8)),
      (client: SpdyClient) => client.socket.destroy(),
    ]) {
      const { client, streams } = await open(execRequest('echo $$; exec sleep 1000'), ...ALL);
      while (!streams.stdout.data.includes('\n')) await lab.clock.sleep(5);
      leave(client);
      await lab.idle();
      expect(() => process.kill(Number(streams.stdout.data.toString()), 0)).toThrow();
    }
  });

  it('goes on when the command does not want its input', async () => {
    const { streams } = await open(execRequest('exec <&-; sleep 0.2; echo fine', { stdin: true }), ...ALL);
    for (let sent = 0; sent < 100; sent++) streams.stdin.write(Buffer.alloc(50_000));
    expect((await streams.stdout.ended).toString()).toBe('fine\n');
  });

  it('answers pings, with the same number', async () => {
    const { client } = await open(execRequest('sleep 5'), ...ALL);
    client.sendFrame(6, Buffer.from([0, 0, 0, 9]));
    while (client.pongs.length === 0) await lab.clock.sleep(5);
    expect(client.pongs).toEqual([9]);
  });

  it('refuses streams that the request does not have', async () => {
    const client = await SpdyClient.connect(lab.server.grant(execRequest('true')), ...ALL);
    const stdin = await client.open({ streamtype: 'stdin' });
    await expect(stdin.replied).rejects.toThrow('reset with status 3');
  });
});

describe('the streams of a request that do not come', () => {
  it('are not waited for for ever', async () => {
    await using impatient = await StreamingHarness.start({ streamCreationTimeoutMs: 50 });
    const client = await SpdyClient.connect(impatient.server.grant(execRequest('true')), ...ALL);
    await client.open({ streamtype: 'error' });
    client.socket.once('end', () => client.socket.end());
    await client.closed;
    await impatient.idle();
    expect(client.goAway).toBe(0);
  });
});

describe('the upgrade to SPDY/3.1', () => {
  it('takes the first version that both sides know', async () => {
    const { client } = await open(
      execRequest('true'),
      'v9.channel.k8s.io',
      'v3.channel.k8s.io',
      'v4.channel.k8s.io',
    );
    expect(client.protocol).toBe('v3.channel.k8s.io');
  });

  it('is refused without one, and says what there is', async () => {
    const url = lab.server.grant(execRequest('true'));
    await expect(SpdyClient.connect(url, 'v9.channel.k8s.io')).rejects.toThrow(`403 ${ALL.join(', ')}`);
    await expect(SpdyClient.connect(lab.server.grant(execRequest('true')))).rejects.toThrow('400');
  });
});
