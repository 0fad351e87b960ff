import { beforeEach, describe, expect, it } from 'vitest';
import { GrpcStatusError } from '../../watch/cri/index.js';
import { type Secret } from '#kube/objects/config-object.js';
import { type ImagePullPolicy } from '#kube/container/container.js';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { FakeRuntimeChanges } from '#support/fakes/fake-runtime-changes.js';
import { FakeClock } from '#testing/index.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { PodloopError } from '#base/errors/errors.js';
import { ImageManager, type ImageOutcome } from './image-manager.js';

const NEVER = new AbortController().signal;
const pod = aSpecPod();
let clock: FakeClock;
let runtime: FakeRuntimeChanges;
let events: PodEvent[];
let images: ImageManager;
beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntimeChanges({ clock });
  events = [];
  images = new ImageManager({
    changes: runtime,
    events: { record: (_pod, event) => void events.push(event) },
    clock,
  });
});

const ensure = (image: string, imagePullPolicy: ImagePullPolicy = 'IfNotPresent') =>
  images.ensureImage(aSpecContainer({ image, imagePullPolicy }), pod, NEVER);
const told = (): string[] => events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
const pulls = (): number => runtime.calls.filter((call) => call.startsWith('pullImage')).length;
function refusal(outcome: ImageOutcome): string {
  return outcome.isPresent ? 'present' : `${outcome.reason}: ${outcome.message}`;
}

describe('an image that is there', () => {
  beforeEach(() => {
    runtime.addImage('app:1');
    runtime.allowPull('app:1');
  });

  it('is used as it is', async () => {
    expect(await ensure('app:1')).toMatchObject({ isPresent: true, imageRef: 'sha256:app:1' });
    expect(await ensure('app:1', 'Never')).toMatchObject({ isPresent: true });
    expect(pulls()).toBe(0);
    expect(told()[0]).toBe(
      'Normal Pulled: Container image "app:1" already present on machine and can be accessed by the pod',
    );
  });

  it('is fetched again where the policy says Always', async () => {
    expect(await ensure('app:1', 'Always')).toMatchObject({ isPresent: true });
    expect(pulls()).toBe(1);
  });
});

describe('an image of a registry that asks who it is', () => {
  const login = (name: string) => ({ username: name, password: 'hunter2' });
  const secretOf = (name: string, auths: object): Secret => ({
    ...{ kind: 'Secret', metadata: { name, namespace: 'default' }, type: 'kubernetes.io/dockerconfigjson' },
    data: new Map([['.dockerconfigjson', Buffer.from(JSON.stringify({ auths }))]]),
  });
  let secrets: Secret[];
  /** Whom the registry lets in, by name; undefined is nobody. */
  let welcome: (string | undefined)[];
  let tried: (string | undefined)[];
  beforeEach(() => {
    [secrets, welcome, tried] = [[], [], []];
    images = new ImageManager({
      changes: {
        findImage: async (image) => runtime.findImage(image),
        pullImage: async (image, options) => {
          tried.push(options?.login?.username);
          if (!welcome.includes(options?.login?.username)) throw new Error('401 Unauthorized');
          return runtime.addImage(image).id;
        },
      },
      events: { record: (_pod, event) => void events.push(event) },
      objects: { findSecret: (_pod, name) => secrets.find(({ metadata }) => metadata.name === name) },
      clock,
    });
  });
  const pull = async (...names: string[]): Promise<string> => {
    const imagePullSecrets = names.map((name) => ({ name }));
    const of = { ...pod, spec: { ...pod.spec, imagePullSecrets } };
    return refusal(await images.ensureImage(aSpecContainer({ image: 'r.test:5000/team/app:1' }), of, NEVER));
  };

  it('is fetched with each login for it, until one is welcome', async () => {
    secrets = [
      secretOf('one', { 'other.test': login('other'), 'r.test:5000': login('all') }),
      secretOf('two', { 'r.test:5000/team': login('team'), 'r.test:5000/else': login('else') }),
    ];
    welcome = ['all'];
    expect(await pull('one', 'two')).toBe('present');
    expect(tried).toEqual(['team', 'all']);
    expect(told().join()).not.toContain('hunter2');
  });

  it('is fetched without a login where there is none for it, and at once when one comes', async () => {
    welcome = ['all'];
    expect(await pull('one')).toBe('ErrImagePull: 401 Unauthorized');
    expect(await pull('one')).toMatch(/^ImagePullBackOff: /);
    secrets = [secretOf('one', { 'r.test:5000': login('wrong') })];
    expect(await pull('one')).toBe('ErrImagePull: 401 Unauthorized');
    expect(await pull('one')).toMatch(/^ImagePullBackOff: /);
    secrets = [secretOf('one', { 'r.test:5000': login('all') })];
    expect(await pull('one')).toBe('present');
    expect(tried).toEqual([undefined, 'wrong', 'all']);
    expect(told().filter((line) => line.includes('FailedToRetrieve'))).toEqual([
      'Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (one); attempting to pull the image may not succeed.',
    ]);
    expect(told().join()).not.toContain('hunter2');
  });
});

describe('secrets for pulls that are missing', () => {
  const pullWith = async (names: readonly string[], image: string, why?: Error): Promise<string[]> => {
    images = new ImageManager({
      changes: {
        findImage: async (name) => runtime.findImage(name),
        pullImage: async (name) => {
          if (why !== undefined) throw why;
          return runtime.addImage(name).id;
        },
      },
      events: { record: (_pod, event) => void events.push(event) },
      objects: { findSecret: () => undefined },
      clock,
    });
    const of = { ...pod, spec: { ...pod.spec, imagePullSecrets: names.map((name) => ({ name })) } };
    await images.ensureImage(aSpecContainer({ image }), of, NEVER);
    return told().filter((line) => line.includes('FailedToRetrieveImagePullSecret'));
  };

  it('are reported only with a pull that failed, by the names of all that are missing', async () => {
    expect(await pullWith(['one', 'two'], 'r.test/well:1')).toEqual([]);
    expect(await pullWith([], 'r.test/ill:1', new Error('401 Unauthorized'))).toEqual([]);
    expect(await pullWith(['one', 'two'], 'r.test/worse:1', new Error('401 Unauthorized'))).toEqual([
      'Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (one, two); attempting to pull the image may not succeed.',
    ]);
  });

  it.each(['RegistryUnavailable: it is down', 'SignatureValidationFailed: not signed'])(
    'are not the matter where the runtime names another: %s',
    async (why) => expect(await pullWith(['one'], 'r.test/ill:1', new Error(why))).toEqual([]),
  );
});

describe('an image that is not there', () => {
  it('is fetched, by its name with a tag', async () => {
    runtime.allowPull('app:latest');
    runtime.gate('pullImage').delay(1_500);
    const ensured = ensure('app');
    await clock.advance(1_500);
    expect(await ensured).toMatchObject({ isPresent: true, imageRef: 'sha256:app:latest' });
    expect(told()).toEqual([
      'Normal Pulling: Pulling image "app"',
      'Normal Pulled: Successfully pulled image "app" in 1.5s (1.5s including waiting). Image size: 1000 bytes.',
    ]);
  });

  it('is an error where the policy says Never', async () => {
    const message = 'Container image "app:1" is not present with pull policy of Never';
    expect(refusal(await ensure('app:1', 'Never'))).toBe(`ErrImageNeverPull: ${message}`);
    expect(told()).toEqual([`Warning ErrImageNeverPull: ${message}`]);
  });

  it('and cannot be fetched backs off, twice as long each time up to 5 min', async () => {
    const why = 'there is no image app:1 anywhere';
    expect(refusal(await ensure('app:1'))).toBe(`ErrImagePull: ${why}`);
    const waits: number[] = [];
    for (let failure = 0; failure < 7; failure++) {
      const outcome = await ensure('app:1');
      if (outcome.isPresent) throw new Error('it is there');
      expect(refusal(outcome)).toBe(`ImagePullBackOff: Back-off pulling image "app:1": ErrImagePull: ${why}`);
      waits.push(outcome.retryAfterMs! / 1000);
      await clock.advance(outcome.retryAfterMs!);
      expect(refusal(await ensure('app:1'))).toMatch(/^ErrImagePull/);
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
    expect(told().slice(0, 3)).toEqual([
      'Normal Pulling: Pulling image "app:1"',
      `Warning Failed: Failed to pull image "app:1": ${why}`,
      'Normal BackOff: Back-off pulling image "app:1"',
    ]);
  });

  it('starts over after a success, and for another pod', async () => {
    await ensure('app:1');
    const other = aSpecPod({}, { uid: 'u2' });
    const container = aSpecContainer({ image: 'app:1' });
    expect(refusal(await images.ensureImage(container, other, NEVER))).toMatch(/^ErrImagePull/);
    await clock.advance(10_000);
    runtime.allowPull('app:1');
    expect(await ensure('app:1')).toMatchObject({ isPresent: true });
    runtime.gate('pullImage').fail(new Error('gone'));
    expect(refusal(await ensure('app:1', 'Always'))).toBe('ErrImagePull: gone');
    expect(await ensure('app:1', 'Always')).toMatchObject({ retryAfterMs: 10_000 });
  });

  it('reports the failures that CRI has names for', async () => {
    const desc = 'RegistryUnavailable: connection refused';
    const cause = new GrpcStatusError(2, desc);
    runtime.gate('pullImage').fail(new PodloopError('CRI_UNKNOWN', 'pull_image', { cause }));
    expect(refusal(await ensure('app:1'))).toBe(
      'RegistryUnavailable: image pull failed for app:1 because the registry is unavailable: connection refused',
    );
    expect(told().at(-1)).toBe(
      `Warning Failed: Failed to pull image "app:1": rpc error: code = Unknown desc = ${desc}`,
    );
  });
});

describe('an image that was looked for before it is needed', () => {
  const container = aSpecContainer({ image: 'app:1' });
  const lookups = (): number => runtime.calls.filter((call) => call.startsWith('findImage')).length;
  const needed = async (look = images.lookAhead(container, pod, NEVER)) =>
    images.ensureImage(container, pod, NEVER, { look });

  it('is looked up once, and reported when it is needed', async () => {
    runtime.addImage('app:1');
    const look = images.lookAhead(container, pod, NEVER);
    await clock.settle();
    expect(told()).toEqual([]);
    expect(await needed(look)).toMatchObject({ isPresent: true, imageRef: 'sha256:app:1' });
    expect([lookups(), events.length]).toEqual([1, 1]);
  });

  it('is looked for again when it was not there', async () => {
    const look = images.lookAhead(container, pod, NEVER);
    await clock.settle();
    runtime.addImage('app:1');
    expect(await needed(look)).toMatchObject({ isPresent: true });
    expect(lookups()).toBe(2);
  });

  it('is looked for again when that was long ago', async () => {
    runtime.addImage('app:1');
    const look = images.lookAhead(container, pod, NEVER);
    await clock.settle();
    clock.stall(60_000);
    await runtime.removeImage('app:1');
    expect(await needed(look)).toMatchObject({ isPresent: false });
  });

  it('is not taken for another one', async () => {
    runtime.addImage('other:1');
    const look = images.lookAhead(aSpecContainer({ image: 'other:1' }), pod, NEVER);
    expect(await needed(look)).toMatchObject({ isPresent: false });
  });

  it('is reported when the runtime could not say, and only then', async () => {
    runtime.gate('findImage').fail(new Error('broken'));
    const look = images.lookAhead(container, pod, NEVER);
    await clock.settle();
    expect(told()).toEqual([]);
    expect(await needed(look)).toMatchObject({ reason: 'ImageInspectError' });
    expect(events).toHaveLength(1);
  });

  it('has a name', () => {
    expect(images.lookAhead(aSpecContainer({ image: 'No Name' }), pod, NEVER)).toBeUndefined();
    expect(runtime.calls).toEqual([]);
  });
});

it('says of a name that is none what is wrong', async () => {
  const message =
    'Failed to apply default image tag "No Name": couldn\'t parse image name "No Name": invalid reference format';
  expect(refusal(await ensure('No Name'))).toBe(`InvalidImageName: ${message}`);
  expect(told()).toEqual([`Warning InspectFailed: ${message}`]);
  expect(runtime.calls).toEqual([]);
});

it('reports when the runtime cannot say whether it has an image', async () => {
  runtime.gate('findImage').fail(new Error('broken'));
  expect(refusal(await ensure('app:1'))).toBe('ImageInspectError: Failed to inspect image "app:1": broken');
});

it('rejects with the signal’s reason, and counts that as no failure of the image', async () => {
  const stop = new AbortController();
  runtime.allowPull('app:1');
  const release = runtime.gate('pullImage').hang();
  const ensured = images.ensureImage(aSpecContainer({ image: 'app:1' }), pod, stop.signal);
  await clock.settle();
  stop.abort(new Error('killed'));
  await expect(ensured).rejects.toThrow('killed');
  release();
  await clock.settle();
  expect(await ensure('app:1')).toMatchObject({ isPresent: true });
  expect(pulls()).toBe(1);
});
