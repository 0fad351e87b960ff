import { describe, expect, it } from 'vitest';
import { HeldTransport } from '#support/fakes/held-transport.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { GrpcStatusError, type Transport } from '#watch';
import { ContainerEvent, Envelope, SubscribeRequest, TaskEvent, TaskExit } from '#watch/containerd';
import { ReadingTransport } from './reading-transport.js';
import { SUBSCRIBE_PATH, watchContainerdEvents } from './containerd-events.js';

/** Bytes as containerd sends them. */
function pack(topic: string, typeUrl: string, value: Uint8Array): Buffer {
  return Buffer.from(
    Envelope.encode({
      ...{ namespace: 'k8s.io', topic, timestamp: { seconds: 7n, nanos: 5 } },
      event: { typeUrl, value: Buffer.from(value) },
    }).finish(),
  );
}

/** Subscribes; `send` delivers a message, `end` ends the stream. */
function setUp() {
  const logger = new LogRecorder();
  const heard: unknown[] = [];
  let skipped = 0;
  const wire = {
    send: (_bytes: Buffer): void => undefined,
    end: (_error?: Error): void => undefined,
    isCancelled: false,
    filters: [] as readonly string[],
  };
  const transport: Pick<Transport, 'stream'> = {
    stream: (path, request, handlers) => {
      expect(path).toBe(SUBSCRIBE_PATH);
      wire.filters = SubscribeRequest.decode(request).filters;
      wire.send = (bytes) => handlers.onMessage(bytes);
      const ended = new Promise<void>((resolve, reject) => {
        wire.end = (error) => {
          if (error === undefined) resolve();
          else reject(error);
        };
      });
      const cancel = (): void => {
        wire.isCancelled = true;
        wire.end(new GrpcStatusError(1, 'cancelled'));
      };
      return { ended, cancel, pause: () => undefined, resume: () => undefined };
    },
  };
  const ending = new AbortController();
  const watching = watchContainerdEvents(
    { transport, logger, findPodUid: (id) => (id === 'known' ? 'uid' : undefined) },
    { onEvent: (event) => void heard.push(event), onSkipped: () => (skipped += 1) },
    ending.signal,
  );
  return { wire, heard, logger, ending, watching, skipped: () => skipped };
}

describe('events of containerd', () => {
  it('are those of containers and sandboxes that CRI made', async () => {
    const { wire, ending, watching } = setUp();
    expect(wire.filters).toEqual(
      ['/tasks/start', '/tasks/exit', '/tasks/oom', '/containers/delete'].map(
        (topic) => `namespace=="k8s.io",topic=="${topic}"`,
      ),
    );
    ending.abort(new Error('enough'));
    await expect(watching).rejects.toThrow('enough');
    expect(wire.isCancelled).toBe(true);
  });

  it('say what happened to which container, with its pod where a list has shown it', async () => {
    const { wire, heard, watching } = setUp();
    const task = (containerId: string) => TaskEvent.encode({ containerId }).finish();
    wire.send(pack('/tasks/start', 'containerd.events.TaskStart', task('new')));
    const exit = TaskExit.encode({ containerId: 'known', id: 'known' }).finish();
    wire.send(pack('/tasks/exit', 'containerd.events.TaskExit', exit));
    wire.send(pack('/tasks/oom', 'containerd.events.TaskOOM', task('known')));
    const removed = ContainerEvent.encode({ id: 'known' }).finish();
    wire.send(pack('/containers/delete', 'containerd.events.ContainerDelete', removed));
    const createdAtNs = 7_000_000_005n;
    expect(heard).toEqual([
      { type: 'started', containerId: 'new', podUid: undefined, createdAtNs },
      { type: 'stopped', containerId: 'known', podUid: 'uid', createdAtNs },
      { type: 'unknown', containerId: 'known', podUid: 'uid', createdAtNs },
      { type: 'deleted', containerId: 'known', podUid: 'uid', createdAtNs },
    ]);
    wire.end();
    await watching;
  });

  it('are not the ends of execs, nor topics that nobody asked for', async () => {
    const { wire, heard, watching, skipped } = setUp();
    const exec = TaskExit.encode({ containerId: 'known', id: 'probe' }).finish();
    wire.send(pack('/tasks/exit', 'containerd.events.TaskExit', exec));
    wire.send(pack('/images/create', 'containerd.events.ImageCreate', Buffer.from('x')));
    expect([heard, skipped()]).toEqual([[], 0]);
    wire.end();
    await watching;
  });

  it('that cannot be decoded are skipped, and nothing ends', async () => {
    const { wire, heard, watching, skipped, logger } = setUp();
    wire.send(Buffer.from([0x0a, 0xff]));
    expect([heard, skipped(), logger.complaints.length]).toEqual([[], 1, 1]);
    wire.end();
    await watching;
  });

  it.each([
    [12, 'CRI_UNIMPLEMENTED'],
    [14, 'CRI_UNAVAILABLE'],
  ])('end with the reason of the runtime: status %i', async (status, code) => {
    const { wire, watching } = setUp();
    wire.end(new GrpcStatusError(status, 'no'));
    await expect(watching).rejects.toMatchObject({ code });
  });

  it('hold up no list, and are not recorded', async () => {
    const wire = new HeldTransport();
    const taps: string[] = [];
    const tap = {
      sent: (path: string) => {
        taps.push(path);
        return { message: () => undefined, ended: () => undefined };
      },
    };
    const reading = new ReadingTransport(wire, tap);
    reading
      .stream(SUBSCRIBE_PATH, new Uint8Array(), { onMessage: () => undefined })
      .ended.catch(() => undefined);
    reading
      .unary('/runtime.v1.RuntimeService/ListContainers', new Uint8Array())
      .answer.catch(() => undefined);
    await wire.settle();
    expect(wire.openPaths()).toEqual(['Subscribe', 'ListContainers']);
    expect(taps).toEqual(['/runtime.v1.RuntimeService/ListContainers']);
    wire.close();
  });
});
