import { mkdir, rm, writeFile } from 'node:fs/promises';
import { shell, shellOutput, untilPrints } from './node-shell.js';

export const MANIFESTS = '/etc/podloop/manifests';
/** An emulated machine is not held to the seconds of the unit; everything else of it is as the example has it. */
const PATIENCE = ['WatchdogSec=30min', 'TimeoutStartSec=30min', 'TimeoutStopSec=30min'];

/** Where the runtime of a unit keeps its records: in the agent's folder, or in one of the runtime's own unit. */
const RUNTIME_ROOTS = {
  agent: '/var/lib/podloop/runtime/root',
  unit: '/var/lib/podloop/runtime-service',
} as const;
/** Who starts the runtime in the box: the agent, or a unit of its own. */
export type RuntimeStarter = keyof typeof RUNTIME_ROOTS;
type Unit = 'podloop' | 'podloop-runtime' | 'podloop-observe';

/** Installs the example units as their first lines say, and starts them; the agent's is to be ready before this resolves. */
export async function startUnits(starter: RuntimeStarter): Promise<void> {
  await mkdir(MANIFESTS, { recursive: true });
  const socket = starter === 'agent' ? 'embedded' : 'unix:///run/podloop/cri.sock';
  if (starter === 'unit') {
    await install('podloop-runtime', []);
    await shell('systemctl start podloop-runtime');
  }
  const run = `/usr/bin/env podloop run ${MANIFESTS} --root-dir /var/lib/podloop --runtime-endpoint ${socket}`;
  await install('podloop', ['ExecStart=', `ExecStart=${run}`]);
  await shell('systemctl start podloop');
}

async function install(unit: Unit, lines: readonly string[]): Promise<void> {
  await shell(`install -m 0644 examples/systemd/${unit}.service /etc/systemd/system/`);
  await changeUnit(unit, lines);
}

/** A unit that is installed, with the lines that a test changes. */
export async function changeUnit(unit: Unit, lines: readonly string[]): Promise<void> {
  const folder = `/etc/systemd/system/${unit}.service.d`;
  await mkdir(folder, { recursive: true });
  const watchdog = unit === 'podloop-runtime' ? PATIENCE.slice(1) : PATIENCE;
  await writeFile(`${folder}/50-test.conf`, ['[Service]', ...watchdog, ...lines, ''].join('\n'));
  await shell('systemctl daemon-reload');
}

/** Removes the pods, the units and all records. */
export async function removeUnits(): Promise<void> {
  await shellOutput(`rm -f ${MANIFESTS}/*`);
  if ((await shellOutput('systemctl is-active podloop')) === 'active')
    await untilPrints('podloop get pods -A -o name 2>&1', /^(?:No resources.*)?$/);
  for (const unit of ['podloop', 'podloop-runtime'])
    await shellOutput(
      `systemctl stop ${unit} 2>/dev/null; rm -rf /etc/systemd/system/${unit}.service{,.d}; systemctl reset-failed ${unit} 2>/dev/null`,
    );
  await shell('systemctl daemon-reload');
  for (const starter of ['agent', 'unit'] as const) {
    for (const pid of await runtimePids(starter)) process.kill(pid);
    await untilPrints(`pgrep -f ${quotePattern(starter)}`, /^$/);
  }
  await rm('/var/lib/podloop', { recursive: true, force: true });
}

/** For pgrep and pkill: the command line of that runtime in the box. */
export function quotePattern(starter: RuntimeStarter): string {
  return `'[r]untime --listen unix://.* --root ${RUNTIME_ROOTS[starter]}( |$)'`;
}

/** The processes of the runtime in the box. */
export async function runtimePids(starter: RuntimeStarter): Promise<number[]> {
  const text = await shellOutput(`pgrep -f ${quotePattern(starter)}`);
  return text.split('\n').filter(Boolean).map(Number);
}

/** Puts down the manifest of a pod whose one container sleeps, with a word in its command line by which it is found. */
export async function putSleeper(
  name: string,
  { image = 'podloop.local/host', more = '' } = {},
): Promise<void> {
  const manifest = `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 2
  containers:
    - name: main
      image: ${image}
      command: [sh, -c, 'trap "exit 0" TERM; while :; do sleep 1; done', ${wordOf(name)}]
${more}`;
  await writeFile(`${MANIFESTS}/${name}.yaml`, manifest);
}

/** In the command line of that pod's container and of nothing else. */
function wordOf(pod: string): string {
  return `sleeper-of-${pod}`;
}

/** The process of a pod's container and the moment in which it was started; empty when there is none. */
export async function findLife(pod: string): Promise<string> {
  return shellOutput(
    `for pid in $(pgrep -f '^sh -c .*${wordOf(pod)}$'); do echo $pid $(cut -d ' ' -f 22 /proc/$pid/stat); done`,
  );
}

/** Waits until the container runs; answers as {@link findLife}. */
export async function untilAlive(pod: string): Promise<string> {
  return untilPrints(
    `for pid in $(pgrep -f '^sh -c .*${wordOf(pod)}$'); do echo $pid $(cut -d ' ' -f 22 /proc/$pid/stat); done`,
    /^\d+ \d+$/,
  );
}
