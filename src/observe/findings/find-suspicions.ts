import { type PlegHealth } from '#watch';

/** What a quick check shows: nothing of it costs more than some small files. */
export interface QuickFacts {
  readonly health: Pick<PlegHealth, 'healthy' | 'listInFlightMs' | 'stuckPodCount'>;
  /** Whether the connection to the runtime is up. */
  readonly isConnected: boolean;
  /** The longest of the lists since the last check, and what a list usually takes. */
  readonly longestListMs: number;
  readonly usualListMs: number;
  /** Percent of time in which all tasks waited, over ten seconds; undefined where the kernel does not say. */
  readonly ioFull: number | undefined;
  readonly memoryFull: number | undefined;
  /** Undefined where no kubelet was asked, or none listens. */
  readonly isKubeletHealthy: boolean | undefined;
  /** Shims and daemons that a signal has stopped, and calls of an OCI runtime that take long; 0 where /proc cannot be read. */
  readonly stoppedShims: number;
  readonly stoppedDaemons: number;
  readonly longOciCalls: number;
}

const LIST_HANGS_MS = 3_000;
const LIST_SLOW_MS = 500;
const LIST_SLOW_FACTOR = 10;
const PRESSURE_PERCENT = 10;

/** Whether the process of the runtime should be read at once. Pure. */
export function mayBeStopped({ health, isConnected, stoppedDaemons }: QuickFacts): boolean {
  return stoppedDaemons > 0 || !isConnected || (health.listInFlightMs ?? 0) >= LIST_HANGS_MS;
}

/** Why the node is worth an examination now; none when nothing seems wrong. Pure. */
export function findSuspicions(facts: QuickFacts): string[] {
  const { health, longestListMs, usualListMs, ioFull = 0, memoryFull = 0 } = facts;
  const { listInFlightMs = 0, stuckPodCount, healthy } = health;
  const reasons: readonly (readonly [boolean, string])[] = [
    [!facts.isConnected, 'the runtime is away'],
    [!healthy, 'the event generator is not healthy'],
    [listInFlightMs >= LIST_HANGS_MS, 'a list is not answered'],
    [stuckPodCount > 0, 'pods are stuck'],
    [longestListMs >= LIST_SLOW_MS && longestListMs >= LIST_SLOW_FACTOR * usualListMs, 'a list was slow'],
    [ioFull >= PRESSURE_PERCENT, 'processes wait for disks'],
    [memoryFull >= PRESSURE_PERCENT, 'processes wait for memory'],
    [facts.isKubeletHealthy === false, 'the kubelet is not healthy'],
    [facts.stoppedDaemons > 0, 'a runtime or a kubelet is stopped'],
    [facts.stoppedShims > 0, 'a shim is stopped'],
    [facts.longOciCalls > 0, 'a call of the OCI runtime takes long'],
  ];
  return reasons.flatMap(([is, why]) => (is ? [why] : []));
}
