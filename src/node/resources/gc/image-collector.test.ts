import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RuntimeImage } from '../../runtime/runtime-changes.js';
import { type PodStatus } from '../../../watch/observed/runtime.js';
import { Channels } from '#base/channels/publishing-channel.js';
import { imageCollected } from '#base/channels/image-channels.js';
import { aContainer, aContainerStatus, aPod, aPodStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { ImageCollector, type ImageRecords } from './image-collector.js';
import { DEFAULT_IMAGE_POLICY } from './image-plan.js';
import { PulledImages } from './pulled-images.js';
import { recordPulls } from './record-pulls.js';

const never = new AbortController().signal;
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-images-'));
  path = join(folder, 'pulled.json');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function anImage(name: string, fields: Partial<RuntimeImage> = {}): RuntimeImage {
  const tags = [`registry.example/${name}:1`];
  return {
    id: `sha256:${name}`,
    tags,
    digests: [],
    sizeBytes: 30n,
    pinned: false,
    uid: undefined,
    username: '',
    ...fields,
  };
}

/** A pod with a container of that image; an exited one keeps its image, too. */
function podWith(imageId: string, name = 'web'): PodStatus {
  const container = aContainerStatus(aContainer({ state: 'exited' }), {
    imageId,
    imageRef: imageId,
    image: 'x',
  });
  return aPodStatus(aPod({ name }), { containers: [container] });
}

/** A runtime with the images a to d, on a disk of 1000 bytes with few free; the agent pulled a, b and c. */
interface World {
  available?: number;
  capacity?: number;
  /** The status of a pod is not known, and this is what the list of containers says of images; 'hangs' without one. */
  listed?: readonly string[] | 'hangs';
  desired?: string[];
  /** Or for how many removals it stays so. */
  seen?: boolean | number;
  isRecordFull?: boolean;
  isDiskOdd?: boolean;
  maxAgeMs?: number;
  records?: ImageRecords;
}

async function lab(options: World = {}) {
  const clock = new FakeClock();
  const pulled = await PulledImages.open(path);
  for (const name of ['a', 'b', 'c']) await pulled.add(`sha256:${name}`, clock.now());
  const images = ['a', 'b', 'c', 'd'].map((name) => anImage(name));
  const removed: string[] = [];
  const looks: number[] = [];
  const events: string[] = [];
  const statuses: PodStatus[] = [];
  const log = new LogRecorder();
  const full: Pick<PulledImages, 'all' | 'observe' | 'forget'> = {
    all: () => pulled.all(),
    observe: async (seen) => pulled.observe(seen),
    forget: async () => Promise.reject(new Error('disk is full')),
  };
  const channels = new Channels();
  const reasons: string[] = [];
  channels.subscribe(imageCollected, ({ reason }) => reasons.push(reason));
  const collector = new ImageCollector({
    ...{ clock, logger: log, channels },
    pulled: options.isRecordFull === true ? full : pulled,
    pods: {
      uids: () => statuses.map(({ uid }) => uid),
      get: (uid) => ({
        status: statuses.find((status) => status.uid === uid)!,
        error: options.listed === undefined ? undefined : new Error('hung'),
      }),
    },
    listContainers: async () => {
      if (options.listed === undefined) throw new Error('the statuses say it');
      if (options.listed === 'hangs') throw new Error('list hangs');
      return options.listed.map((image) => ({ image, imageRef: '', imageId: '' }));
    },
    desiredImages: () => options.desired ?? [],
    hasSeenPods: () => {
      const { seen = true } = options;
      return typeof seen === 'number' ? removed.length < seen : seen;
    },
    policy: { ...DEFAULT_IMAGE_POLICY, maxAgeMs: options.maxAgeMs ?? 0 },
    onEvent: ({ reason, message }) => events.push(`${reason} ${message}`),
    ...(options.records && { records: options.records }),
    changes: {
      listImages: async () => images,
      removeImage: async (id) => {
        if (id === 'sha256:b') throw new Error('image is busy');
        removed.push(id);
      },
    },
    diskUsage: async () => {
      looks.push(clock.now());
      if (options.isDiskOdd === true) throw new Error('odd');
      return { capacityBytes: options.capacity ?? 1_000, availableBytes: options.available ?? 0 };
    },
  });
  await clock.advance(10 * 60_000);
  return { clock, collector, pulled, removed, statuses, looks, log, events, reasons };
}

describe('the collector of images', () => {
  it('reports a disk that stays too full, and no other', async () => {
    const { collector, events } = await lab();
    await collector.collect(never);
    expect(events).toEqual([
      'FreeDiskSpaceFailed The disk of images stays too full (100% of 1000 bytes used): unused images had 60 bytes; look for logs, volumes and images in use',
    ]);
    const roomy = await lab({ available: 900 });
    await roomy.collector.collect(never);
    expect(roomy.events).toEqual([]);
  });

  it('reports a disk without a capacity', async () => {
    const { collector, events } = await lab({ capacity: 0 });
    await expect(collector.collect(never)).rejects.toThrow('invalid capacity 0');
    expect(events).toEqual(['InvalidDiskCapacity invalid capacity 0 on image filesystem']);
  });

  it('reports the second failure in a row', async () => {
    const { clock, collector, events } = await lab({ isDiskOdd: true });
    const stop = new AbortController();
    const running = collector.run(stop.signal);
    await clock.advance(5 * 60_000);
    expect(events).toEqual([]);
    await clock.advance(5 * 60_000);
    expect(events).toEqual(['ImageGCFailed odd']);
    stop.abort();
    await running;
  });

  it('removes what we fetched and nobody uses, and goes on where one cannot go', async () => {
    const { collector, removed } = await lab();
    expect(await collector.collect(never)).toEqual({
      removed: ['sha256:a', 'sha256:c'],
      freedBytes: 60,
      isShort: true,
    });
    expect(removed).toEqual(['sha256:a', 'sha256:c']);
  });

  it('stops as soon as there is room', async () => {
    const { collector } = await lab({ available: 170 });
    expect((await collector.collect(never)).removed).toEqual([]);
    const full = await lab({ available: 150 });
    expect(await full.collector.collect(never)).toMatchObject({
      removed: ['sha256:a', 'sha256:c'],
      isShort: false,
    });
  });

  it('removes what nobody has used for longer than the limit, however much room there is', async () => {
    const young = await lab({ available: 900, maxAgeMs: 10 * 60_000 });
    expect(await young.collector.collect(never)).toEqual({ removed: [], freedBytes: 0, isShort: false });
    const { clock, collector, statuses, removed } = await lab({ available: 900, maxAgeMs: 10 * 60_000 });
    statuses.push(podWith('sha256:c'));
    await clock.advance(1);
    // One cannot go, and one is in use.
    expect(await collector.collect(never)).toEqual({
      removed: ['sha256:a'],
      freedBytes: 30,
      isShort: false,
    });
    statuses.pop();
    await clock.advance(10 * 60_000);
    expect((await collector.collect(never)).removed).not.toContain('sha256:c');
    await clock.advance(1);
    expect((await collector.collect(never)).removed).toContain('sha256:c');
    expect(removed).not.toContain('sha256:d');
  });

  it('counts what was removed for its age as freed when the disk is too full, too', async () => {
    const { clock, collector, reasons } = await lab({ available: 100, maxAgeMs: 10 * 60_000 });
    await clock.advance(1);
    expect(await collector.collect(never)).toMatchObject({
      removed: ['sha256:a', 'sha256:c'],
      freedBytes: 60,
    });
    expect(reasons).toEqual(['age', 'age']);
  });

  it('removes all that may go when the node needs it, however much room there is', async () => {
    const { collector, looks, reasons } = await lab({ available: 900, desired: ['registry.example/c:1'] });
    expect(await collector.collectAll(never)).toMatchObject({ removed: ['sha256:a'], isShort: false });
    expect(reasons).toEqual(['space']);
    expect(looks).toEqual([]);
  });

  it('never removes what a container has, dead or of another agent', async () => {
    const { collector, statuses } = await lab();
    statuses.push(podWith('sha256:a'), podWith('registry.example/c:1', 'other'));
    expect((await collector.collect(never)).removed).toEqual([]);
  });

  it('never removes what a pod is going to use', async () => {
    const { collector } = await lab({ desired: ['registry.example/a:1'] });
    expect((await collector.collect(never)).removed).toEqual(['sha256:c']);
  });

  it('removes nothing before it has seen every pod', async () => {
    const { collector, statuses } = await lab({ seen: false });
    statuses.push(podWith('sha256:d'));
    expect((await collector.collect(never)).removed).toEqual([]);
  });

  it('removes no more once it is not known any more what is used', async () => {
    const { collector } = await lab({ seen: 1 });
    expect((await collector.collect(never)).removed).toEqual(['sha256:a']);
  });

  it('has not fetched any more what it has removed', async () => {
    const { collector, pulled } = await lab();
    await collector.collect(never);
    for (const record of [pulled, await PulledImages.open(path)])
      expect([...record.all()].map(({ id }) => id)).toEqual(['sha256:b']);
  });

  it('has removed an image although that cannot be written', async () => {
    const told: string[] = [];
    const { collector, log } = await lab({
      isRecordFull: true,
      records: {
        keepOnly: async () => undefined,
        forget: async (id) => void told.push(id),
      },
    });
    expect((await collector.collect(never)).removed).toEqual(['sha256:a', 'sha256:c']);
    expect(told).toEqual(['sha256:a', 'sha256:c']);
    const failed = log.complaints.filter(({ message }) => message.startsWith('Image was removed but'));
    expect(failed).toMatchObject([{ fields: { imageID: 'sha256:a' } }, { fields: { imageID: 'sha256:c' } }]);
  });

  it.each([
    [['sha256:c', 'registry.example/d:1'], ['sha256:a']],
    [['', 'registry.example/a:1'], ['sha256:c']],
    [['sha256:a', 'sha256:c'], []],
  ])('goes by the list of containers where a status cannot be read: %j', async (listed, removed) => {
    const { collector, statuses } = await lab({ listed });
    statuses.push(aPodStatus(aPod({ name: 'hung' })));
    expect((await collector.collect(never)).removed).toEqual(removed);
  });

  it('removes nothing while neither statuses nor the list of containers can be read', async () => {
    const { collector, statuses, removed } = await lab({ listed: 'hangs' });
    statuses.push(aPodStatus(aPod({ name: 'hung' })));
    await expect(collector.collect(never)).rejects.toThrow('list hangs');
    expect(removed).toEqual([]);
  });

  it('removes those first that have not been used for longest, over a restart too', async () => {
    const { clock, collector, statuses, pulled } = await lab({ available: 160 });
    for (const id of ['sha256:a', 'sha256:c']) {
      statuses.splice(0, 1, podWith(id));
      await collector.collect(never);
      await clock.advance(5 * 60_000);
    }
    const again = await PulledImages.open(path);
    expect(again.all()).toEqual(pulled.all());
    const [a, b, c] = again.all();
    expect([a!.lastUsedAtMs! < c!.lastUsedAtMs!, b!.lastUsedAtMs]).toEqual([true, undefined]);
  });

  it.each([{ seen: true }, { seen: false }])(
    'reports which images exist, also while none may go, and which it has removed: %j',
    async ({ seen }) => {
      const told: string[] = [];
      const { clock, collector } = await lab({
        seen,
        records: {
          keepOnly: async (images, sinceMs) =>
            void told.push(`${images.map(({ id }) => id).join()} ${sinceMs === clock.monotonicMs()}`),
          forget: async (id, sinceMs) => void told.push(`no ${id} ${sinceMs === clock.monotonicMs()}`),
        },
      });
      await collector.collect(never);
      const all = 'sha256:a,sha256:b,sha256:c,sha256:d true';
      // The one between them could not be removed.
      expect(told).toEqual(seen ? [all, 'no sha256:a true', 'no sha256:c true'] : [all]);
    },
  );

  it('does not forget what is fetched while it looks, and takes it for gone when a later look misses it', async () => {
    const comes: (() => Promise<void>)[] = [];
    const { clock, collector, pulled } = await lab({
      available: 900,
      records: {
        keepOnly: async () => {
          await Promise.all(comes.splice(0).map((come) => come()));
        },
        forget: async () => undefined,
      },
    });
    comes.push(async () => pulled.add('sha256:new', clock.now()));
    await collector.collect(never);
    expect(pulled.has('sha256:new')).toBe(true);
    expect((await PulledImages.open(path)).has('sha256:new')).toBe(true);
    await collector.collect(never);
    expect(pulled.has('sha256:new')).toBe(false);
  });

  it('looks every five minutes, and a failure ends nothing', async () => {
    const { clock, collector, looks } = await lab({ isDiskOdd: true });
    const stop = new AbortController();
    const running = collector.run(stop.signal);
    await clock.advance(5 * 60_000 + 1);
    await clock.advance(5 * 60_000 + 1);
    expect(looks).toHaveLength(2);
    stop.abort();
    await running;
  });
});

describe('the record of what we fetched', () => {
  it('has what a pull brought, and not what was there before', async () => {
    const clock = new FakeClock();
    const pulled = await PulledImages.open(path);
    const present = new Map([['there', anImage('there')]]);
    const changes = recordPulls({
      clock,
      pulled,
      changes: {
        listImages: async () => [...present.values()],
        findImage: async (image) => present.get(image),
        pullImage: async (image) => {
          present.set(image, anImage(image));
          return image;
        },
      },
    });
    expect(await changes.pullImage('there')).toBe('there');
    expect(await changes.pullImage('new')).toBe('new');
    await clock.advance(1_000);
    await changes.pullImage('new');
    expect((await PulledImages.open(path)).all()).toEqual([
      { id: 'sha256:new', pulledAtMs: clock.now() - 1_000 },
    ]);
  });

  it('takes nothing for ours where it could not look, and a pull is none the worse for it', async () => {
    const pulled = await PulledImages.open(path);
    const changes = recordPulls({
      clock: new FakeClock(),
      pulled,
      changes: {
        listImages: () => Promise.reject(new Error('no')),
        findImage: () => Promise.reject(new Error('no')),
        pullImage: async (image) => image,
      },
    });
    expect(await changes.pullImage('new')).toBe('new');
    expect(pulled.all()).toEqual([]);
  });

  it.each(['', '{', '[]', '{"images":{}}', '{"images":[null,{"id":1},{"id":"x"}]}'])(
    'counts as none when it says %j',
    async (text) => {
      await writeFile(path, text);
      expect((await PulledImages.open(path)).all()).toEqual([]);
    },
  );

  it('is whole, however many pulls end at once', async () => {
    const pulled = await PulledImages.open(path);
    await Promise.all(Array.from({ length: 20 }, (_, index) => pulled.add(`sha256:${index}`, index)));
    expect((await PulledImages.open(path)).all()).toHaveLength(20);
  });
});
