import { type PodStatus } from '#node';
import { formatHumanDuration } from '#base/time/human-duration.js';
import { layOutTabs, DESCRIBE_LAYOUT } from '../../shared/print/tab-columns.js';
import { toCell } from '../../shared/print/terminal-text.js';
import { type ScreenPod } from '../../shared/screen/pod-rows.js';

type Container = PodStatus['containers'][number];

/**
 * A pod as its runtime has it, in the words of `kubectl get pods`. Pure.
 *
 * A runtime does not say which containers are to end, such as init containers, so those that have ended well count only
 * when no other is left.
 */
export function toScreenPod(status: PodStatus): ScreenPod {
  const { uid, namespace, name, sandboxes } = status;
  const containers = newestOf(status);
  const unfinished = containers.filter((each) => each.state !== 'exited' || each.exitCode !== 0);
  const running = containers.filter(({ state }) => state === 'running');
  const begins = sandboxes.map(({ createdAtNs }) => toMs(createdAtNs)).filter((ms) => ms > 0);
  return {
    pod: { uid, namespace, name },
    status: wordFor(unfinished, containers),
    ready: running.length,
    total: unfinished.length > 0 ? unfinished.length : containers.length,
    restarts: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestartAtMs: undefined,
    createdAtMs: begins.length === 0 ? undefined : Math.min(...begins),
    owner: status.owner,
  };
}

/** All that a runtime tells of a pod, as lines. Pure. */
export function describeStatus(status: PodStatus, nowMs: number): string[] {
  const { uid, namespace, name, owner, ips, sandboxes, containers } = status;
  const ago = (ns: bigint): string => (ns === 0n ? '-' : `${formatHumanDuration(nowMs - toMs(ns))} ago`);
  const field = (title: string, value: string): string => `${title}:\t${toCell(value)}`;
  const head = [
    ...[field('Name', name), field('Namespace', namespace), field('UID', uid), field('Owner', owner)],
    field('IPs', ips.length === 0 ? '<none>' : ips.join(', ')),
  ];
  const ofSandbox = sandboxes.map(({ id, state, attempt, createdAtNs }) => [
    ...[id, state, String(attempt), ago(createdAtNs)],
  ]);
  const ofContainers = containers.flatMap((container) => {
    const { id, state, image, attempt, startedAtNs, finishedAtNs, exitCode, reason, message, logPath } =
      container;
    const end =
      state === 'exited'
        ? [field('  Exit Code', `${exitCode} ${reason}`), field('  Finished', ago(finishedAtNs))]
        : [];
    return [
      `${toCell(container.name)}:`,
      ...[field('  Container ID', id), field('  Image', image), field('  State', state)],
      ...[field('  Attempt', String(attempt)), field('  Started', ago(startedAtNs)), ...end],
      ...(message === '' ? [] : [field('  Message', message)]),
      ...(logPath === '' ? [] : [field('  Log', logPath)]),
    ];
  });
  const table = [['SANDBOX', 'STATE', 'ATTEMPT', 'CREATED'], ...ofSandbox];
  return [
    ...layOutTabs(head, DESCRIBE_LAYOUT),
    '',
    ...layOutTabs(
      table.map((row) => row.map(toCell).join('\t')),
      DESCRIBE_LAYOUT,
    ),
    '',
    ...layOutTabs(ofContainers, DESCRIBE_LAYOUT),
  ];
}

/** Of each name the container that was made last. */
function newestOf({ containers }: PodStatus): Container[] {
  const byName = new Map<string, Container>();
  for (const container of containers) {
    const before = byName.get(container.name);
    if (before === undefined || before.attempt <= container.attempt) byName.set(container.name, container);
  }
  return [...byName.values()];
}

function wordFor(unfinished: readonly Container[], all: readonly Container[]): string {
  const failed = unfinished.find(({ state }) => state === 'exited');
  if (failed !== undefined) return failed.reason === '' ? `ExitCode:${failed.exitCode}` : failed.reason;
  if (unfinished.some(({ state }) => state !== 'running')) return 'Created';
  if (unfinished.length > 0) return 'Running';
  return all.length > 0 ? 'Completed' : 'NoContainers';
}

function toMs(ns: bigint): number {
  return Number(ns / 1_000_000n);
}
