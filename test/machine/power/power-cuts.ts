/**
 * Cuts the power of an emulated node while its pods are applied, deleted and restarted, boots it again, and compares what is there
 * with what had been confirmed.
 *
 * In: an image and a payload. Out: a result for each cut. One machine and one disk are used for all cuts, so each node
 * starts with what all cuts before have left.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { bootMachine, type Machine } from '../machine.js';
import { judgeFailure, type TestResult } from '../machine-result.js';
import { type NodeImage } from '../node-image.js';
import { installScript, PROJECT_IN_MACHINE } from '../payload.js';
import { findFaults, findUnsettled, type FoundAgent, parseLedger } from './ledger.js';

const AGENTS = ['containerd', 'box'] as const;
const MINUTE_MS = 60_000;
const INSTALL_LIMIT_MS = 20 * MINUTE_MS;
const SETUP_LIMIT_MS = 30 * MINUTE_MS;
/** An emulated node starts a pod in many seconds. */
const SETTLE_LIMIT_MS = 25 * MINUTE_MS;
/** What was refused of the changes: no part of the ledger. */
const CHURN_LOG = '/var/lib/cut/churn.log';
/** How long pods change before the power goes, at least and at most. */
const CHURN_MS = { min: 15_000, max: 60_000 };
/** Actions of one cut have numbers below those of the next. */
const NUMBERS_PER_CUT = 400;

/** What {@link runPowerCuts} needs. */
export interface PowerCutOptions {
  readonly image: NodeImage;
  /** From makePayload. */
  readonly payload: string;
  readonly cuts: number;
  readonly seed: number;
  readonly say: (sentence: string) => void;
  /** Called with each result as soon as it is there, so that a run that is interrupted keeps them. */
  readonly onResult: (result: TestResult) => void;
  readonly signal: AbortSignal;
}

/** Runs them; rejects when the machine cannot be set up, or on Ctrl-C. */
export async function runPowerCuts(options: PowerCutOptions): Promise<void> {
  const { image, payload, cuts, seed, say, onResult, signal } = options;
  await using machine = await bootMachine(image, { payload, signal });
  await setUpCutNode(machine, say, signal);
  let confirmed = '';
  for (let cut = 1; cut <= cuts; cut++) {
    const startedAt = performance.now();
    const title = `cut ${cut} of ${cuts}, seed ${seed}`;
    say(title);
    const churnSeed = seed * 1_000 + cut;
    confirmed += await churnUntilCut(machine, { seed: churnSeed, first: cut * NUMBERS_PER_CUT, signal });
    await machine.bootAgain();
    const problems = await checkNode(machine, confirmed, signal);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    onResult(
      problems.length === 0
        ? { title, verdict: 'passed', seconds }
        : { title, seconds, ...judgeFailure(problems) },
    );
  }
}

/** Installs podloop and runs cut-setup.test.ts in a booted machine. */
export async function setUpCutNode(
  machine: Machine,
  say: (sentence: string) => void,
  signal: AbortSignal,
): Promise<void> {
  say('installing the package in the machine');
  await machine.check(installScript(), { timeoutMs: INSTALL_LIMIT_MS, signal });
  say('setting up containerd and two agents');
  const vitest = 'node node_modules/vitest/vitest.mjs run -c vitest.machine.config.ts';
  const file = 'test/machine/inside/cut-setup.test.ts';
  await machine.check(`cd ${PROJECT_IN_MACHINE} && ${vitest} ${file} >&2`, {
    timeoutMs: SETUP_LIMIT_MS,
    signal,
  });
}

/** Changes pods for a while and kills the emulator; resolves with the lines that were confirmed. */
export async function churnUntilCut(
  machine: Machine,
  { seed, first, signal }: { readonly seed: number; readonly first: number; readonly signal: AbortSignal },
): Promise<string> {
  const ended = new AbortController();
  const stop = AbortSignal.any([signal, ended.signal]);
  let lines = '';
  let onFirst: () => void;
  const begun = new Promise<void>((resolve) => (onFirst = resolve));
  const churn = machine
    .run(
      `node ${PROJECT_IN_MACHINE}/test/machine/power/churn.mjs ${seed} ${first} 2>${CHURN_LOG} || { tail -c 1000 ${CHURN_LOG} >&2; exit 1; }`,
      {
        timeoutMs: SETTLE_LIMIT_MS,
        signal: stop,
        onOutput: (text) => {
          lines += text;
          onFirst();
        },
      },
    )
    .then(({ code, stderr }) => {
      throw new Error(`the changes of pods ended with ${code}: ${stderr.trim().slice(-1_000)}`);
    });
  // When it is over, that is told by the race below.
  churn.catch(() => undefined);
  await Promise.race([begun, churn]);
  const random = (Math.imul(seed, 0x9e3779b1) >>> 0) / 2 ** 32;
  await Promise.race([
    churn,
    sleep(CHURN_MS.min + random * (CHURN_MS.max - CHURN_MS.min), undefined, { signal }),
  ]);
  await machine.kill();
  ended.abort();
  return wholeLines(lines);
}

/** Waits until the node is as its ledger says; what is still wrong at the end, in words. */
async function checkNode(machine: Machine, confirmed: string, signal: AbortSignal): Promise<string[]> {
  const ledger = parseLedger(confirmed);
  const giveUpAt = performance.now() + SETTLE_LIMIT_MS;
  for (;;) {
    const inspect = `node ${PROJECT_IN_MACHINE}/test/machine/power/inspect.mjs`;
    const { code, stdout, stderr } = await machine.run(inspect, { timeoutMs: SETTLE_LIMIT_MS, signal });
    const found =
      code === 0 ? (JSON.parse(stdout) as Record<(typeof AGENTS)[number], FoundAgent>) : undefined;
    const faults =
      found === undefined
        ? []
        : AGENTS.flatMap((agent) =>
            findFaults(ledger, agent, found[agent]).map((fault) => `${agent}: ${fault}`),
          );
    if (faults.length > 0) return faults;
    const unsettled =
      found === undefined
        ? [`the agents do not answer: ${stderr.slice(-300)}`]
        : AGENTS.flatMap((agent) =>
            findUnsettled(ledger, agent, found[agent]).map((what) => `${agent}: ${what}`),
          );
    if (unsettled.length === 0) return [];
    // A node that is late is not judged; one that has settled on something else has failed.
    if (performance.now() > giveUpAt)
      return unsettled.map((what) =>
        / with version | is gone$/.test(what) ? what : `waited in vain: ${what}`,
      );
    await sleep(5_000, undefined, { signal });
  }
}

/** Without a last line that the cut has broken off. */
function wholeLines(text: string): string {
  return text.slice(0, text.lastIndexOf('\n') + 1);
}
