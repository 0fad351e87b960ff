import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatFieldPath } from '../fields/field-path.js';
import { formatFieldProblem } from '../fields/field-problem.js';
import { applyWorkloadDefaults, readWorkload } from './read-workload.js';
import { type Workload, WORKLOAD_VERSIONS } from './workload.js';
import { checkWorkloadUpdate } from './workload-update.js';

type Kind = Workload['kind'];
type Json = Readonly<Record<string, unknown>>;

const LABELS = { app: 'web' };
const template = (spec: Json = {}, labels: Json = LABELS) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'a', image: 'a:1' }], ...spec },
});
const ONCE = template({ restartPolicy: 'Never' });
const SELECTOR = { matchLabels: LABELS };
const CLAIM = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };

/** A valid spec of each kind. */
const INDEXED = { completionMode: 'Indexed', completions: 3 };
const SPECS: Readonly<Record<Kind, Json | undefined>> = {
  Deployment: { selector: SELECTOR, template: template() },
  ReplicaSet: { selector: SELECTOR, template: template() },
  ReplicationController: { selector: LABELS, template: template() },
  StatefulSet: {
    ...{ selector: SELECTOR, template: template(), serviceName: 'web' },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: CLAIM }],
  },
  DaemonSet: { selector: SELECTOR, template: template() },
  Job: { template: ONCE },
  CronJob: { schedule: '*/5 * * * *', jobTemplate: { spec: { template: ONCE } } },
  PersistentVolumeClaim: CLAIM,
  Namespace: undefined,
  ServiceAccount: undefined,
  Service: { ports: [{ port: 80 }] },
};
const KINDS = Object.keys(SPECS) as Kind[];
const objectOf = (kind: Kind, spec: Json | undefined = SPECS[kind], name = 'web') => ({
  ...{ apiVersion: WORKLOAD_VERSIONS[kind], kind, metadata: { name } },
  ...(spec === undefined ? {} : { spec }),
});
const read = (kind: Kind, value: unknown) => readWorkload(value, kind, { toWritten: (pod) => pod });
const problemsOf = (kind: Kind, change: Json) =>
  read(kind, objectOf(kind, { ...SPECS[kind], ...change })).problems.map(formatFieldProblem);

describe('an object that stands for pods, or for what they use', () => {
  it.each(KINDS)('is read as it is written, and is the same when it is read again: %s', (kind) => {
    const { object, problems } = read(kind, objectOf(kind));
    expect(problems.map(formatFieldProblem)).toEqual([]);
    expect(object!.metadata).toEqual({ name: 'web', namespace: 'default' });
    expect(read(kind, JSON.parse(JSON.stringify(object))).object).toEqual(object);
    expect(applyWorkloadDefaults(applyWorkloadDefaults(object!))).toEqual(applyWorkloadDefaults(object!));
  });

  it.each(KINDS)('has only fields that Kubernetes has: %s', (kind) => {
    const { problems } = read(kind, { ...objectOf(kind), specc: {} });
    expect(problems.map(formatFieldProblem)).toEqual([expect.stringMatching(/^specc: unknown field/)]);
  });

  it.each(KINDS)('has the version of its kind: %s', (kind) => {
    const { problems } = read(kind, { ...objectOf(kind), apiVersion: 'extensions/v1beta1' });
    expect(problems.map(({ path }) => path)).toEqual([['apiVersion']]);
  });

  it.each([
    [
      'Deployment',
      { template: template({ containers: [{ name: 'a', imag: 'a' }] }) },
      [
        /^spec\.template\.spec\.containers\[0\]\.imag: unknown field, did you mean image/,
        /^spec\.template\.spec\.containers\[0\]\.image: Required/,
      ],
    ],
    [
      'CronJob',
      { jobTemplate: { spec: { template: template({ restartPolicy: 'Never', hostPit: true }) } } },
      [/^spec\.jobTemplate\.spec\.template\.spec\.hostPit: unknown field/],
    ],
    [
      'Job',
      { template: template({ restartPolicy: 'Never', volumes: [{ name: 'V' }] }) },
      [/^spec\.template\.spec\.volumes\[0\]\.name: Invalid/],
    ],
  ] as const)('has a template that is read like a Pod: %s', (kind, change, expected) => {
    const found = problemsOf(kind, change).sort();
    expect(found).toEqual([...expected].map((each) => expect.stringMatching(each) as string));
  });

  it.each([
    [
      'Deployment',
      { selector: { matchLabels: { app: 'db' } } },
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'Deployment',
      { selector: {} },
      'spec.selector: Invalid value: {}: empty selector is invalid for deployment',
    ],
    ['Deployment', { selector: undefined }, 'spec.selector: Required value'],
    ['Deployment', { replicas: -1 }, 'spec.replicas: Invalid value: -1: must be at least 0'],
    ['Deployment', { replicas: '3' }, 'spec.replicas: must be a whole number, not "3"; leave the quotes out'],
    [
      'Deployment',
      { template: ONCE },
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ],
    [
      'ReplicaSet',
      { template: template({ activeDeadlineSeconds: 5 }) },
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
    ],
    [
      'Deployment',
      { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } },
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      'Deployment',
      { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0',
    ],
    [
      'Deployment',
      { strategy: { rollingUpdate: { maxUnavailable: '101%' } } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
    ],
    [
      'StatefulSet',
      { updateStrategy: { rollingUpdate: { partition: -1 } } },
      'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be at least 0',
    ],
    [
      'StatefulSet',
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } },
      'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: "Delete" is not supported: claims stay until podloop volumes rm removes them',
    ],
    [
      'StatefulSet',
      { volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: { accessModes: ['ReadWriteOnce'] } }] },
      'spec.volumeClaimTemplates[0].spec.resources[storage]: Required value',
    ],
    [
      'DaemonSet',
      { updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } },
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
    ],
    [
      'Job',
      { template: template() },
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'Job',
      { completionMode: 'Indexed' },
      'spec.completions: Required value: when completion mode is Indexed',
    ],
    [
      'Job',
      { successPolicy: { rules: [{ succeededCount: 1 }] } },
      'spec.successPolicy: Invalid value: {}: requires indexed completion mode',
    ],
    ['Job', { ...INDEXED, successPolicy: { rules: [] } }, 'spec.successPolicy.rules: Required value'],
    [
      'Job',
      { ...INDEXED, successPolicy: { rules: [{}] } },
      'spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified',
    ],
    [
      'Job',
      { ...INDEXED, successPolicy: { rules: [{ succeededIndexes: '0-3' }] } },
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-3": error parsing succeededIndexes: too large index: "3"',
    ],
    [
      'Job',
      { ...INDEXED, successPolicy: { rules: [{ succeededIndexes: '0,2', succeededCount: 3 }] } },
      'spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)',
    ],
    [
      'Job',
      { ...INDEXED, successPolicy: { rules: [{ succeededCount: 4 }] } },
      'spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of specified completions)',
    ],
    [
      'Job',
      { backoffLimitPerIndex: 1 },
      'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode',
    ],
    [
      'Job',
      { ...INDEXED, maxFailedIndexes: 1 },
      'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
    ],
    [
      'Job',
      { ...INDEXED, backoffLimitPerIndex: 0, maxFailedIndexes: 4 },
      'spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions',
    ],
    [
      'Job',
      { completionMode: 'Indexed', completions: 100_001, backoffLimitPerIndex: 0 },
      'spec.maxFailedIndexes: Required value: must be specified when completions is above 100000',
    ],
    [
      'Job',
      {
        ...INDEXED,
        podFailurePolicy: { rules: [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [1] } }] },
      },
      'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
    ],
    [
      'Job',
      { podFailurePolicy: { rules: [{ action: 'FailJob' }] } },
      'spec.podFailurePolicy.rules[0]: Invalid value: {}: specifying one of OnExitCodes and OnPodConditions is required',
    ],
    [
      'CronJob',
      { schedule: '* * * *' },
      expect.stringMatching(/^spec\.schedule: Invalid value: "\* \* \* \*": use five fields/),
    ],
    [
      'ReplicationController',
      { selector: undefined, template: template({}, {}) },
      'spec.selector: Required value',
    ],
    [
      'CronJob',
      { schedule: '0 22-25 * * mon' },
      'spec.schedule: Invalid value: "0 22-25 * * mon": the hour is a number from 0 to 23',
    ],
    [
      'CronJob',
      { timeZone: 'Mars/Base' },
      'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base',
    ],
    [
      'PersistentVolumeClaim',
      { accessModes: [] },
      'spec.accessModes: Required value: at least 1 access mode is required',
    ],
    [
      'PersistentVolumeClaim',
      { volumeMode: 'Block' },
      expect.stringMatching(/^spec\.volumeMode: "Block" is not supported/),
    ],
  ] as [Kind, Json, string][])('is held to Kubernetes’ rules: %s %j', (kind, change, expected) => {
    expect(problemsOf(kind, change)).toEqual([expected]);
  });

  it.each([
    ['*/15 0-6,12 1,15 JAN-MAR mon-fri', true],
    ['@daily', true],
    ['@every 1h30m', true],
    ['0 0 31 2 ? ', true],
    ['0 0 L * *', false],
    ['* * * * * *', false],
    ['60 * * * *', false],
    ['0 0 * * 7', false],
    ['TZ=UTC 0 0 * * *', false],
    ['@reboot', false],
    ['', false],
  ])('runs at times that Kubernetes can read: %s', (schedule, isFine) => {
    expect(problemsOf('CronJob', { schedule }).length === 0).toBe(isFine);
  });

  describe('a StatefulSet with claims', () => {
    const mounting = (mounts: readonly string[], volumes?: readonly string[]) =>
      template({
        containers: [
          {
            name: 'a',
            image: 'a:1',
            volumeMounts: mounts.map((name) => ({ name, mountPath: `/m/${name}` })),
          },
        ],
        ...(volumes === undefined ? {} : { volumes: volumes.map((name) => ({ name, emptyDir: {} })) }),
      });
    const claimsOf = (names: readonly string[]) => names.map((name) => ({ metadata: { name }, spec: CLAIM }));
    const NAMES = fc.uniqueArray(fc.constantFrom('data', 'logs', 'wal', 'cache'));

    it('mounts each of its claims and volumes, and nothing else', () => {
      fc.assert(
        fc.property(NAMES, NAMES, NAMES, (claims, volumes, mounts) => {
          const written = mounting(mounts, volumes);
          const value = objectOf('StatefulSet', {
            ...SPECS.StatefulSet,
            ...{ template: written, volumeClaimTemplates: claimsOf(claims) },
          });
          const unknown = mounts.flatMap((name, index) =>
            claims.includes(name) || volumes.includes(name)
              ? []
              : [
                  `spec.template.spec.containers[0].volumeMounts[${index}].name: Not found: ${JSON.stringify(name)}`,
                ],
          );
          const { object, problems } = read('StatefulSet', value);
          expect(problems.map(formatFieldProblem)).toEqual(unknown);
          // The claims' volumes are those of each pod, and no part of the template.
          if (unknown.length === 0) expect(object).toMatchObject({ spec: { template: written } });
        }),
      );
    });

    it('has no volumes in its template when it has claims alone', () => {
      const change = { template: mounting(['data']) };
      const { object } = read('StatefulSet', objectOf('StatefulSet', { ...SPECS.StatefulSet, ...change }));
      expect(object).toMatchObject({ spec: { template: change.template } });
      expect(object).not.toHaveProperty('spec.template.spec.volumes');
    });

    it.each(['Deployment', 'ReplicaSet', 'DaemonSet'] as const)(
      'is the only kind whose template may mount them: %s',
      (kind) => {
        expect(problemsOf(kind, { template: mounting(['data']) })).toEqual([
          'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
        ]);
      },
    );
  });

  it('is read without throwing, whatever is in it', () => {
    fc.assert(
      fc.property(
        ...[fc.constantFrom(...KINDS), fc.object({ maxDepth: 3 }), fc.object({ maxDepth: 3 })],
        (kind, spec, change) => {
          const value = { ...objectOf(kind), spec: { ...SPECS[kind], ...spec }, ...change };
          const { object, problems } = read(kind, value);
          expect(object === undefined).toBe(problems.length > 0);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('an edit of such an object', () => {
  const parse = (kind: Kind, change: Json = {}): Workload =>
    read(kind, objectOf(kind, { ...SPECS[kind], ...change })).object!;

  it.each([
    ['Deployment', { replicas: 3, template: template({}, { app: 'web', tier: 'x' }) }, []],
    [
      'Deployment',
      {
        selector: { matchLabels: { app: 'web', tier: 'x' } },
        template: template({}, { app: 'web', tier: 'x' }),
      },
      ['spec.selector'],
    ],
    ['StatefulSet', { replicas: 2, template: template({ hostname: 'x' }) }, []],
    ['StatefulSet', { podManagementPolicy: 'Parallel' }, ['spec']],
    ['StatefulSet', { podManagementPolicy: 'OrderedReady' }, []],
    ['Job', { parallelism: 4, suspend: true }, []],
    [
      'Job',
      { ...INDEXED, backoffLimitPerIndex: 1, maxFailedIndexes: 1 },
      ['spec.completionMode', 'spec.completions', 'spec.backoffLimitPerIndex'],
    ],
    [
      'Job',
      { ...INDEXED, successPolicy: { rules: [{ succeededCount: 1 }] } },
      ['spec.completionMode', 'spec.completions', 'spec.successPolicy'],
    ],
    ['Job', { template: template({ restartPolicy: 'OnFailure' }) }, ['spec.template']],
    ['PersistentVolumeClaim', { resources: { requests: { storage: '2Gi' } } }, []],
    [
      'PersistentVolumeClaim',
      { resources: { requests: { storage: '1Mi' } } },
      ['spec.resources.requests.storage'],
    ],
    ['PersistentVolumeClaim', { accessModes: ['ReadWriteMany'] }, ['spec']],
  ] as [Kind, Json, string[]][])('changes what Kubernetes lets it change: %s %j', (kind, change, paths) => {
    const found = checkWorkloadUpdate(parse(kind), parse(kind, change));
    expect(found.map(({ path }) => formatFieldPath(path))).toEqual(paths);
  });
});

/** The path of every value in it. */
function* pathsIn(value: unknown, path: readonly (string | number)[] = []): Generator<(string | number)[]> {
  if (path.length > 0) yield [...path];
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value))
    yield* pathsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}

function withAt(value: unknown, [step, ...rest]: readonly (string | number)[], put: unknown): unknown {
  if (step === undefined) return put;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Json;
  return Object.assign(copy, { [step]: withAt(copy[step], rest, put) });
}

describe('a value of another type', () => {
  const inside = (value: unknown, path: readonly (string | number)[]): unknown =>
    path.reduce((found, step) => (found as Json)[step], value);
  const expressions = [{ key: 'app', operator: 'In', values: ['web'] }];
  const specs: [Kind, Json][] = [
    ...KINDS.flatMap((kind): [Kind, Json][] => {
      const spec = SPECS[kind];
      return spec === undefined ? [] : [[kind, spec]];
    }),
    ['DaemonSet', { ...SPECS.DaemonSet, selector: { ...SELECTOR, matchExpressions: expressions } }],
    [
      'Job',
      {
        ...SPECS.Job,
        podFailurePolicy: { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } }] },
      },
    ],
    [
      'Job',
      {
        ...{ ...SPECS.Job, ...INDEXED, backoffLimitPerIndex: 1, maxFailedIndexes: 2 },
        successPolicy: { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] },
      },
    ],
  ];

  it.each(specs)('in a %s is one problem, and nothing that only follows from it: %j', (kind, spec) => {
    const object = objectOf(kind, spec);
    const found = [...pathsIn(spec)].map((path) => {
      const old = inside(spec, path);
      const put = typeof old === 'string' ? [1] : typeof old === 'number' ? {} : 'x';
      const { problems } = readWorkload(withAt(object, ['spec', ...path], put), kind, {
        toWritten: (pod) => pod,
      });
      return [path.join('.'), problems.map(formatFieldProblem)] as const;
    });
    expect(found.filter(([, problems]) => problems.length !== 1)).toEqual([]);
  });

  it('is said of the size of a claim, which is not missing then', () => {
    const spec = { ...CLAIM, resources: { requests: { storage: '1Qx' } } };
    const { problems } = readWorkload(objectOf('PersistentVolumeClaim', spec), 'PersistentVolumeClaim', {
      toWritten: (pod) => pod,
    });
    expect(problems.map(formatFieldProblem)).toEqual([
      'spec.resources.requests[storage]: must be a quantity such as 500m, 2 or 1.5Gi, not "1Qx"',
    ]);
  });
});
