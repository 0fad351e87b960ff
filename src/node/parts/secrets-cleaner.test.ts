import { beforeEach, expect, it } from 'vitest';
import { type SourceConfigObject } from '../desired/config-objects.js';
import { type ConfigObject } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { SecretHider } from '#kube/objects/secret-hider.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aSpecPod } from '#support/builders/node-pods.js';
import { SecretsCleaner } from './secrets-cleaner.js';

const LONG_MS = 10 * 60_000;
const NOBODY: readonly string[] = [];

let clock: FakeClock;
let secrets: SecretHider;
let pods: Map<string, NodePod>;
let manifests: SourceConfigObject[];
let cleaner: SecretsCleaner;
beforeEach(() => {
  clock = new FakeClock();
  secrets = new SecretHider();
  pods = new Map(['shop', 'bank'].map((namespace) => [namespace, aSpecPod({}, { namespace })]));
  manifests = [];
  cleaner = new SecretsCleaner({
    ...{ secrets, clock, findPod: (uid) => pods.get(uid), manifests: { all: () => manifests } },
  });
  for (const namespace of ['shop', 'bank']) secrets.learn(aSecret(namespace));
});

function aSecret(namespace: string) {
  const data = new Map([['password', Buffer.from('swordfish')]]);
  return { kind: 'Secret', metadata: { name: 'key', namespace }, type: 'Opaque', data } as const;
}

/** As housekeeping does, with pods by the namespace that they are in. */
function cleanUp(desired: readonly string[], possiblyRunning = NOBODY): void {
  cleaner.cleanUp({
    ...{ desiredUids: new Set(desired), possiblyRunningUids: new Set(possiblyRunning) },
    mayRemove: () => false,
  });
}

it('values are forgotten a while after the last pod of their namespace', async () => {
  cleanUp(['shop', 'bank']);
  cleanUp(['shop'], ['bank']);
  await clock.advance(LONG_MS);
  cleanUp(['shop']);
  await clock.advance(LONG_MS - 1);
  cleanUp(['shop']);
  expect(secrets.namespaces).toEqual(['shop', 'bank']);
  await clock.advance(1);
  cleanUp(['shop']);
  expect(secrets.namespaces).toEqual(['shop']);
});

it('values stay known when another pod of their namespace comes in time', async () => {
  cleanUp(['shop']);
  await clock.advance(LONG_MS - 1);
  cleanUp(['shop', 'bank']);
  cleanUp(['shop']);
  await clock.advance(LONG_MS - 1);
  cleanUp(['shop']);
  expect(secrets.namespaces).toEqual(['shop', 'bank']);
});

it('values stay known while a manifest has a Secret of their namespace, which is not learnt again', async () => {
  const objects: ConfigObject[] = [
    aSecret('bank'),
    {
      kind: 'ConfigMap',
      metadata: { name: 'map', namespace: 'shop' },
      data: new Map(),
      binaryData: new Map(),
    },
  ];
  manifests = objects.map((object) => ({ source: 'file', object }));
  cleanUp([]);
  await clock.advance(LONG_MS);
  cleanUp([]);
  expect(secrets.namespaces).toEqual(['bank']);
});

it('values stay known while it is not known where a pod belongs', async () => {
  cleanUp([]);
  await clock.advance(LONG_MS);
  cleanUp([], ['somewhere']);
  expect(secrets.namespaces).toEqual(['shop', 'bank']);
  cleanUp([]);
  expect(secrets.namespaces).toEqual([]);
});
