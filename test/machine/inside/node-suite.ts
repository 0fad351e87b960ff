import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findE2ePrograms } from '../../e2e/e2e-programs.js';
import { StandInContainerd } from '../../e2e/stand-in-containerd.js';
import { unmountBelow } from '../../containerd/harness/leftovers.js';
import { readInstalled } from '../../containerd/harness/installed.js';
import { parseSpecReport, type SpecResult } from '../../critest/spec-report.js';
import { CredentialProxy } from './credential-proxy.js';
import { CGROUP_DRIVER, OCI_RUNTIME, RELEASE } from './node-containerd.js';
import { shellOutput } from './node-shell.js';

/** What is held against the suite: the real kubelet, and podloop in its place. */
export type Contender = 'kubelet' | 'podloop';

/** Takes the kubelet that lies beside it. */
const SUITE = 'e2e_node.test';

/** Of whoever asks podloop, by {@link CredentialProxy}. */
const TOKEN = 'of-the-suite';

/** Of what the suite says, the end is shown; most of it is told by its report. */
const MAX_SAID = 200_000;

/** Where the suite has a kubelet's files, whatever flags say. */
const KUBELET_ROOT = '/var/lib/kubelet';

/** What the suite gives a kubelet by itself, with the driver of the machine's runtime. */
const SETTINGS = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupRoot: /
cgroupDriver: ${CGROUP_DRIVER}
volumeStatsAggPeriod: 10s
serializeImagePulls: false
fileCheckFrequency: 10s
podCIDR: 10.100.0.0/24
evictionPressureTransitionPeriod: 30s
evictionHard: { memory.available: 250Mi, nodefs.available: 10%, nodefs.inodesFree: 5% }
evictionMinimumReclaim: { nodefs.available: 5%, nodefs.inodesFree: 5% }
`;

/**
 * podloop under the name and with the flags of a kubelet. Gates are the kubelet's own, and the folder of more settings is one that
 * the suite makes and leaves empty.
 */
const STAND_IN = `#!/bin/bash
args=()
while [ $# -gt 0 ]; do
  case $1 in
  --feature-gates | --config-dir) shift 2 ;;
  --v) args+=(--verbosity "$2"); shift 2 ;;
  *) args+=("$1"); shift ;;
  esac
done
exec /usr/bin/env podloop run "\${args[@]}" --token-auth-file "$(dirname "$0")/tokens"
`;

/** Kubernetes' e2e_node suite on a containerd of its own, with images that stand in for those of registries. */
export class NodeSuite implements AsyncDisposable {
  readonly #folder: string;
  readonly #standIns: StandInContainerd;

  static async start(folder: string, assets: string): Promise<NodeSuite> {
    const { busybox } = await readInstalled();
    await writePrograms(folder, assets);
    const standIns = await StandInContainerd.start({
      folder,
      programs: await findE2ePrograms(process.env),
      images: { busybox, lightPause: true },
      containerd: {
        ...{ version: RELEASE, cgroupDriver: CGROUP_DRIVER, ...OCI_RUNTIME },
        restrictOomScores: false,
      },
    });
    // As its unit has it.
    await writeFile(`/proc/${standIns.containerd.pid}/oom_score_adj`, '-999');
    return new NodeSuite(folder, standIns);
  }

  private constructor(folder: string, standIns: StandInContainerd) {
    this.#folder = folder;
    this.#standIns = standIns;
  }

  /** Runs the specs of files of the suite, as `pids_test.go`, with one of the two as the node; those that were not reached are left out. */
  async run(contender: Contender, files: readonly string[]): Promise<SpecResult[]> {
    const folder = join(this.#folder, contender);
    await mkdir(folder);
    const report = join(folder, 'report.json');
    const settings = join(folder, 'settings.yaml');
    await writeFile(settings, SETTINGS);
    const ginkgo = [
      ...files.map((file) => `focus-file=${file}`),
      // Without it the suite leaves out whatever is marked as a feature.
      'label-filter=!Flaky',
      ...['timeout=5h', 'poll-progress-after=10m', 'no-color', `json-report=${report}`],
    ];
    const args = [
      ...ginkgo.map((arg) => `--ginkgo.${arg}`),
      ...[`--kubelet-config-file=${settings}`, `--report-dir=${folder}`, '--node-name=node'],
      ...[`--container-runtime-endpoint=${this.#standIns.containerd.endpoint}`, '--prepull-images=false'],
    ];
    const env = { ...process.env, PATH: `${join(this.#folder, 'bin')}:${process.env['PATH'] ?? ''}` };
    const said = join(folder, 'suite.log');
    await using log = await open(said, 'w');
    const program = join(this.#folder, `bin-${contender}`, SUITE);
    await using _proxy = contender === 'podloop' ? await CredentialProxy.start(TOKEN) : undefined;
    try {
      const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', log.fd, log.fd] });
      // Specs that fail are a result, and the report has them.
      await once(child, 'close');
    } finally {
      await this.#forget();
    }
    process.stdout.write(`${(await readFile(said, 'utf8')).slice(-MAX_SAID)}\n`);
    const text = await readFile(report, 'utf8').catch(() => '[]');
    return parseSpecReport(text).filter(({ state, message }) => state !== 'skipped' || message !== '');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#standIns[Symbol.asyncDispose]();
  }

  /** Takes away what a node has left: its unit, pods, volumes and groups. */
  async #forget(): Promise<void> {
    await shellOutput(`systemctl stop 'kubelet-*.service' 2>&1; systemctl reset-failed 'kubelet-*' 2>&1`);
    await this.#standIns.containerd.driver.removeAllPods();
    await unmountBelow(KUBELET_ROOT);
    await shellOutput(`rm -rf ${KUBELET_ROOT}; systemctl stop kubepods.slice 2>&1`);
  }
}

/** Folders of programs: that of each contender, and one with what the suite expects of the machine and this one lacks. */
async function writePrograms(folder: string, assets: string): Promise<void> {
  const write = async (place: string, name: string, text: string, mode = 0o755): Promise<void> => {
    await mkdir(join(folder, place), { recursive: true });
    await writeFile(join(folder, place, name), text, { mode });
  };
  await write('bin-podloop', 'kubelet', STAND_IN);
  await write('bin-podloop', 'tokens', `${TOKEN},suite,suite\n`, 0o600);
  await mkdir(join(folder, 'bin-kubelet'));
  await symlink(join(assets, 'kubelet'), join(folder, 'bin-kubelet/kubelet'));
  for (const place of ['bin-kubelet', 'bin-podloop'])
    await symlink(join(assets, SUITE), join(folder, place, SUITE));
  await write('bin', 'sudo', '#!/bin/sh\nexec "$@"\n');
}
