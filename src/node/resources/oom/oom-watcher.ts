/**
 * Watches whom the kernel kills for want of memory, by its log.
 *
 * In: records of /dev/kmsg. Out: an event of the Node when the machine has no memory left, in a kubelet's words, and an event of the pod
 * when one of its cgroups is at its limit: with the process, and whether all of the container went or one process of it alone, which no
 * status of a container shows.
 *
 * @module
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodStatus } from '#watch';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import {
  KERNEL_LOG_DEVICE,
  parseKernelRecord,
  readKernelRecords,
} from '#base/proc/kernel-log/kernel-records.js';
import { type OomKill, OomKillReader } from '#base/proc/kernel-log/oom-kills.js';
import { type Clock } from '#base/time/clock.js';
import { escapeForSystemd } from '../../runtime/config/pod-cgroup-names.js';

/** An event of the Node, as an agent sends it. */
export interface SystemOomEvent {
  readonly type: 'Warning';
  readonly reason: 'SystemOOM';
  readonly message: string;
}

/** What {@link OomWatcher} needs. */
export interface OomWatcherOptions {
  /** The pods of this agent, as they were last observed. */
  readonly pods: () => Iterable<PodStatus>;
  readonly events: PodEventRecorder;
  /** The machine has no memory left. */
  readonly onSystemOom: (event: SystemOomEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where the kernel's log is read (default: /dev/kmsg). */
  readonly device?: string;
}

/** A read costs a system call; the log holds what comes in between. */
const PERIOD_MS = 2_000;
/** By then the kernel has said all about a kill. */
const SETTLE_MS = 100;

/** See the module. */
export class OomWatcher {
  readonly #options: OomWatcherOptions;
  readonly #kills = new OomKillReader();

  constructor(options: OomWatcherOptions) {
    this.#options = options;
  }

  /** Watches from now on until the signal aborts. A log that may not be read is said once, and nothing is watched. */
  async run(signal: AbortSignal): Promise<void> {
    const { device = KERNEL_LOG_DEVICE, clock, logger } = this.#options;
    let log;
    try {
      log = await open(device, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      const err = messageOf(error);
      logger.info('No events of kills for want of memory: the kernel’s log cannot be read', { device, err });
      return;
    }
    try {
      // What happened before is somebody else’s.
      await readKernelRecords(log.fd);
      for (;;) {
        await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
        if (signal.aborted) return;
        const records = await readKernelRecords(log.fd);
        if (!records.some((record) => record.includes('process'))) continue;
        await clock.sleep(SETTLE_MS, signal).catch(() => undefined);
        this.take([...records, ...(await readKernelRecords(log.fd))]);
      }
    } catch (error) {
      logger.warn('The kernel’s log cannot be read any more', { device, err: messageOf(error) });
    } finally {
      await log.close();
    }
  }

  /** Reports the kills of these records of the log. */
  take(records: readonly string[]): void {
    for (const record of records) {
      const parsed = parseKernelRecord(record);
      if (parsed !== undefined) this.#report(this.#kills.take(parsed));
    }
    this.#report(this.#kills.finish());
  }

  #report(kill: OomKill | undefined): void {
    if (kill === undefined) return;
    const { pods, events, onSystemOom, logger } = this.#options;
    const { pid, command, group, limitedGroup, isOfMachine } = kill;
    const facts = { pid, process: command, cgroup: group, limitedCgroup: limitedGroup };
    logger.info('The kernel killed a process for want of memory', facts);
    if (isOfMachine) {
      const message = `System OOM encountered, victim process: ${command}, pid: ${pid}`;
      onSystemOom({ type: 'Warning', reason: 'SystemOOM', message });
    }
    if (group === undefined) return;
    for (const pod of pods()) {
      const container = pod.containers.find(({ id }) => group.includes(id));
      if (container === undefined && !isGroupOf(group, pod)) continue;
      events.record(pod, {
        ...{ type: 'Warning', reason: 'OOMKilling', message: describe(kill, pod, container?.id) },
        ...(container === undefined ? {} : { container: container.name }),
      });
      return;
    }
  }
}

function describe(kill: OomKill, pod: PodStatus, containerId: string | undefined): string {
  const { pid, command, isWhole } = kill;
  const why = describeLimit(kill, pod, containerId);
  return isWhole
    ? `The kernel killed all processes of the container, the first of them ${command} (pid ${pid}): ${why}`
    : `The kernel killed process ${command} (pid ${pid}) alone: ${why}`;
}

function describeLimit(
  { limitedGroup, isOfMachine }: OomKill,
  pod: PodStatus,
  containerId: string | undefined,
): string {
  if (isOfMachine) return 'the machine had no memory left';
  if (limitedGroup === undefined) return 'a memory limit was reached';
  if (containerId !== undefined && limitedGroup.includes(containerId))
    return 'the container was at its memory limit';
  return isGroupOf(limitedGroup, pod)
    ? 'the pod was at its memory limit'
    : `the cgroup ${limitedGroup} was at its memory limit`;
}

/** In the forms of both drivers, and below it. */
function isGroupOf(group: string, { uid }: PodStatus): boolean {
  const slice = `-pod${escapeForSystemd(uid)}.slice`;
  return group.split('/').some((name) => name === `pod${uid}` || name.endsWith(slice));
}
