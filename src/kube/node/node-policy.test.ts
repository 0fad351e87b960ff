import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { formatFieldProblem } from '../fields/field-problem.js';
import {
  findAllowedHostPath,
  findForbidden,
  findHostPathConflict,
  FORBIDDABLE,
  type Forbiddable,
  type NodePolicy,
  parseAllowedHostPath,
} from './node-policy.js';
import { type PodSpec } from '../pod/pod.js';

const policy = (forbid: readonly Forbiddable[], paths?: readonly string[]): NodePolicy => ({
  forbid: new Set(forbid),
  allowedHostPaths: paths?.map(parseAllowedHostPath),
});
const problemsOf = (spec: Partial<PodSpec>, of: NodePolicy): string[] =>
  findForbidden(aNodePod({ spec }), of).map(formatFieldProblem);
const HOST_IMAGE = 'podloop.local/host';
const HOST_ID = `sha256:${createHash('sha256').update(HOST_IMAGE).digest('hex')}`;
const main = { name: 'main', image: 'i' };

/** A spec that requests each of the words. */
const EVERYTHING: Readonly<Record<Forbiddable, Partial<PodSpec>>> = {
  privileged: { containers: [{ ...main, securityContext: { privileged: true } }] },
  hostPath: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] },
  hostNetwork: { hostNetwork: true },
  hostPID: { hostPID: true },
  hostIPC: { hostIPC: true },
  hostPort: { containers: [{ ...main, ports: [{ containerPort: 80 }, { containerPort: 1, hostPort: 80 }] }] },
  hostProbes: {
    initContainers: [{ ...main, startupProbe: { tcpSocket: { port: 1, host: '127.0.0.1' } } }],
    containers: [
      {
        ...main,
        livenessProbe: { httpGet: { port: 1, host: 'localhost' } },
        readinessProbe: { tcpSocket: { port: 1, host: '::1' } },
        startupProbe: { httpGet: { port: 1, host: '' } },
        lifecycle: {
          postStart: { httpGet: { port: 1, host: '169.254.169.254' } },
          preStop: { tcpSocket: { port: 1, host: 'db' } },
        },
      },
    ],
  },
  capabilities: {
    initContainers: [
      {
        ...main,
        securityContext: {
          capabilities: { add: ['CHOWN', 'CAP_KILL', 'SYS_ADMIN', 'ALL', 'MKNOD', 'cap_mknod'] },
        },
      },
    ],
  },
  procMount: { containers: [{ ...main, securityContext: { procMount: 'Unmasked' } }] },
  hostImage: { initContainers: [{ ...main, image: HOST_IMAGE }] },
};

describe('what a node forbids', () => {
  it.each<[Forbiddable, readonly string[]]>([
    ['privileged', ['spec.containers[0].securityContext.privileged']],
    ['hostPath', ['spec.volumes[0].hostPath']],
    ['hostNetwork', ['spec.hostNetwork']],
    ['hostPID', ['spec.hostPID']],
    ['hostIPC', ['spec.hostIPC']],
    ['hostPort', ['spec.containers[0].ports[1].hostPort']],
    [
      'hostProbes',
      [
        'initContainers[0].startupProbe.tcpSocket',
        'containers[0].livenessProbe.httpGet',
        'containers[0].readinessProbe.tcpSocket',
        'containers[0].lifecycle.postStart.httpGet',
        'containers[0].lifecycle.preStop.tcpSocket',
      ].map((place) => `spec.${place}.host`),
    ],
    [
      'capabilities',
      [2, 3, 4, 5].map((index) => `spec.initContainers[0].securityContext.capabilities.add[${index}]`),
    ],
    ['procMount', ['spec.containers[0].securityContext.procMount']],
    ['hostImage', ['spec.initContainers[0].image']],
  ])('is %s by that word alone, and is reported with its path', (word, places) => {
    const wanted = places.map((place) => `${place}: Forbidden: this node runs with --forbid=${word}`);
    expect(problemsOf(EVERYTHING[word], policy([word]))).toEqual(wanted);
    expect(problemsOf(EVERYTHING[word], policy(FORBIDDABLE.filter((each) => each !== word)))).toEqual([]);
  });

  it.each([
    [HOST_IMAGE, true],
    [`${HOST_IMAGE}:latest`, true],
    [`${HOST_IMAGE}:latest@${HOST_ID}`, true],
    [HOST_ID, true],
    [`docker.io/${HOST_IMAGE}`, false],
    [`${HOST_IMAGE}/other`, false],
    [`${HOST_IMAGE}ing:1`, false],
  ])('knows whether %s is the image of the node itself', (image, isIt) => {
    const spec = { containers: [{ ...main, image }] };
    expect(problemsOf(spec, policy(['hostImage'])).length > 0).toBe(isIt);
  });

  it('is nothing by default', () => {
    for (const spec of Object.values(EVERYTHING)) expect(problemsOf(spec, policy([]))).toEqual([]);
  });

  it('reports nothing for a field with a harmless value', () => {
    const spec: Partial<PodSpec> = {
      ...{ hostNetwork: false, hostPID: false, hostIPC: false },
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        {
          ...main,
          ports: [{ containerPort: 1, hostPort: 0 }],
          livenessProbe: { httpGet: { port: 1 } },
          readinessProbe: { exec: { command: ['true'] } },
          lifecycle: { preStop: { sleep: { seconds: 1 } } },
          securityContext: { privileged: false, procMount: 'Default', capabilities: { drop: ['ALL'] } },
        },
      ],
    };
    expect(problemsOf(spec, policy(FORBIDDABLE))).toEqual([]);
  });
});

describe('a container of any kind', () => {
  const LISTS = ['containers', 'initContainers', 'ephemeralContainers'] as const;
  const WORDS = ['privileged', 'hostPort', 'hostProbes', 'capabilities', 'procMount', 'hostImage'] as const;

  it.each(LISTS.flatMap((list) => WORDS.map((word) => [list, word] as const)))(
    'in %s is judged by %s',
    (list, word) => {
      const asking = [...(EVERYTHING[word].initContainers ?? []), ...(EVERYTHING[word].containers ?? [])];
      const spec: Partial<PodSpec> = { containers: [main], [list]: [main, ...asking] };
      const problems = problemsOf(spec, policy([word]));
      expect(problems.length).toBe(problemsOf(EVERYTHING[word], policy([word])).length);
      for (const problem of problems) expect(problem).toMatch(new RegExp(`^spec\\.${list}\\[[1-9]`));
    },
  );

  it.each(LISTS)('in %s mounts a path that is allowed for reading in no other way', (list) => {
    const spec: Partial<PodSpec> = {
      containers: [main],
      [list]: [{ ...main, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      volumes: [{ name: 'v', hostPath: { path: '/srv/x' } }],
    };
    expect(problemsOf(spec, policy([], ['/srv:ro']))).toMatchObject([
      expect.stringMatching(`^spec.${list}.0..volumeMounts.0..readOnly: Forbidden`),
    ]);
  });
});

describe('paths of the node', () => {
  const mount = (path: string, readOnly?: boolean): Partial<PodSpec> => ({
    volumes: [{ name: 'v', hostPath: { path } }],
    containers: [
      {
        ...main,
        volumeMounts: [{ name: 'v', mountPath: '/m', ...(readOnly === undefined ? {} : { readOnly }) }],
      },
    ],
  });

  it.each(['/srv', '/srv/', '/srv/a/b', '//srv//a', '/srv/./a', '/var/log'])('may be %s', (path) => {
    expect(problemsOf(mount(path), policy(['hostPath'], ['/srv', '/var/log']))).toEqual([]);
    expect(problemsOf(mount(path), policy([], ['/srv', '/var/log']))).toEqual([]);
  });

  it.each(['/', '/srvx', '/etc', '/srv/../etc', '/srv/a/../../etc', '/var', '/var/logs'])(
    'may not be %s',
    (path) => {
      expect(problemsOf(mount(path), policy([], ['/srv', '/var/log:ro']))).toEqual([
        `spec.volumes[0].hostPath.path: Forbidden: "${path}" is not below a path of --allowed-host-paths=/srv,/var/log:ro`,
      ]);
    },
  );

  it('may be restricted to read-only mounts, for every container', () => {
    expect(problemsOf(mount('/var/log', true), policy([], ['/var/log:ro']))).toEqual([]);
    const message =
      'spec.containers[0].volumeMounts[0].readOnly: Forbidden: --allowed-host-paths lets volume "v" be mounted with readOnly: true only';
    expect(problemsOf(mount('/var/log/x'), policy([], ['/var/log:ro']))).toEqual([message]);
    expect(problemsOf(mount('/var/log/x', false), policy([], ['/var/log:ro']))).toEqual([message]);
  });

  it('are checked by the nearest allowed path', () => {
    const paths = ['/srv:ro', '/srv/data'].map(parseAllowedHostPath);
    expect(findAllowedHostPath('/srv/data/x', paths)?.readOnly).toBe(false);
    expect(findAllowedHostPath('/srv/other', paths)?.readOnly).toBe(true);
    expect(findAllowedHostPath('/srv/data', [...paths].reverse())?.path).toBe('/srv/data');
    expect(findAllowedHostPath('/any', [parseAllowedHostPath('/')])?.path).toBe('/');
  });

  it('are checked by the path that pods may write to, not by one below it', () => {
    const paths = ['/srv', '/srv/data', '/srv/data/x'].map(parseAllowedHostPath);
    for (const order of [paths, paths.toReversed()]) {
      expect(findAllowedHostPath('/srv/data/x/y', order)?.path).toBe('/srv');
    }
    const mixed = ['/srv:ro', '/srv/a', '/srv/a/b', '/srv/c:ro'].map(parseAllowedHostPath);
    expect(findAllowedHostPath('/srv/a/b/c', mixed)?.path).toBe('/srv/a');
    expect(findAllowedHostPath('/srv/c/d', mixed)?.path).toBe('/srv/c');
  });

  it.each(['', 'srv', ':ro', '/a/../b', '/a:rw', '/a:ro:ro'])('are rejected in the form %j', (text) => {
    expect(() => parseAllowedHostPath(text)).toThrow(
      `${JSON.stringify(text)} is not an absolute path, such as /var/log or /var/log:ro`,
    );
  });
});

describe('allowed paths of which some are read-only', () => {
  const name = fc.constantFrom('a', 'b');
  const text = fc
    .tuple(fc.array(name, { maxLength: 3 }), fc.constantFrom('', '//', '/.'), fc.boolean())
    .map(([names, end, readOnly]) => `/${names.join('/')}${end}${readOnly ? ':ro' : ''}`);

  it('conflict exactly if pods may write to one of these by a path that contains it', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        const paths = texts.map(parseAllowedHostPath);
        const writable = paths.filter(({ readOnly }) => !readOnly).map(({ path }) => path);
        const isWritable = (path: string): boolean =>
          writable.some((each) => `${path}/`.startsWith(each === '/' ? '/' : `${each}/`));
        const undone = paths.some(({ path, readOnly }) => readOnly && isWritable(path));
        expect(findHostPathConflict(paths) !== undefined).toBe(undone);
        if (undone) return;
        // Whatever a pod mounts is as writable as the option says of each path in it.
        for (const { path, readOnly } of paths) {
          expect(findAllowedHostPath(path, paths)?.readOnly).toBe(readOnly);
        }
      }),
    );
  });

  it.each([
    [
      '/d/rw,/d/rw/confined:ro',
      '/d/rw/confined:ro cannot be kept read-only, as pods may write to all of /d/rw',
    ],
    ['/d/rw/y:ro,/d//rw/.', '/d/rw/y:ro cannot be kept read-only'],
    ['/var/log:ro,/', '/var/log:ro cannot be kept read-only, as pods may write to all of /'],
    ['/a,/a/:ro', '/a is there with and without :ro'],
  ])('are refused in words: %s', (texts, words) => {
    expect(findHostPathConflict(texts.split(',').map(parseAllowedHostPath))).toContain(words);
  });

  it.each(['/d/rw,/d/rwx:ro', '/d:ro,/d/rw', '/a,/a', '/a:ro,/a/b:ro', '/a,/a/b'])(
    'are fine where each holds: %s',
    (texts) => {
      expect(findHostPathConflict(texts.split(',').map(parseAllowedHostPath))).toBeUndefined();
    },
  );
});
