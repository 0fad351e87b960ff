import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GrpcStatusError } from '../../watch/cri/index.js';
import { type Secret } from '#kube/objects/config-object.js';
import { type ImagePullPolicy } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { PodloopError } from '#base/errors/errors.js';
import { imageRequested, type ImageRequest } from '#base/channels/image-channels.js';
import { ImageAccess } from './image-access.js';
import { type ImageLook, ImageManager } from './image-manager.js';
import { keyOf } from './pull-record-files.js';
import { PullRecords } from './pull-records.js';
import { type VerificationRules } from './verification-policy.js';

const NEVER = new AbortController().signal;
const APP = 'r.test/team/app:1';
const DEFAULT_RULES: VerificationRules = { policy: 'NeverVerifyPreloadedImages', allowlist: [] };
const NOT_PRESENT = `ErrImageNeverPull: Container image "${APP}" is not present with pull policy of Never`;
const idOf = (image: string): string => `sha256:${keyOf(image)}`;
const UNAUTHORIZED = 'ErrImagePull: 401 Unauthorized';

/** What a pod may have for the registry. */
interface OwnSecret {
  readonly uid?: string;
  readonly password: string;
}

/** A node with a runtime, a registry that knows passwords, and agents one after the other. */
class AccessHarness {
  readonly clock = new FakeClock();
  readonly log = new LogRecorder();
  readonly folder: string;
  readonly events: PodEvent[] = [];
  readonly images = new Map<string, RuntimeImage>();
  /** What the registry was asked with, undefined for no login. */
  readonly asked: (string | undefined)[] = [];
  /** Whom the registry lets in; undefined is everybody. */
  welcome: (string | undefined)[] = ['right'];
  /** Makes pulls fail, before the registry is asked or after the image has come. */
  fault: { readonly error: Error; readonly isAfter: boolean } | undefined;
  /** What a pull waits for. */
  hold: Promise<unknown> = Promise.resolve();
  records!: PullRecords;
  #manager!: ImageManager;
  /** By the uid of the pod. */
  readonly #secrets = new Map<string, Secret>();
  #pods = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  async start(rules: VerificationRules = DEFAULT_RULES): Promise<this> {
    const { clock, log: logger, folder, events } = this;
    // Two agents never write at once.
    await (this.records as PullRecords | undefined)?.settled();
    this.records = await PullRecords.open({ clock, logger, folder, runtime: 'unix:///run/a.sock' });
    this.#manager = new ImageManager({
      changes: {
        findImage: async (name) =>
          [...this.images.values()].find(({ id, tags }) => id === name || tags.includes(name)),
        pullImage: async (name, options) => this.#pull(name, options?.login?.password),
      },
      events: { record: (_pod, event) => void events.push(event) },
      objects: { findSecret: (pod) => this.#secrets.get(pod.metadata.uid) },
      access: new ImageAccess({ records: this.records, rules, logger }),
      clock,
    });
    return this;
  }

  /** A look for the image while the sandbox of a pod is made. */
  async lookAhead(image = APP): Promise<ImageLook | undefined> {
    const look = this.#manager.lookAhead(aSpecContainer({ image }), aSpecPod(), NEVER);
    await look?.found;
    return look;
  }

  /** What becomes of a new pod with the image. */
  async ensure(
    own: OwnSecret | undefined,
    policy: ImagePullPolicy,
    image = APP,
    look?: ImageLook,
  ): Promise<string> {
    const uid = `pod-${++this.#pods}`;
    const pod: NodePod = aSpecPod(own === undefined ? {} : { imagePullSecrets: [{ name: 'pull' }] }, { uid });
    if (own !== undefined) this.#secrets.set(uid, secretOf(own));
    const container = aSpecContainer({ image, imagePullPolicy: policy });
    const outcome = await this.#manager.ensureImage(container, pod, NEVER, { look });
    return outcome.isPresent ? 'present' : `${outcome.reason}: ${outcome.message}`;
  }

  load(image: string): RuntimeImage {
    const loaded = toImage(image);
    this.images.set(loaded.id, loaded);
    return loaded;
  }

  /** Finds out what is gone. */
  async lookTwice(): Promise<void> {
    for (let looks = 0; looks < 2; looks++) {
      await this.clock.advance(5 * 60_000);
      await this.look();
    }
  }

  /** There is always an image of a sandbox. */
  async look(): Promise<void> {
    const images = [...this.images.values(), toImage('r.test/pause:3')];
    await this.records.keepOnly(images, this.clock.monotonicMs());
  }

  async #pull(image: string, password: string | undefined): Promise<string> {
    this.asked.push(password);
    await this.hold;
    if (this.fault?.isAfter === false) throw this.fault.error;
    if (!this.welcome.includes(undefined) && !this.welcome.includes(password))
      throw new Error('401 Unauthorized');
    const { id } = this.load(image);
    if (this.fault !== undefined) throw this.fault.error;
    return id;
  }
}

function toImage(image: string): RuntimeImage {
  const facts = { digests: [], sizeBytes: 1n, pinned: false, uid: undefined, username: '' };
  return { id: idOf(image), tags: [image], ...facts };
}

function secretOf({ uid, password }: OwnSecret): Secret {
  const auths = { 'r.test': { username: 'me', password } };
  return {
    ...{ kind: 'Secret', type: 'kubernetes.io/dockerconfigjson' },
    metadata: { name: 'pull', namespace: 'default', ...(uid === undefined ? {} : { uid }) },
    data: new Map([['.dockerconfigjson', Buffer.from(JSON.stringify({ auths }))]]),
  };
}

let root: string;
let lab: AccessHarness;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-access-'));
  lab = await new AccessHarness(join(root, 'image-pulls')).start();
});
afterEach(async () => {
  await lab.records.settled();
  await rm(root, { recursive: true, force: true });
});

const RIGHT: OwnSecret = { uid: 's1', password: 'right' };
const POLICIES = ['IfNotPresent', 'Never'] as const;

describe.each([false, true])(
  'an image that one pod has pulled with its login (agent restarted: %s)',
  (isRestarted) => {
    beforeEach(async () => {
      expect(await lab.ensure(RIGHT, 'IfNotPresent')).toBe('present');
      if (isRestarted) await lab.start();
      lab.asked.length = 0;
      lab.events.length = 0;
    });

    it.each([
      ['the same Secret', RIGHT],
      ['the same login in another Secret', { uid: 's2', password: 'right' }],
      ['the same login in a Secret of a manifest', { password: 'right' }],
      ['the same Secret with another login by now', { uid: 's1', password: 'rotated' }],
    ])('is there for a pod with %s, and no registry is asked', async (_who, own) => {
      for (const policy of POLICIES) expect(await lab.ensure(own, policy)).toBe('present');
      expect(lab.asked).toEqual([]);
    });

    it.each([
      ['no login', undefined],
      ['a wrong one', { uid: 's2', password: 'wrong' }],
      ['a wrong one in a Secret that was made anew under the name', { uid: 's3', password: 'wrong' }],
    ])('is not there for a pod with %s', async (_who, own) => {
      expect(await lab.ensure(own, 'Never')).toBe(NOT_PRESENT);
      expect(lab.asked).toEqual([]);
      expect(await lab.ensure(own, 'IfNotPresent')).toBe(UNAUTHORIZED);
      expect(lab.asked).toEqual([own?.password]);
      expect(lab.events.map(({ reason }) => reason)).toEqual(['ErrImageNeverPull', 'Pulling', 'Failed']);
      // By its id neither.
      expect(await lab.ensure(own, 'Never', idOf(APP))).toMatch(/^ErrImageNeverPull/);
    });

    it('is there for a pod with another login once that was tried', async () => {
      lab.welcome.push('also right');
      const own = { uid: 's2', password: 'also right' };
      expect(await lab.ensure(own, 'Never')).toBe(NOT_PRESENT);
      expect(await lab.ensure(own, 'IfNotPresent')).toBe('present');
      expect(await lab.ensure(own, 'Never')).toBe('present');
      expect(await lab.ensure(RIGHT, 'Never')).toBe('present');
      expect(lab.asked).toEqual(['also right']);
    });

    it('is there for every pod once one has pulled it without a login', async () => {
      lab.welcome = [undefined];
      expect(await lab.ensure(undefined, 'IfNotPresent')).toBe('present');
      expect(await lab.ensure(undefined, 'Never')).toBe('present');
      expect(await lab.ensure({ password: 'wrong' }, 'Never')).toBe('present');
      expect(lab.asked).toEqual([undefined]);
    });

    it('is there for every pod where nothing is verified, or it is on the list, or the node has it from elsewhere since', async () => {
      await lab.start({ policy: 'NeverVerify', allowlist: [] });
      expect(await lab.ensure(undefined, 'Never')).toBe('present');
      await lab.start({ policy: 'NeverVerifyAllowlistedImages', allowlist: ['r.test/team/*'] });
      expect(await lab.ensure(undefined, 'Never')).toBe('present');
      await lab.start();
      lab.images.clear();
      await lab.lookTwice();
      lab.load(APP);
      expect(await lab.ensure(undefined, 'Never')).toBe('present');
    });
  },
);

describe('an image that the node has from elsewhere', () => {
  it('is there for every pod, and nothing is written or asked', async () => {
    lab.load(APP);
    for (const policy of POLICIES) expect(await lab.ensure(undefined, policy)).toBe('present');
    expect([lab.asked, await readdir(root)]).toEqual([[], []]);
  });

  it.each([
    { policy: 'AlwaysVerify', allowlist: [] },
    { policy: 'NeverVerifyAllowlistedImages', allowlist: ['r.test/other/*'] },
  ] as const)('is there for who has a login for it, with $policy', async (rules) => {
    await lab.start(rules);
    lab.load(APP);
    expect(await lab.ensure(RIGHT, 'Never')).toBe(NOT_PRESENT);
    expect(await lab.ensure(RIGHT, 'IfNotPresent')).toBe('present');
    expect(await lab.ensure(RIGHT, 'Never')).toBe('present');
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
  });
});

describe('on a node without logins', () => {
  it('what was pulled is there by any name that the node has for it, and once is asked', async () => {
    lab.welcome = [undefined];
    expect(await lab.ensure(undefined, 'IfNotPresent')).toBe('present');
    await lab.start();
    lab.images.set(idOf(APP), { ...lab.load(APP), tags: [APP, 'local/app:1'] });
    for (const policy of POLICIES) expect(await lab.ensure(undefined, policy, 'local/app:1')).toBe('present');
    expect(lab.asked).toEqual([undefined]);
    expect(await readdir(join(root, 'image-pulls'))).toEqual(['pulled']);
  });

  it('a pull goes on although nothing can be written', async () => {
    lab.welcome = [undefined];
    await writeFile(join(root, 'image-pulls'), 'a file');
    expect(await lab.ensure(undefined, 'IfNotPresent')).toBe('present');
    expect(await lab.ensure(undefined, 'Never')).toBe('present');
  });
});

describe('two pods at once', () => {
  it('are not let in by each other’s login, whichever ends first', async () => {
    let release = (): void => undefined;
    lab.hold = new Promise<void>((resolve) => (release = resolve));
    const ensured = Promise.all([
      lab.ensure(RIGHT, 'IfNotPresent'),
      lab.ensure(undefined, 'IfNotPresent'),
      lab.ensure({ uid: 's2', password: 'right' }, 'IfNotPresent'),
    ]);
    await expect.poll(() => lab.asked).toEqual([undefined, 'right']);
    // The runtime shows it before the pull has ended.
    lab.load(APP);
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
    release();
    expect(await ensured).toEqual(['present', UNAUTHORIZED, 'present']);
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
    expect(await lab.ensure({ uid: 's2', password: 'right' }, 'Never')).toBe('present');
  });
});

describe('a pull with a login', () => {
  it('does not begin when it cannot be written that it has', async () => {
    await writeFile(join(root, 'image-pulls'), 'a file');
    expect(await lab.ensure(RIGHT, 'IfNotPresent')).toMatch(
      /^ErrImagePull: Failed to record image pull intent for container image "r\.test\/team\/app:1": /,
    );
    expect(lab.asked).toEqual([]);
  });

  it('that the agent did not see end lets nobody in who has no login', async () => {
    await lab.records.begin(APP, undefined);
    lab.load(APP);
    await lab.start();
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
    expect(await lab.ensure(RIGHT, 'IfNotPresent')).toBe('present');
    expect(await lab.ensure(RIGHT, 'Never')).toBe('present');
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
    expect(lab.asked).toEqual(['right']);
  });

  it('whose answer is lost lets nobody in, either', async () => {
    const error = new PodloopError('CRI_UNAVAILABLE', 'gone', { cause: new GrpcStatusError(14, 'gone') });
    lab.fault = { error, isAfter: true };
    expect(await lab.ensure(RIGHT, 'IfNotPresent')).toMatch(/^ErrImagePull/);
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
    await lab.clock.advance(5 * 60_000);
    await lab.look();
    await lab.start();
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
  });

  it('lets nobody in to what a lost one has brought, also where that came after the image was looked for', async () => {
    await lab.records.end(await lab.records.begin(APP, undefined), true);
    const former = lab.load(APP);
    const look = await lab.lookAhead();
    const late = { ...former, id: 'sha256:late' };
    lab.images.clear();
    lab.images.set(late.id, late);
    expect(await lab.ensure(RIGHT, 'Always', APP, look)).toBe('present');
    // It has lost its name to what was pulled now.
    lab.images.set(late.id, { ...late, tags: [] });
    expect(await lab.ensure(undefined, 'Never', late.id)).toMatch(/^ErrImageNeverPull/);
  });

  it('that cannot be written down is good for this agent, and lets nobody in after it', async () => {
    await mkdir(join(root, 'image-pulls'));
    await writeFile(join(root, 'image-pulls', 'pulled'), 'a file');
    expect(await lab.ensure(RIGHT, 'IfNotPresent')).toBe('present');
    expect(await lab.ensure(RIGHT, 'Never')).toBe('present');
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
    await rm(join(root, 'image-pulls', 'pulled'));
    await lab.start();
    expect(await lab.ensure(undefined, 'Never')).toBe(NOT_PRESENT);
  });

  it('that was refused leaves nothing: what is loaded then is there for every pod', async () => {
    lab.fault = { error: new Error('no route to host'), isAfter: false };
    expect(await lab.ensure(RIGHT, 'IfNotPresent')).toBe('ErrImagePull: no route to host');
    lab.load(APP);
    expect(await lab.ensure(undefined, 'Never')).toBe('present');
  });
});

it('pulls an image again whose record is damaged, names the file, and has it whole then', async () => {
  await lab.ensure(RIGHT, 'IfNotPresent');
  const path = join(root, 'image-pulls', 'pulled', `${keyOf(idOf(APP))}.json`);
  await writeFile(path, '{"format":1,');
  await lab.start();
  expect(lab.log.complaints).toMatchObject([{ fields: { path } }]);
  expect(await lab.ensure(RIGHT, 'Never')).toBe(NOT_PRESENT);
  expect(await lab.ensure(RIGHT, 'IfNotPresent')).toBe('present');
  await lab.start();
  expect(await lab.ensure(RIGHT, 'Never')).toBe('present');
  expect(lab.asked).toEqual(['right', 'right']);
});

it('counts requests as a kubelet does, with a pull where a pod may not use what is there', async () => {
  const seen: ImageRequest[] = [];
  const leave = imageRequested.subscribe((request) => seen.push(request));
  await lab.ensure(RIGHT, 'IfNotPresent');
  for (const policy of POLICIES) await lab.ensure(undefined, policy);
  leave();
  expect(seen).toEqual([
    { pullPolicy: 'IfNotPresent', isPresent: false, mustPull: true },
    { pullPolicy: 'IfNotPresent', isPresent: true, mustPull: true },
    { pullPolicy: 'Never', isPresent: true, mustPull: true },
  ]);
});

describe('whatever happens', () => {
  const PRIVATE = APP;
  const PUBLIC = 'r.test/public/app:1';
  const OWN: readonly (OwnSecret | undefined)[] = [
    undefined,
    { uid: 's1', password: 'right' },
    { uid: 's2', password: 'also right' },
    { password: 'right' },
    { uid: 's3', password: 'wrong' },
  ];
  const image = fc.constantFrom(PRIVATE, PUBLIC);
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        ...{ do: fc.constant('ensure' as const), image, own: fc.constantFrom(...OWN) },
        policy: fc.constantFrom<ImagePullPolicy>('IfNotPresent', 'Never', 'Always'),
      }),
    },
    fc.record({ do: fc.constant('crash' as const), image, hasCome: fc.boolean() }),
    fc.record({ do: fc.constant('restart' as const) }),
    fc.record({ do: fc.constant('look' as const) }),
    fc.record({ do: fc.constant('load' as const), image }),
    fc.record({ do: fc.constant('remove' as const), image }),
  );

  it('a pod gets what it could pull itself or what others have brought, and can do without the registry for the former', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (steps) => {
        const node = await new AccessHarness(join(root, `run-${++run}`)).start();
        /** How an image that is there came, and who has pulled it since. */
        const there = new Map<string, { isOurs: boolean; readonly by: Set<string> }>();
        const isWelcome = (name: string, own: OwnSecret | undefined): boolean =>
          name === PUBLIC || own?.password === 'right' || own?.password === 'also right';
        const come = (name: string, isOurs: boolean): Set<string> => {
          const known = there.get(name) ?? { isOurs, by: new Set<string>() };
          known.isOurs ||= isOurs;
          there.set(name, known);
          return known.by;
        };
        for (const each of steps) {
          // Nothing backs off.
          await node.clock.advance(11 * 60_000);
          if (each.do === 'restart') await node.start();
          else if (each.do === 'look') await node.look();
          else if (each.do === 'load') {
            node.load(each.image);
            come(each.image, false);
          } else if (each.do === 'remove') {
            node.images.delete(idOf(each.image));
            there.delete(each.image);
            await node.lookTwice();
          } else if (each.do === 'crash') {
            await node.records.begin(each.image, node.images.get(idOf(each.image)));
            if (each.hasCome) {
              node.load(each.image);
              come(each.image, true);
            }
            await node.start();
          } else {
            const { image: name, own, policy } = each;
            node.welcome = name === PUBLIC ? [undefined] : ['right', 'also right'];
            const before = there.get(name);
            const asked = node.asked.length;
            const isThere = (await node.ensure(own, policy, name)) === 'present';
            const mayHave = isWelcome(name, own) || (before?.isOurs === false && policy !== 'Always');
            if (isThere) expect(mayHave).toBe(true);
            if (isWelcome(name, own) && policy !== 'Never') expect(isThere).toBe(true);
            const login = own?.password ?? '';
            if (policy !== 'Always' && before?.by.has(login) === true) {
              expect([isThere, node.asked.length - asked]).toEqual([true, 0]);
            }
            if (isThere && node.asked.length > asked) come(name, true).add(login);
          }
        }
        await node.records.settled();
      }),
      { numRuns: 40 },
    );
  });
});
