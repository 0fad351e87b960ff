import { readdirSync } from 'node:fs';
import path from 'node:path';

import { type ImageName, IMAGES, ORDINARY_USER } from './image-recipe.js';
import { PATIENCE, scaleMinutes } from './patience.js';
import { KUBERNETES_IN_MACHINE } from './payload.js';

/** A part of the tests that is run in one go in a machine: files of vitest, as some user, with some environment. */
export interface Suite {
  readonly name: string;
  readonly files: readonly string[];
  readonly user: 'root' | typeof ORDINARY_USER;
  /** Those on which it says something new: without containerd the one with containerd 2.x is the same as the other. */
  readonly images: readonly ImageName[];
  /** What has to be on the machine's disk beside the project; see {@link Need}. */
  readonly needs: readonly Need[];
  readonly env: Readonly<Record<string, string>>;
  /** Not to be taken for a sample: too long for it, or it changes the machine for good. */
  readonly long: boolean;
  /** Boot a fresh machine for it, and do not use that one again. */
  readonly ownMachine: boolean;
  readonly limitMinutes: number;
  /** Runs on this machine and has machines of its own, instead of files of vitest in one. */
  readonly outside?: OutsideSuite;
  /** Paths of the project; a change below one of them makes earlier results count no more. */
  readonly dependsOn: readonly string[];
}

/**
 * `kubernetes`: the programs of a control plane and of its e2e suite, which only some who run the tests have. `packages`: a cache of
 * npm with all that `npm ci` takes. `release`: what `npm run release` makes.
 */
export type Need = 'kubernetes' | 'packages' | 'release';

/** What is done to a machine from outside of it (see power/), or with its files but without it (see userland/). */
export type OutsideSuite =
  | { readonly kind: 'power cuts' | 'shutdowns'; readonly seed: number; readonly cuts: number }
  | { readonly kind: 'disk replay'; readonly seed: number; readonly points: number }
  | { readonly kind: 'userland'; readonly user: Suite['user'] };

/** What every suite depends on: the program and what it is built of, not its unit tests. */
const PROGRAM = ['src', ':!src/**/*.test.ts', 'package-lock.json'];
/** Stories that one agent plays at once: more take an emulated machine too long. */
const STORIES_AT_ONCE = 12;

/** What a story may wait for, before patience multiplies it. */
const STORY_SECONDS = '90';

/** Integration tests about what a stock node has and the machines that build podloop lack. */
const INTEGRATION: Readonly<Record<string, readonly string[]>> = {
  cgroups: ['cgroups.test.ts'],
  'pod-cgroups': ['pod-cgroups.test.ts', 'pod-cgroups'],
  resources: ['embedded-resources.test.ts'],
  isolation: ['embedded-isolation.test.ts'],
  streaming: ['embedded-streaming.test.ts'],
  stats: ['embedded-stats.test.ts'],
  logs: ['embedded-logs.test.ts'],
  'runtime-restart': ['embedded-restart.test.ts'],
  network: ['pod-network.test.ts'],
  'network-cni': ['pod-network-cni.test.ts'],
  'network-limits': ['pod-network-limits.test.ts'],
  'network-restore': ['pod-network-restore.test.ts'],
  'network-runtime': ['pod-network-runtime.test.ts'],
  'agent-end': ['agent-end.test.ts'],
};

/** What the packages of a release are made of beside the program, and how tests install them. */
const RELEASE_FILES = [
  ...['scripts/release', 'examples/systemd'],
  ...['test/machine/inside/package-under-test.ts', 'test/machine/inside/unit-under-test.ts'],
];

/** Tests written for a machine of our own, in test/machine/inside. */
const INSIDE: readonly (Pick<Suite, 'name'> &
  Partial<Pick<Suite, 'images' | 'long' | 'needs' | 'env' | 'dependsOn'>> & { readonly file: string })[] = [
  { name: 'facts', file: 'node-facts.test.ts' },
  { name: 'systemd unit', file: 'systemd-unit.test.ts', images: ['debian13'], long: true },
  { name: 'hardened node', file: 'hardened-node.test.ts', images: ['debian13'], long: true },
  { name: 'node shutdown', file: 'node-shutdown.test.ts', images: ['debian13'] },
  { name: 'guards', file: 'guards.test.ts', images: ['debian13'], long: true },
  { name: 'volume sizes', file: 'volume-sizes.test.ts', images: ['debian13'] },
  { name: 'own limits', file: 'own-limits.test.ts', images: ['debian13'] },
  { name: 'cgroup drivers', file: 'cgroup-drivers.test.ts', long: true },
  { name: 'started package', file: 'started-package.test.ts', long: true, needs: ['packages'] },
  {
    ...{ name: 'released packages', file: 'released-packages.test.ts', images: ['debian13'], long: true },
    ...{ needs: ['release'], dependsOn: RELEASE_FILES },
  },
  {
    ...{ name: 'observed node', file: 'observed-node.test.ts', long: true, needs: ['kubernetes', 'release'] },
    env: { KUBEBUILDER_ASSETS: KUBERNETES_IN_MACHINE },
    dependsOn: [...RELEASE_FILES, 'test/incidents/harness', 'test/machine/inside/node-containerd.ts'],
  },
];

/** The stories that need nothing that takes root, which the runtime in the box plays as an ordinary user. */
const ROOTLESS_STORIES = /^(?:0[1-9]|1[0-9]|2[0-9]|3[0-8])-/;

/** Every suite, in the order in which they run; `project` is where the stories are read. */
export function listSuites(project: string): Suite[] {
  const stories = readdirSync(path.join(project, 'test/stories'))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => name.replace(/\.yaml$/, ''))
    .sort();
  const rootless = stories.filter((name) => ROOTLESS_STORIES.test(name));
  return [
    ...INSIDE.map(({ file, ...more }) => suite({ ...more, files: [`test/machine/inside/${file}`] })),
    ...Object.entries(INTEGRATION).map(([name, files]) => integration(name, files)),
    ...powerSuites(),
    ...userlandSuites(),
    ...kubernetesSuites(),
    ...storySuites('box as root', 'test/integration/pod-stories.test.ts', stories, { images: ['debian13'] }),
    ...storySuites('box without root', 'test/machine/inside/stories-rootless.test.ts', rootless, {
      user: ORDINARY_USER,
      images: ['debian13'],
    }),
    ...(['cgroupfs', 'systemd'] as const).flatMap((driver) =>
      storySuites(`containerd, ${driver}`, 'test/machine/inside/stories-containerd.test.ts', stories, {
        env: { PODLOOP_CGROUP_DRIVER: driver },
        dependsOn: ['test/machine/inside/node-containerd.ts', 'test/containerd/harness'],
      }),
    ),
  ];
}

/** The suites that have one of the names, else contain it; all of them without any. */
export function chooseSuites(suites: readonly Suite[], only: readonly string[]): Suite[] {
  if (only.length === 0) return [...suites];
  const names = new Set(suites.map(({ name }) => name));
  return suites.filter(({ name }) =>
    only.some((word) => (names.has(word) ? name === word : name.includes(word))),
  );
}

/** Beside the report: what is known of tests while others still run. */
export function liveReportOf(report: string): string {
  return `${report}.lines`;
}

/** The command that runs a suite in a machine; its report is written to that file. */
export function suiteCommand({ files, user, env }: Suite, folder: string, report: string): string {
  const vitest =
    // Emulating code that is made while the program runs costs more than the code saves.
    `node --no-opt --no-sparkplug node_modules/vitest/vitest.mjs run -c vitest.machine.config.ts ${files.join(' ')} ` +
    // People read the words, the run reads the file.
    `--reporter=verbose --reporter=./test/machine/inside/live-reporter.ts --reporter=json --outputFile.json=${report}`;
  const words = Object.entries({ ...env, PODLOOP_LIVE_REPORT: liveReportOf(report) }).map(
    ([name, value]) => `${name}=${value}`,
  );
  if (user === 'root') return `cd ${folder} && env ${words.join(' ')} ${vitest}`;
  // In the user's own systemd, as a unit of somebody who has logged in.
  const settings = words.map((word) => `--setenv=${word}`).join(' ');
  const manager = `systemd-run --user --machine=${user}@.host --quiet --collect --pipe --wait`;
  return `${manager} --working-directory=${folder} ${settings} ${vitest}`;
}

function integration(name: string, [file, ...others]: readonly string[]): Suite {
  const files = [`test/integration/${file}`];
  const dependsOn = others.map((other) => `test/integration/${other}`);
  return suite({ name, files, dependsOn, images: ['debian13'] });
}

function storySuites(
  where: string,
  file: string,
  stories: readonly string[],
  more: SuiteOptions = {},
): Suite[] {
  const count = Math.ceil(stories.length / STORIES_AT_ONCE);
  return Array.from({ length: count }, (_, index) => {
    const chosen = stories.slice(index * STORIES_AT_ONCE, (index + 1) * STORIES_AT_ONCE);
    const numbers = `${numberOf(chosen[0]!)} to ${numberOf(chosen.at(-1)!)}`;
    return suite({
      ...more,
      name: `stories ${numbers}, ${where}`,
      files: [file],
      env: { PODLOOP_STORY_SECONDS: STORY_SECONDS, ...more.env, PODLOOP_STORY: chosen.join(',') },
      dependsOn: [
        'test/integration/pod-stories',
        ...chosen.map((name) => `test/stories/${name}.yaml`),
        ...(more.dependsOn ?? []),
      ],
    });
  });
}

/** Two sittings of cuts on a node each, the replay of a disk's writes, and shutdowns of which half are cut off. */
function powerSuites(): Suite[] {
  const outside: Readonly<Record<string, OutsideSuite>> = {
    'power cuts 1 to 5': { kind: 'power cuts', seed: 1, cuts: 5 },
    'power cuts 6 to 10': { kind: 'power cuts', seed: 2, cuts: 5 },
    'power and the disk’s own writes': { kind: 'disk replay', seed: 1, points: 50 },
  };
  const common = { long: true, ownMachine: true, limitMinutes: 180, dependsOn: ['test/machine/power'] };
  const files = ['test/machine/inside/cut-setup.test.ts'];
  return [
    ...Object.entries(outside).map(([name, what]) => suite({ ...common, name, files, outside: what })),
    suite({
      ...{ ...common, name: 'ten shutdowns', images: ['debian13'] },
      files: ['test/machine/inside/shutdown-setup.test.ts'],
      outside: { kind: 'shutdowns', seed: 1, cuts: 10 },
    }),
  ];
}

/** `npm test` whole, with the programs of Debian 13 on this machine's kernel. */
function userlandSuites(): Suite[] {
  return (['root', ORDINARY_USER] as const).map((user) =>
    suite({
      ...{ name: `npm test in the userland, ${user}`, files: [], images: ['debian13'], long: true },
      ...{ limitMinutes: 90, outside: { kind: 'userland', user } },
      dependsOn: ['test', 'test/machine/userland', 'scripts', 'docs'],
    }),
  );
}

/** Against a real control plane in the machine: pods that are evicted, and a sample of Kubernetes' e2e suite. */
function kubernetesSuites(): Suite[] {
  const common = { needs: ['kubernetes'] as const, long: true, limitMinutes: 300 };
  const env = { KUBEBUILDER_ASSETS: KUBERNETES_IN_MACHINE };
  const specs = (['cgroupfs', 'systemd'] as const).map((driver) =>
    suite({
      ...{ ...common, name: `e2e sample, ${driver}`, files: ['test/machine/inside/e2e-sample.test.ts'] },
      env: { ...env, PODLOOP_CGROUP_DRIVER: driver },
      dependsOn: ['test/e2e', 'test/machine/inside/node-containerd.ts'],
    }),
  );
  const eviction = suite({
    ...{ ...common, name: 'eviction', files: ['test/cluster/eviction.test.ts'] },
    ...{ env, images: ['debian13'], dependsOn: ['test/cluster/harness'] },
  });
  const incidents = suite({
    ...{ ...common, name: 'incidents', files: ['test/machine/inside/node-incidents.test.ts'] },
    ...{ env, limitMinutes: 120, dependsOn: ['test/incidents', 'test/machine/inside/node-containerd.ts'] },
  });
  return [eviction, incidents, ...specs, ...nodeSpecSuites()];
}

/** Files of Kubernetes' e2e_node suite, as parts of their paths, by what their specs are about. */
const NODE_SPECS: Readonly<Record<string, readonly string[]>> = {
  groups: ['pods_container_manager_test.go', '/container_manager_test.go', 'pids_test.go'],
  allocatable: ['node_container_manager_test.go', 'cgroup_reconciliation_test.go'],
  'memory QoS': ['memory_qos_test.go'],
  swap: ['swap_test.go'],
  OOM: ['oomkiller_linux_test.go'],
  shutdown: ['node_shutdown_linux_test.go'],
  eviction: ['eviction_test.go', 'system_node_critical_test.go', 'critical_pod_test.go'],
};

/** Specs about how a node protects itself, with the real kubelet and with podloop. */
function nodeSpecSuites(): Suite[] {
  return Object.entries(NODE_SPECS).map(([name, files]) =>
    suite({
      ...{ name: `node specs, ${name}`, files: ['test/machine/inside/node-specs.test.ts'] },
      ...{ needs: ['kubernetes'], long: true, limitMinutes: 300, ownMachine: true, images: ['debian13'] },
      env: {
        KUBEBUILDER_ASSETS: KUBERNETES_IN_MACHINE,
        PODLOOP_CGROUP_DRIVER: 'systemd',
        PODLOOP_NODE_SPECS: files.join(','),
      },
      dependsOn: [
        'test/e2e',
        ...['node-suite', 'credential-proxy', 'node-containerd'].map(
          (name) => `test/machine/inside/${name}.ts`,
        ),
      ],
    }),
  );
}

function numberOf(story: string): string {
  return story.slice(0, story.indexOf('-'));
}

type SuiteOptions = Partial<Omit<Suite, 'name' | 'files'>>;

function suite({ limitMinutes = 40, ...options }: SuiteOptions & Pick<Suite, 'name' | 'files'>): Suite {
  return {
    ...{ user: 'root', images: IMAGES, needs: [] },
    ...{ long: false, ownMachine: false },
    ...options,
    limitMinutes: scaleMinutes(limitMinutes),
    env: { PODLOOP_PATIENCE: String(PATIENCE), ...options.env },
    dependsOn: [...PROGRAM, ...options.files, ...(options.dependsOn ?? [])],
  };
}

/** One suite on one image. */
export interface PlannedSuite {
  readonly image: ImageName;
  readonly suite: Suite;
}

/** Every suite on each of these images that is one of its own; image by image. */
export function planSuites(suites: readonly Suite[], images: readonly ImageName[]): PlannedSuite[] {
  return images.flatMap((image) =>
    suites.filter((suite) => suite.images.includes(image)).map((suite) => ({ image, suite })),
  );
}
