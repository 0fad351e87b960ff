import { describe, expect, it } from 'vitest';
import { type ConfigMap, type PodObjects, type Secret } from '#kube/objects/config-object.js';
import { type Container } from '#kube/container/container.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { type ContainerEnvironment } from './container-environment.js';
import { type FileKey, resolveEnvironment } from './resolve-environment.js';

const META = { namespace: 'default' };
const SETTINGS: ConfigMap = {
  ...{ kind: 'ConfigMap', metadata: { ...META, name: 'settings' } },
  data: new Map([
    ['level', 'high'],
    ['a.b-c', 'odd'],
  ]),
  binaryData: new Map([['blob', new Uint8Array([1])]]),
};
const KEYS: Secret = {
  ...{ kind: 'Secret', metadata: { ...META, name: 'keys' }, type: 'Opaque' },
  data: new Map([
    ['token', Buffer.from('s3cret')],
    ['level', Buffer.from('$(WHO)')],
    ['nul', Buffer.from('s3\0cret')],
  ]),
};
const SETTINGS_ONLY: ConfigMap = { ...SETTINGS, data: new Map([['level', 'high']]) };

function objectsOf(...objects: (ConfigMap | Secret)[]): PodObjects {
  const find = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name);
  return {
    findConfigMap: (_pod, name) => find('ConfigMap', name) as ConfigMap | undefined,
    findSecret: (_pod, name) => find('Secret', name) as Secret | undefined,
  };
}

const FACTS = {
  ...{ podIps: ['10.88.0.9'], hostIps: ['192.0.2.1'], nodeName: 'node1', serviceAccountName: 'default' },
  allocatable: { cpuMilli: 4_000n, memoryBytes: 1_024n },
};

function resolve(container: Partial<Container>, objects = objectsOf(SETTINGS, KEYS)): string[] {
  const own = aSpecContainer(container);
  const pod = aSpecPod({ containers: [own] });
  const { entries } = resolveEnvironment(pod, own, { objects, facts: FACTS });
  return entries.map(({ name, value }) => `${name}=${value.toString()}`);
}

const NOTHING = new Uint8Array();

/** With a variable X, which is then taken from a file. */
function environmentOfFile(
  found: FileKey | Error | undefined,
  extra: { readonly optional?: boolean } = {},
): ContainerEnvironment {
  const fileKeyRef = { volumeName: 'v', path: 'a.env', key: 'K', ...extra };
  const env = [
    { name: 'X', value: 'old' },
    { name: 'X', valueFrom: { fileKeyRef } },
  ];
  const own = aSpecContainer({ env });
  const fileKeys = new Map(found === undefined ? [] : [[fileKeyRef, found]]);
  const sources = { objects: objectsOf(), facts: FACTS, fileKeys };
  return resolveEnvironment(aSpecPod({ containers: [own] }), own, sources);
}

function resolveFile(...given: Parameters<typeof environmentOfFile>): string[] {
  const { entries } = environmentOfFile(...given);
  return entries.map(({ name, value }) => `${name}=${value.toString()}`);
}

describe('the environment of a container', () => {
  it('takes variables from files of volumes as they are', () => {
    const value = Buffer.from('a $(X)\nb');
    expect(resolveFile({ file: '/v/a.env', value }, {})).toEqual(['X=a $(X)\nb']);
  });

  it('has all of envFrom, each behind its prefix, whatever its name looks like', () => {
    const envFrom = [
      { configMapRef: { name: 'settings' } },
      { prefix: 'my ', configMapRef: { name: 'settings' } },
    ];
    expect(resolve({ envFrom })).toEqual([...['a.b-c=odd', 'level=high', 'my a.b-c=odd', 'my level=high']]);
  });

  it('lets a later source of envFrom, and then env, hold', () => {
    const secret = { ...KEYS, data: new Map([['level', Buffer.from('low')]]) };
    const envFrom = [{ configMapRef: { name: 'settings' } }, { secretRef: { name: 'keys' } }];
    const objects = objectsOf(SETTINGS_ONLY, secret);
    expect(resolve({ envFrom }, objects)).toEqual(['level=low']);
    const env = [{ name: 'level', value: 'not $(level)' }];
    expect(resolve({ envFrom, env }, objects)).toEqual(['level=not low']);
  });

  it('has single entries, unexpanded, and expands what refers to them', () => {
    const env = [
      { name: 'WHO', value: 'you' },
      { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } },
      { name: 'RAW', valueFrom: { secretKeyRef: { name: 'keys', key: 'level' } } },
      { name: 'BOTH', value: '$(LEVEL) $(RAW) $$(RAW)' },
    ];
    expect(resolve({ env })).toEqual(['WHO=you', 'LEVEL=high', 'RAW=$(WHO)', 'BOTH=high $(WHO) $(RAW)']);
  });

  it('has facts of the pod, of its containers, and of the node', () => {
    const env = [
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      {
        name: 'OWN',
        valueFrom: { resourceFieldRef: { containerName: 'app', resource: 'limits.memory', divisor: '1k' } },
      },
    ];
    const resources = { limits: { memory: '1500' } };
    expect(resolve({ env, resources })).toEqual(['IP=10.88.0.9', 'CPU=4', 'OWN=2']);
    const other = { containerName: 'other', resource: 'limits.memory' };
    expect(() => resolve({ env: [{ name: 'A', valueFrom: { resourceFieldRef: other } }] })).toThrow(
      'container other not found',
    );
  });
});

describe('what is missing', () => {
  it.each<[string, Partial<Container>]>([
    ['configmap "x" not found', { envFrom: [{ configMapRef: { name: 'x' } }] }],
    ['secret "x" not found', { envFrom: [{ secretRef: { name: 'x' } }] }],
    [
      'configmap "x" not found',
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'x', key: 'k' } } }] },
    ],
    ['secret "x" not found', { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'x', key: 'k' } } }] }],
    [
      "couldn't find key k in ConfigMap default/settings",
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'k' } } }] },
    ],
    [
      "couldn't find key blob in ConfigMap default/settings",
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'blob' } } }] },
    ],
    [
      "couldn't find key k in Secret default/keys",
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } }] },
    ],
  ])('is reported: %s', (message, container) => {
    expect(() => resolve(container)).toThrow(message);
  });

  it.each<[string, FileKey | Error | undefined]>([
    ["couldn't parse env file", new Error("couldn't parse env file")],
    ['environment variable key "K" not found in file "/v/a.env"', { file: '/v/a.env', value: NOTHING }],
    ['cannot find the volume "v" referenced by FileKeyRef', undefined],
  ])('in a file is reported: %s', (message, found) => {
    expect(() => resolveFile(found, {})).toThrow(message);
    const optional = () => resolveFile(found, { optional: true });
    // Only a variable may be missing: a file that cannot be read is an error all the same.
    if (found === undefined || found instanceof Error) expect(optional).toThrow(message);
    else expect(optional()).toEqual(['X=old']);
  });

  it('and is optional changes nothing', () => {
    const optional = true;
    const envFrom = [
      { configMapRef: { name: 'settings' } },
      { configMapRef: { name: 'x', optional } },
      { secretRef: { name: 'x', optional } },
    ];
    const env = [
      { name: 'level', valueFrom: { configMapKeyRef: { name: 'x', key: 'k', optional } } },
      { name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'k', optional } } },
      { name: 'B', valueFrom: { secretKeyRef: { name: 'x', key: 'k', optional } } },
      { name: 'C', valueFrom: { secretKeyRef: { name: 'keys', key: 'k', optional } } },
    ];
    expect(resolve({ envFrom, env }, objectsOf(SETTINGS_ONLY, KEYS))).toEqual(['level=high']);
  });
});

it('what no variable can hold is reported only by the name of the variable', () => {
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'nul' } } }];
  expect(() => resolve({ env })).toThrow(
    /^environment variable "A" has a NUL character, which none can hold$/,
  );
});

describe('a message', () => {
  it('does not have a value from a file', () => {
    const environment = environmentOfFile({ file: '/v/a.env', value: Buffer.from('hunter22') });
    expect(environment.hideSecrets('exec hunter22: not found')).toBe('exec $(X): not found');
  });

  const env = [
    { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
    { name: 'PIN', valueFrom: { secretKeyRef: { name: 'keys', key: 'pin' } } },
    { name: 'TWO', valueFrom: { secretKeyRef: { name: 'keys', key: 'two' } } },
    { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } },
  ];
  const secret = {
    ...KEYS,
    data: new Map([
      ['token', Buffer.from('s3"cret')],
      ['pin', Buffer.from('1')],
      ['two', Buffer.from('two\twords')],
    ]),
  };
  const own = aSpecContainer({ env });
  const sources = { objects: objectsOf(SETTINGS, secret), facts: FACTS };
  const environment = resolveEnvironment(aSpecPod({ containers: [own] }), own, sources);

  it.each([
    ['exec: "/bin/s3"cret": no such file', 'exec: "/bin/$(TOKEN)": no such file'],
    ['exec: "/bin/s3\\"cret": no such file', 'exec: "/bin/$(TOKEN)": no such file'],
    ['args "[\\"s3\\\\\\"cret\\"]"', 'args "[\\"$(TOKEN)\\"]"'],
    ['exec: "two\\twords": no such file', 'exec: "$(TWO)": no such file'],
    ['exec: two words: no such file', 'exec: $(TWO): no such file'],
    ['level high, pin 1 of 12', 'level high, pin $(PIN) of 12'],
  ])('names variables in the place of what Secrets hold: %s', (message, hidden) => {
    expect(environment.hideSecrets(message)).toBe(hidden);
  });
});

it('services are added, and give way to whatever else sets the same variable', () => {
  const container = aSpecContainer({
    env: [
      { name: 'DB_SERVICE_PORT', value: '1' },
      { name: 'URL', value: 'db://$(DB_SERVICE_HOST)' },
    ],
  });
  const services = new Map([
    ['DB_SERVICE_HOST', '10.0.0.2'],
    ['DB_SERVICE_PORT', '5432'],
  ]);
  const sources = { objects: objectsOf(), facts: FACTS, services };
  const { entries } = resolveEnvironment(aSpecPod({}), container, sources);
  expect(Object.fromEntries(entries.map(({ name, value }) => [name, value.toString()]))).toEqual({
    ...{ DB_SERVICE_HOST: '10.0.0.2', DB_SERVICE_PORT: '1', URL: 'db://10.0.0.2' },
  });
});
