/**
 * Shuts an emulated node down under load, as whoever presses its button, boots it again, and compares what its pods have written down
 * with what a shutdown promises. Every second shutdown is cut off in the middle, as by a battery that is empty.
 *
 * In: an image and a payload. Out: a result for each shutdown. One machine and one disk are used for all.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { bootMachine, type Machine } from '../machine.js';
import { judgeFailure } from '../machine-result.js';
import { installScript, PROJECT_IN_MACHINE } from '../payload.js';
import { type PowerCutOptions } from './power-cuts.js';
import {
  CRITICAL,
  findShutdownFaults,
  type Mark,
  MARKS_FILE,
  ORDINARY,
  parseMarks,
  startedPods,
} from './shutdown-marks.js';

const MINUTE_MS = 60_000;
const INSTALL_LIMIT_MS = 20 * MINUTE_MS;
/** An emulated node starts and ends a pod in many seconds. */
const SETTLE_LIMIT_MS = 25 * MINUTE_MS;
const LOOK_MS = 1_000;
/** After the first pod was asked to end, at most. */
const CUT_AFTER_MS = 15_000;
/** systemctl may pass logind by, and with it whoever wants to be asked. */
const POWER_OFF =
  'busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager PowerOff b false';
const BOOT_ID = 'cut -c 1-8 /proc/sys/kernel/random/boot_id';
const TIMES = 'cat /var/lib/podloop/graceful-node-shutdown.json';

/** Runs so many shutdowns; rejects when the machine cannot be set up, or on Ctrl-C. */
export async function runShutdowns({
  image,
  payload,
  cuts: shutdowns,
  seed,
  say,
  onResult,
  signal,
}: PowerCutOptions): Promise<void> {
  await using machine = await bootMachine(image, { payload, signal });
  say('installing the package in the machine');
  await machine.check(installScript(), { timeoutMs: INSTALL_LIMIT_MS, signal });
  const vitest = 'node node_modules/vitest/vitest.mjs run -c vitest.machine.config.ts';
  const setUp = `cd ${PROJECT_IN_MACHINE} && ${vitest} test/machine/inside/shutdown-setup.test.ts >&2`;
  await machine.check(setUp, { timeoutMs: SETTLE_LIMIT_MS, signal });
  for (let number = 1; number <= shutdowns; number++) {
    const startedAt = performance.now();
    const how = number % 2 === 0 ? 'cut' : 'whole';
    const title = `shutdown ${number} of ${shutdowns}, ${how === 'cut' ? 'cut off' : 'to its end'}, seed ${seed}`;
    say(title);
    const random = (Math.imul(seed * 1_000 + number, 0x9e3779b1) >>> 0) / 2 ** 32;
    const problems = await shutDown(machine, how, random * CUT_AFTER_MS, signal);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    onResult(
      problems.length === 0
        ? { title, verdict: 'passed', seconds }
        : { title, seconds, ...judgeFailure(problems) },
    );
  }
}

/** What was wrong with one shutdown and with the boot after it. */
async function shutDown(
  machine: Machine,
  how: 'whole' | 'cut',
  cutAfterMs: number,
  signal: AbortSignal,
): Promise<string[]> {
  const before = await untilMarks(machine, haveAllStarted, signal);
  if (before === undefined) return ['waited in vain: not all pods have started before the shutdown'];
  let late: string | undefined;
  if (how === 'whole') {
    const isOver = await machine.powerOff(POWER_OFF, SETTLE_LIMIT_MS);
    if (!isOver) late = 'waited in vain: the machine did not power itself off';
  } else {
    await machine.check(POWER_OFF, { timeoutMs: MINUTE_MS, signal });
    const hasBegun = (marks: readonly Mark[]): boolean => marks.some(({ word }) => word === 'term');
    if ((await untilMarks(machine, hasBegun, signal)) === undefined)
      late = 'waited in vain: no pod was asked to end';
    await sleep(cutAfterMs, undefined, { signal });
    await machine.kill();
  }
  await machine.bootAgain();
  const after = await untilMarks(machine, haveAllStarted, signal);
  if (late !== undefined) return [late];
  const marks = parseMarks(await machine.check(`cat ${MARKS_FILE}`, { signal }), before.boot);
  const faults = findShutdownFaults(marks, how);
  if (after === undefined) faults.push('waited in vain: not all pods have started after the boot');
  else if (after.boot === before.boot) faults.push('the machine was not booted again');
  const times = JSON.parse(await machine.check(TIMES, { signal })) as Record<string, unknown>;
  if (typeof times['startedAtMs'] !== 'number') faults.push('the time of the shutdown is not on record');
  if (how === 'whole' && typeof times['endedAtMs'] !== 'number')
    faults.push('the end of the shutdown is not on record');
  return faults;
}

function haveAllStarted(marks: readonly Mark[]): boolean {
  const started = startedPods(marks);
  return [...ORDINARY, CRITICAL].every((pod) => started.has(pod));
}

/** Waits until the marks of this boot are as wanted; undefined when that takes too long. */
async function untilMarks(
  machine: Machine,
  isWanted: (marks: readonly Mark[]) => boolean,
  signal: AbortSignal,
): Promise<{ readonly boot: string; readonly marks: readonly Mark[] } | undefined> {
  const giveUpAt = performance.now() + SETTLE_LIMIT_MS;
  while (performance.now() < giveUpAt) {
    const { code, stdout } = await machine.run(`${BOOT_ID}; cat ${MARKS_FILE}`, {
      timeoutMs: MINUTE_MS,
      signal,
    });
    const [boot = ''] = stdout.split('\n', 1);
    const marks = parseMarks(stdout, boot);
    if (code === 0 && isWanted(marks)) return { boot, marks };
    await sleep(LOOK_MS, undefined, { signal });
  }
  return undefined;
}
