import { credentials, type ClientReadableStream, status, type StatusObject } from '@grpc/grpc-js';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cri } from '../../src/watch/cri/index.js';
import { CONTAINER_EXITED, CONTAINER_RUNNING, EmbeddedNode, until } from './embedded-node.js';

type Event = cri.ContainerEventResponse;
const WORDS = ['created', 'started', 'stopped', 'deleted'];

/** A reader of the generated client, so that its pace is in the test's hand. Ready once the server has it. */
async function openReader(node: EmbeddedNode) {
  const client = new cri.RuntimeServiceClient(node.listen, credentials.createInsecure());
  const stream: ClientReadableStream<Event> = client.getContainerEvents({});
  stream.on('error', () => undefined);
  await new Promise((resolve) => stream.once('metadata', resolve));
  return { client, stream };
}

/** A reader that has taken the subscription and then reads nothing: grpc-js itself would go on reading for it. */
async function openSleeper(node: EmbeddedNode) {
  const session = connect('http://localhost', {
    createConnection: () => createConnection(join(node.folder, 'cri.sock')),
  });
  const request = session.request({
    ':method': 'POST',
    ':path': cri.RuntimeServiceService.getContainerEvents.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  // One message of no bytes.
  request.end(Buffer.alloc(5));
  await new Promise((resolve) => request.once('response', resolve));
  return { session, request };
}

function collect(stream: ClientReadableStream<Event>): Event[] {
  const events: Event[] = [];
  stream.on('data', (event: Event) => events.push(event));
  return events;
}

describe('GetContainerEvents of the embedded runtime', () => {
  it('tells the whole life of a pod in order, with the state of the pod in each event', async () => {
    await using node = await EmbeddedNode.start();
    const { client, stream } = await openReader(node);
    const events = collect(stream);
    const pod = await node.runPod('p');
    const id = await node.run(pod, 'c', 'exit 3');
    await node.exited(id);
    await node.client.stopPodSandbox({ podSandboxId: pod });
    await node.client.removePodSandbox({ podSandboxId: pod });
    await until(
      () => events.length,
      (count) => count >= 8,
    );
    client.close();

    const story = events.map(
      (e) => `${e.containerId === pod ? 'pod' : 'container'} ${WORDS[e.containerEventType]}`,
    );
    expect(story).toEqual([
      'pod created',
      'pod started',
      'container created',
      'container started',
      'container stopped',
      'pod stopped',
      'container deleted',
      'pod deleted',
    ]);
    const [, , , started, stopped, podStopped, deleted, podDeleted] = events;
    expect(started?.containersStatuses).toMatchObject([{ id, state: CONTAINER_RUNNING }]);
    expect(stopped?.containersStatuses).toMatchObject([{ id, state: CONTAINER_EXITED, exitCode: 3 }]);
    expect(stopped?.podSandboxStatus).toMatchObject({ id: pod, metadata: { uid: 'uid-p' }, state: 0 });
    expect(stopped!.createdAt).toBeGreaterThanOrEqual(stopped!.containersStatuses[0]!.finishedAt);
    expect(podStopped?.podSandboxStatus?.state).toBe(1);
    expect(deleted?.containersStatuses).toEqual([]);
    expect(deleted?.podSandboxStatus?.id).toBe(pod);
    expect(podDeleted?.podSandboxStatus).toBeUndefined();
    const times = events.map((event) => event.createdAt);
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
  });

  it('sends an exit only after ContainerStatus shows it', async () => {
    await using node = await EmbeddedNode.start();
    const { client, stream } = await openReader(node);
    const seen: Promise<number>[] = [];
    const pod = await node.runPod('p');
    stream.on('data', ({ containerEventType, containerId }: Event) => {
      if (containerEventType !== 2 || containerId === pod) return;
      seen.push(node.status(containerId).then(({ state }) => state));
    });
    for (let at = 0; at < 10; at++) await node.run(pod, `c${at}`, 'exit 0');
    await until(
      () => seen.length,
      (count) => count === 10,
    );
    expect(new Set(await Promise.all(seen))).toEqual(new Set([CONTAINER_EXITED]));
    client.close();
  });

  it('gives every event to each of several readers, of whom some never read', async () => {
    await using node = await EmbeddedNode.start();
    const asleep = [await openSleeper(node), await openSleeper(node)];
    const readers = [await openReader(node), await openReader(node), await openReader(node)];
    const heard = readers.map(({ stream }) => collect(stream));
    const pods = await Promise.all(Array.from({ length: 30 }, (_, at) => node.runPod(`p${at}`)));
    await Promise.all(pods.map((podSandboxId) => node.client.removePodSandbox({ podSandboxId })));
    await until(
      () => Math.min(...heard.map((events) => events.length)),
      (count) => count === 120,
    );
    const ids = heard.map((events) =>
      events.map((event) => `${event.containerId} ${event.containerEventType}`),
    );
    expect(ids[1]).toEqual(ids[0]);
    expect(ids[2]).toEqual(ids[0]);
    for (const { client } of readers) client.close();
    for (const { session } of asleep) session.destroy();
  });

  it('drops a reader that falls too far behind, so that it connects again, and nobody waits for it', async () => {
    // The connection takes a few events before they wait at all: there are enough more.
    const eventQueueCapacity = 50;
    await using node = await EmbeddedNode.start({ eventQueueCapacity });
    const slow = await openSleeper(node);
    const quick = await openReader(node);
    const heard = collect(quick.stream);
    const annotations = { filler: 'x'.repeat(20_000) };
    const rounds = eventQueueCapacity / 2;
    for (let at = 0; at < rounds; at++) {
      const podSandboxId = await node.runPod(`p${at}`, { annotations });
      await node.client.removePodSandbox({ podSandboxId });
    }
    await until(
      () => heard.length,
      (count) => count === rounds * 4,
    );
    const { info } = await node.client.status({ verbose: true });
    expect(JSON.parse(info['config'] ?? '')).toMatchObject({ eventReadersDropped: 1, eventReaders: 1 });
    // Once it wakes up it gets what was under way, and then the reason.
    const trailers = new Promise<IncomingHttpHeaders>((resolve) => slow.request.once('trailers', resolve));
    slow.request.resume();
    expect(await trailers).toMatchObject({ 'grpc-status': String(status.UNAVAILABLE) });
    slow.session.destroy();
    quick.client.close();
  });

  it('ends the streams in good order when the runtime ends', async () => {
    await using node = await EmbeddedNode.start();
    const { client, stream } = await openReader(node);
    stream.resume();
    const ended = new Promise<StatusObject>((resolve) => stream.once('status', resolve));
    await node.runtime?.close();
    expect((await ended).code).toBe(status.OK);
    client.close();
    node.runtime = undefined;
  });
});
