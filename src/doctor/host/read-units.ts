import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { linkAbort } from '#base/async/linked-abort.js';
import { type HostFiles, SilentFilesError } from '../facts/host-files.js';
import { type SystemdFacts, type UnitFacts } from './host-facts.js';
import { readUptimeMs } from './process-state.js';

const run = promisify(execFile);
/** systemd answers within milliseconds, on a machine under load within a second or two. */
const LIMIT_MS = 5_000;
/** There where systemd is the machine's init: sd_booted(3). */
const BOOTED = '/run/systemd/system';
/** The names under which packages install the programs that the doctor is about. */
const UNITS = [
  ...['containerd.service', 'crio.service', 'docker.service', 'cri-docker.service', 'kubelet.service'],
  ...['k3s.service', 'k3s-agent.service', 'rke2-server.service', 'rke2-agent.service'],
  ...['k0scontroller.service', 'k0sworker.service', 'snap.microk8s.daemon-containerd.service'],
  ...['podloop.service', 'podloop-runtime.service', 'podloop-observe.service'],
];
const PROPERTIES = [
  ...['Id', 'LoadState', 'ActiveState', 'SubState', 'Result', 'NRestarts', 'ExecMainStatus'],
  'StateChangeTimestampMonotonic',
];
/** What is installed is listed with this state. */
const LOADED = 'loaded';

/** What asking systemd needs. */
export interface UnitQuestion {
  readonly files: HostFiles;
  readonly signal: AbortSignal;
  /** The program (default: systemctl). */
  readonly program?: string;
}

/**
 * Reads how systemd sees the units of the runtime, the kubelet and podloop; no units where it is not the machine's init.
 *
 * A systemd that does not answer within five seconds is a fact too. Rejects where it cannot be asked: in a container, as its socket
 * belongs to another root, or without `systemctl`. Source: systemctl(1), `show`; org.freedesktop.systemd1(5).
 */
export async function readUnits({
  files,
  signal,
  program = 'systemctl',
}: UnitQuestion): Promise<SystemdFacts> {
  if (!(await isBooted(files))) return { units: [] };
  if (files.root !== '/') throw new Error('systemd answers on the machine itself alone');
  const stop = linkAbort(signal);
  const words = ['show', ...PROPERTIES.map((name) => `--property=${name}`), '--', ...UNITS];
  try {
    const answer = run(program, words, { signal: stop.signal, killSignal: 'SIGKILL' });
    const { stdout } = await files.within(answer, LIMIT_MS);
    return { units: parseUnits(stdout, await readUptimeMs(files)) };
  } catch (error) {
    if (error instanceof SilentFilesError) return { units: [], silentForMs: error.forMs };
    throw error;
  } finally {
    stop.abort();
    stop.unlink();
  }
}

/** Units of `systemctl show`: lines `Name=value`, an empty line between two. Units that are not installed are left out. Pure. */
export function parseUnits(text: string, uptimeMs: number): UnitFacts[] {
  const units = text.split(/\n\n+/).map((block) => {
    const lines = block.split('\n').map((line) => /^(\w+)=(.*)$/.exec(line));
    return new Map(lines.flatMap((match) => (match === null ? [] : [[match[1]!, match[2]!] as const])));
  });
  return units
    .filter((unit) => unit.get('LoadState') === LOADED)
    .map((unit) => {
      const numberOf = (name: string): number => Number(unit.get(name) ?? 0) || 0;
      const changedMs = numberOf('StateChangeTimestampMonotonic') / 1_000;
      return {
        ...{ name: unit.get('Id') ?? '', activeState: unit.get('ActiveState') ?? '' },
        ...{ subState: unit.get('SubState') ?? '', result: unit.get('Result') ?? '' },
        ...{ restarts: numberOf('NRestarts'), exitStatus: numberOf('ExecMainStatus') },
        // 0 stands for a unit that has never been started.
        ...(changedMs > 0 && { forMs: Math.max(0, uptimeMs - changedMs) }),
      };
    });
}

async function isBooted(files: HostFiles): Promise<boolean> {
  return await files.list(BOOTED).then(
    () => true,
    () => false,
  );
}
