import { describe, expect, it } from 'vitest';
import { formatFieldPath } from '../fields/field-path.js';
import { CONTAINER, podOf, problemsOf, withContainer } from '#support/builders/written-pods.js';
import { applyPodDefaults } from './pod-defaults.js';
import { readPod } from './read-pod.js';

describe('a pod as written', () => {
  it('is read as it is', () => {
    const spec = { restartPolicy: 'Never', tolerations: [{ operator: 'Exists' }] };
    expect(readPod(podOf({ ...spec, schedulerName: 'mine' }, { uid: 'u1' }))).toEqual({
      ...{ name: 'web', namespace: '', problems: [] },
      pod: podOf(spec, { uid: 'u1' }),
    });
  });

  it.each([
    [undefined, 'must be a mapping, not undefined'],
    [[], 'must be a mapping, not []'],
    ['Pod', 'must be a mapping, not "Pod"'],
    [{ ...podOf(), kind: 'Job' }, 'kind: "Job" is not supported: use Pod'],
    [{ ...podOf(), apiVersion: 'v2' }, 'apiVersion: "v2" is not supported: use v1'],
    [{ ...podOf(), spec: null }, 'spec: Required value'],
    [{ ...podOf(), sepc: {} }, 'sepc: unknown field, did you mean spec?'],
    [podOf({}, { name: '' }), 'metadata.name: Required value'],
    [podOf({}, { nme: 'x' }), 'metadata.nme: unknown field, did you mean name?'],
    [podOf({ containers: [] }), 'spec.containers: Required value'],
    [podOf({ containers: null }), 'spec.containers: Required value'],
    [podOf({ containers: {} }), 'spec.containers: must be a list, not {}'],
    [podOf({ containers: [null] }), 'spec.containers[0]: must be a mapping, not null'],
    [
      podOf({ restartPolicy: 'Maybe' }),
      'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      podOf({ hostNetwork: 'true' }),
      'spec.hostNetwork: must be true or false, not "true"; leave the quotes out',
    ],
    [
      podOf({ terminationGracePeriodSeconds: 1.5 }),
      'spec.terminationGracePeriodSeconds: must be a whole number, not 1.5',
    ],
    [
      podOf({ terminationGracePeriodSeconds: 2 ** 60 }),
      /must be a whole number from -9007199254740991 to 9007199254740991/,
    ],
    [
      withContainer({ command: ['sleep', 1000] }),
      'spec.containers[0].command[1]: must be a string, not 1000; put it in quotes',
    ],
    [withContainer({ command: [null] }), 'spec.containers[0].command[0]: must be a string, not null'],
    [withContainer({ comand: [] }), 'spec.containers[0].comand: unknown field, did you mean command?'],
    [withContainer({ constructor: 1 }), /^spec\.containers\[0\]\.constructor: unknown field/],
    [withContainer({ ports: [{ containerPort: 2 ** 31 }] }), /containerPort: must be a whole number from/],
    [
      withContainer({ resources: { limits: { cpu: 'much' } } }),
      'spec.containers[0].resources.limits[cpu]: must be a quantity such as 500m, 2 or 1.5Gi, not "much"',
    ],
    ...[
      ['64MB', '64M'],
      ['1.5 GiB', '1536Mi'],
      ['512KB', '512k'],
    ].map(([memory = '', meant = '']): [object, RegExp] => [
      withContainer({ resources: { limits: { memory } } }),
      new RegExp(`not "${memory}"; did you mean ${meant}\\?$`),
    ]),
    ...['1\n', '\t1', '1\r\n', '1\u2028', '\ufeff1'].map((cpu): [object, RegExp] => [
      withContainer({ resources: { limits: { cpu } } }),
      /resources\.limits\[cpu\]: must be a quantity/,
    ]),
    [
      podOf({ affinity: { nodeAfinity: {} } }),
      'spec.affinity.nodeAfinity: unknown field, did you mean nodeAffinity?',
    ],
  ])('is rejected for its form: %j', (value, message) => {
    expect(problemsOf(value)[0]).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
  });

  it.each([
    [
      podOf({ automountServiceAccountToken: true }),
      /^spec\.automountServiceAccountToken: true is not supported: /,
    ],
    [
      podOf({ os: { name: 'windows' } }),
      'spec.os.name: "windows" is not supported: podloop runs Linux containers',
    ],
    [
      podOf({ securityContext: { windowsOptions: { hostProcess: true } } }),
      'spec.securityContext.windowsOptions: not supported; leave it out: podloop runs Linux containers',
    ],
  ])('is refused for what is not supported: %j', (value, message) => {
    const problems = problemsOf(value);
    expect(problems).toEqual([typeof message === 'string' ? message : expect.stringMatching(message)]);
  });

  it.each([{}, [], '', { claimName: '' }, { claimName: '../etc' }, { claimName: 'a/b' }])(
    'is refused for a claim without a name that one can have: %j',
    (persistentVolumeClaim) => {
      const found = problemsOf(podOf({ volumes: [{ name: 'v', persistentVolumeClaim }] }));
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(/^spec\.volumes\[0\]\.persistentVolumeClaim/);
    },
  );

  it.each(['csi', 'ephemeral', 'nfs'])(
    'is refused for a volume %s without anything in it, which would be an emptyDir, and not for null',
    (source) => {
      const withSource = (value: unknown) => podOf({ volumes: [{ name: 'v', [source]: value }] });
      const told = expect.stringMatching(
        `^spec\\.volumes\\[0\\]\\.${source}: not supported; .{10}`,
      ) as unknown;
      const image = { reference: 'podloop.local/host', pullPolicy: 'Never' };
      for (const value of [{}, [], '', false, { x: 1 }, image])
        expect(problemsOf(withSource(value))).toEqual([told]);
      expect(problemsOf(withSource(null))).toEqual([]);
    },
  );

  it('may mount images, by their names, pulled as containers’ images are', () => {
    const volumes = (...images: unknown[]) =>
      podOf({ volumes: images.map((image, at) => ({ name: `v${at}`, image })) });
    const { pod } = readPod(
      volumes({ reference: 'a/b' }, { reference: 'a/b:1' }, { reference: 'c', pullPolicy: 'Never' }),
    );
    expect(applyPodDefaults(pod!).spec.volumes?.map(({ image }) => image?.pullPolicy)).toEqual([
      'Always',
      'IfNotPresent',
      'Never',
    ]);
    for (const image of [{}, { reference: '' }])
      expect(problemsOf(volumes(image))).toEqual(['spec.volumes[0].image.reference: Required value']);
    expect(problemsOf(volumes({ reference: 'a', pullPolicy: 'Sometimes' }))[0]).toMatch(
      /^spec\.volumes\[0\]\.image\.pullPolicy: /,
    );
    expect(problemsOf(podOf({ volumes: [{ name: 'v', image: { reference: 'a' }, emptyDir: {} }] }))).toEqual([
      'spec.volumes[0].image: Forbidden: there is emptyDir already; only one may be set',
    ]);
  });

  it('is refused for any unsupported object, empty or not', () => {
    const empty = podOf({
      ...{
        schedulingGroup: {},
        serviceAccountName: {},
        securityContext: { windowsOptions: {} },
      },
      containers: [
        {
          ...CONTAINER,
          securityContext: { windowsOptions: {} },
        },
      ],
      volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: {} }] } }],
    });
    const refused = readPod(empty).problems.filter(({ kind }) => kind === 'refused');
    expect(refused.map(({ path }) => formatFieldPath(path)).sort()).toEqual([
      'spec.containers[0].securityContext.windowsOptions',
      'spec.schedulingGroup',
      'spec.securityContext.windowsOptions',
      'spec.volumes[0].projected.sources[0].serviceAccountToken',
    ]);
  });

  it('may have empty lists, maps and text in unsupported fields', () => {
    const empty = podOf(
      {
        ...{
          readinessGates: [],
          schedulingGates: [],
          resourceClaims: [],
          evictionResponders: [],
          overhead: {},
        },
        serviceAccountName: '',
        containers: [{ ...CONTAINER, volumeDevices: [], resources: { claims: [] } }],
      },
      { finalizers: [], generateName: '' },
    );
    expect(problemsOf(empty)).toEqual([]);
  });

  it.each(['+1', '01', 'x', {}])(
    'names a limit of another type and nothing that follows from it: %j',
    (memory) => {
      const resources = { limits: { 'hugepages-2Mi': '4Mi', memory } };
      const { problems } = readPod(podOf({ containers: [{ ...CONTAINER, resources }] }));
      expect(problems.map(({ kind, path }) => `${kind} ${formatFieldPath(path)}`)).toEqual([
        'type spec.containers[0].resources.limits[memory]',
      ]);
    },
  );

  it('may have fields that request nothing, as kubectl prints them', () => {
    const value = {
      ...podOf(
        {
          ...{ dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', securityContext: {}, volumes: [] },
          ...{ hostPID: false, priority: 0, imagePullSecrets: [], enableServiceLinks: true },
          ...{
            schedulerName: 'default-scheduler',
            automountServiceAccountToken: false,
            os: { name: 'linux' },
          },
          ...{ nodeName: 'elsewhere', nodeSelector: { disk: 'ssd' }, preemptionPolicy: 'Never' },
        },
        {
          creationTimestamp: null,
          resourceVersion: '7',
          generation: 1,
          managedFields: [{ operation: 'Update' }],
        },
      ),
      status: { phase: 'Running' },
    };
    expect(readPod(value)).toEqual({
      ...{ name: 'web', namespace: '', problems: [] },
      pod: podOf({
        ...{ dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', securityContext: {}, volumes: [] },
        ...{ hostPID: false, priority: 0, os: { name: 'linux' }, imagePullSecrets: [] },
        ...{ nodeSelector: { disk: 'ssd' }, enableServiceLinks: true },
      }),
    });
  });

  it('gets all problems at once', () => {
    const value = podOf(
      {
        restartPolicy: 'No',
        containers: [
          { name: 'A', image: ' x', ports: [{ containerPort: 0 }, { containerPort: 70000 }] },
          { name: 'b' },
        ],
      },
      { name: 'Web', labels: { 'a b': 'c' } },
    );
    expect(problemsOf(value)).toEqual([
      expect.stringMatching(/^spec\.containers\[1\]\.image: Required value/),
      expect.stringMatching(/^spec\.restartPolicy: Unsupported value/),
      expect.stringMatching(/^metadata\.name: Invalid value: "Web": use /),
      expect.stringMatching(/^metadata\.labels\[a b\]: Invalid value: "a b": use /),
      expect.stringMatching(/^spec\.containers\[0\]\.name: Invalid value: "A": use /),
      'spec.containers[0].image: Invalid value: " x": must not begin or end with space',
      'spec.containers[0].ports[0].containerPort: Invalid value: 0: must be from 1 to 65535',
      'spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be from 1 to 65535',
    ]);
  });
});
