/**
 * Images of a registry that asks who it is: a registry on loopback, a real containerd, and the Secrets of a pod.
 *
 * @module
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/cri/index.js';
import { ImageManager } from '../../src/images/image-manager.js';
import { type Secret } from '../../src/model/config-object.js';
import { CriRuntimeChanges } from '../../src/runtime/cri-runtime-changes.js';
import { aNodePod, aSpecContainer } from '../../src/testing/node-pods.js';
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
  beforeEach(() => {
    [told, secrets] = [[], []];
    images = new ImageManager({
      changes: new CriRuntimeChanges({ client }),
      events: { record: (_pod, { reason, message }) => void told.push(`${reason}: ${message}`) },
      objects: { findSecret: (_pod, name) => secrets.find(({ metadata }) => metadata.name === name) },
    });
  });

  const secretOf = (name: string, logins: Readonly<Record<string, string>>): Secret => {
    const auths = Object.entries(logins).map(([at, password]) => [at, { username: 'me', password }] as const);
    const text = JSON.stringify({ auths: Object.fromEntries(auths) });
    return {
      ...{ kind: 'Secret', metadata: { name, namespace: 'default' }, type: 'kubernetes.io/dockerconfigjson' },
      data: new Map([['.dockerconfigjson', Buffer.from(text)]]),
    };
  };
  const ensure = async (): Promise<string> => {
    const pod = aNodePod();
    const spec = { ...pod.spec, imagePullSecrets: [{ name: 'wrong' }, { name: 'right' }] };
    const container = aSpecContainer({ image: `${place}/team/app:1`, imagePullPolicy: 'Always' });
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
});
