/**
 * Images of a registry that asks who it is: a registry on loopback, a real containerd, and the Secrets of a pod.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { ImageAccess } from '../../src/node/images/image-access.js';
import { ImageManager } from '../../src/node/images/image-manager.js';
import { PullRecords } from '../../src/node/images/pull-records.js';
import { type Secret } from '#kube/objects/config-object.js';
import { type ImagePullPolicy } from '#kube/container/container.js';
import { CriRuntimeChanges } from '../../src/node/runtime/cri-runtime-changes.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { SystemClock } from '#base/time/clock.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { RELEASES } from './harness/installed.js';
import { findLeftovers } from './harness/leftovers.js';
import { LoginRegistry, REGISTRY_PASSWORD } from './harness/login-registry.js';

const NEVER = new AbortController().signal;

describe.each(RELEASES)('images of a registry that asks for a login, on containerd %s', (release) => {
  let containerd: Containerd;
  let client: CriClient;
  let registry: LoginRegistry;
  let place: string;
  beforeAll(async () => {
    registry = await LoginRegistry.start({ layers: [[{ name: 'motd', content: 'hello' }]] });
    place = registry.place;
    containerd = await startContainerd({ version: release });
    client = new CriClient({ endpoint: containerd.endpoint });
  });
  afterAll(async () => {
    client.close();
    await containerd[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    expect(await findLeftovers(containerd.names)).toEqual([]);
  });

  let told: string[];
  let secrets: Secret[];
  let images: ImageManager;
  const start = (access?: ImageAccess): ImageManager =>
    new ImageManager({
      ...(access && { access }),
      changes: new CriRuntimeChanges({ client }),
      events: { record: (_pod, { reason, message }) => void told.push(`${reason}: ${message}`) },
      objects: { findSecret: (_pod, name) => secrets.find(({ metadata }) => metadata.name === name) },
    });
  beforeEach(() => {
    [told, secrets] = [[], []];
    images = start();
  });

  const secretOf = (name: string, logins: Readonly<Record<string, string>>): Secret => {
    const auths = Object.entries(logins).map(([at, password]) => [at, { username: 'me', password }] as const);
    const text = JSON.stringify({ auths: Object.fromEntries(auths) });
    return {
      ...{ kind: 'Secret', metadata: { name, namespace: 'default' }, type: 'kubernetes.io/dockerconfigjson' },
      data: new Map([['.dockerconfigjson', Buffer.from(text)]]),
    };
  };
  let pods = 0;
  const ensure = async (imagePullPolicy: ImagePullPolicy = 'Always', name = 'app:1'): Promise<string> => {
    const pod = aSpecPod({}, { uid: `u${++pods}` });
    const spec = { ...pod.spec, imagePullSecrets: [{ name: 'wrong' }, { name: 'right' }] };
    const container = aSpecContainer({ image: `${place}/team/${name}`, imagePullPolicy });
    const outcome = await images.ensureImage(container, { ...pod, spec }, NEVER);
    return outcome.isPresent ? 'present' : `${outcome.reason}: ${outcome.message}`;
  };

  it('are refused without the right one, and fetched with it', async () => {
    expect(await ensure()).toMatch(/^ErrImagePull: .*(401 Unauthorized|authorization failed)/s);
    secrets = [secretOf('wrong', { [place]: 'guessed', 'elsewhere.test': REGISTRY_PASSWORD })];
    expect(await ensure()).toMatch(/^ErrImagePull: .*(401 Unauthorized|authorization failed)/s);
    secrets.push(secretOf('right', { [`http://${place}/team`]: REGISTRY_PASSWORD }));
    expect(await ensure()).toBe('present');
    secrets = [
      secretOf('wrong', { [`${place}/team/app`]: 'guessed' }),
      secretOf('right', { [place]: REGISTRY_PASSWORD }),
    ];
    expect(await ensure()).toBe('present');
    for (const line of told)
      for (const word of [REGISTRY_PASSWORD, 'guessed']) expect(line).not.toContain(word);
  });

  it('are there for pods with a login that they were pulled with, by tag and by digest, and for no others', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-pulls-'));
    const clock = new SystemClock();
    const open = async (): Promise<ImageManager> => {
      const records = await PullRecords.open({
        folder: join(folder, 'image-pulls'),
        runtime: 'containerd',
        clock,
      });
      return start(
        new ImageAccess({ records, rules: { policy: 'NeverVerifyPreloadedImages', allowlist: [] } }),
      );
    };
    images = await open();
    secrets = [secretOf('right', { [place]: REGISTRY_PASSWORD })];
    expect(await ensure()).toBe('present');
    const changes = new CriRuntimeChanges({ client });
    const { digests = [] } = (await changes.findImage(`${place}/team/app:1`)) ?? {};
    const byDigest = digests[0]!.slice(`${place}/team/`.length);
    for (const name of ['app:1', byDigest]) {
      secrets = [];
      expect(await ensure('Never', name)).toMatch(/^ErrImageNeverPull: /);
      expect(await ensure('IfNotPresent', name)).toMatch(/^ErrImagePull: .*(401|authorization failed)/s);
      images = await open();
      expect(await ensure('IfNotPresent', name)).toMatch(/^ErrImagePull: .*(401|authorization failed)/s);
      secrets = [secretOf('wrong', { [place]: 'guessed' })];
      expect(await ensure('IfNotPresent', name)).toMatch(/^ErrImagePull: .*(401|authorization failed)/s);
      secrets.push(secretOf('right', { [place]: REGISTRY_PASSWORD }));
      expect(await ensure('Never', name)).toBe('present');
    }
    await rm(folder, { recursive: true });
  });
});
