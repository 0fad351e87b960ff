import { describe, expect, it } from 'vitest';
import { CRI_METHODS, CriClient, type CriMethodName } from '#watch';
import { type CallTap, READING_METHODS, ReadingTransport } from './reading-transport.js';
import { HeldTransport } from '#support/fakes/held-transport.js';

const NAMES = Object.keys(CRI_METHODS) as CriMethodName[];
const isReading = (name: CriMethodName): boolean =>
  (READING_METHODS as readonly CriMethodName[]).includes(name);

function setUp(tap?: CallTap) {
  const wire = new HeldTransport();
  const client = new CriClient({ transport: new ReadingTransport(wire, tap) });
  /** Calls a method as a user of the client would; the first message of a stream is enough. */
  const call = async (name: CriMethodName, request: object = {}): Promise<unknown> => {
    const method: (request: object) => unknown = client[name].bind(client);
    const answer = method(request);
    if (!CRI_METHODS[name].streaming) return await answer;
    for await (const message of answer as AsyncIterable<unknown>) return message;
    return undefined;
  };
  return { wire, client, call };
}

describe('a client of an observer', () => {
  it.each(NAMES.filter((name) => !isReading(name)))('never sends %s', async (name) => {
    const { wire, call } = setUp();
    await expect(call(name)).rejects.toMatchObject({ code: 'CRI_PERMISSION_DENIED' });
    expect(wire.paths).toEqual([]);
  });

  it.each(NAMES.filter(isReading))('sends %s', async (name) => {
    const { wire, call } = setUp();
    wire.answersAtOnce = true;
    await call(name);
    expect(wire.paths).toEqual([CRI_METHODS[name].path]);
  });

  it('knows every method of CRI, and lets through few', () => {
    expect(NAMES.length).toBeGreaterThan(35);
    expect(NAMES.filter(isReading)).toHaveLength(9);
  });

  it.each(['status', 'podSandboxStatus', 'containerStatus'] as const)(
    'never sends a verbose %s, for which a runtime asks a shim',
    async (name) => {
      const { wire, call } = setUp();
      await expect(call(name, { verbose: true })).rejects.toThrow('verbose');
      expect(wire.paths).toEqual([]);
    },
  );

  it('has one list under way at a time, and statuses meanwhile', async () => {
    const { wire, client } = setUp();
    const done: string[] = [];
    const lists = [
      client.listPodSandbox().then(() => done.push('sandboxes')),
      client.listContainers().then(() => done.push('containers')),
      client.listPodSandbox().then(() => done.push('sandboxes again')),
    ];
    const status = client.containerStatus({ containerId: 'one' });
    await wire.settle();
    expect(wire.openPaths().sort()).toEqual(['ContainerStatus', 'ListPodSandbox']);
    wire.answer('ContainerStatus');
    await status;
    wire.answer('ListPodSandbox');
    await wire.settle();
    expect(wire.openPaths()).toEqual(['ListContainers']);
    wire.fail('ListContainers');
    await expect(lists[1]).rejects.toThrow('broken');
    await wire.settle();
    expect(wire.openPaths()).toEqual(['ListPodSandbox']);
    wire.answer('ListPodSandbox');
    await Promise.allSettled(lists);
    expect(done).toEqual(['sandboxes', 'sandboxes again']);
  });

  it('gives up a list before its turn without sending it', async () => {
    const { wire, client } = setUp();
    const first = client.listPodSandbox();
    const givenUp = new AbortController();
    const second = client.listContainers({}, { signal: givenUp.signal });
    await wire.settle();
    givenUp.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    wire.answer('ListPodSandbox');
    await first;
    await wire.settle();
    expect(wire.paths).toEqual([CRI_METHODS.listPodSandbox.path]);
  });

  it('reports each sent call to its tap, with its answer or its error', async () => {
    const heard: string[] = [];
    const { wire, client } = setUp({
      sent: (path) => {
        const name = path.split('/').at(-1)!;
        heard.push(`${name} sent`);
        return {
          message: (bytes) => heard.push(`${name}: ${bytes.length} bytes`),
          ended: (error) => heard.push(`${name} ${error === undefined ? 'ended' : 'failed'}`),
        };
      },
    });
    const version = client.version();
    const list = client.listContainers();
    await wire.settle();
    wire.answer('Version');
    wire.fail('ListContainers');
    await version;
    await expect(list).rejects.toThrow('broken');
    await expect(client.removeContainer({ containerId: 'one' })).rejects.toThrow('only reads');
    await wire.settle();
    expect(heard.sort()).toEqual(
      [
        'ListContainers failed',
        'ListContainers sent',
        'Version ended',
        'Version sent',
        'Version: 0 bytes',
      ].sort(),
    );
  });
});
