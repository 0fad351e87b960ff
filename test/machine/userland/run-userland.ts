/**
 * Runs `npm test` with the programs of Debian 13 on this machine's kernel: a root file system of the images, entered with namespaces of
 * its own for mounts and processes.
 *
 * In: root, and a root file system as a tar. Out: a result for each test that failed, and one that counts those that passed. It
 * is not emulated, so a time-out is a failure here.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';

import { SEARCH_PATH } from '../host-tools.js';
import { ORDINARY_USER } from '../image-recipe.js';
import { quote } from '../machine.js';
import { parseVitestReport, type TestResult } from '../machine-result.js';
import { copyProject, findNpm, PROJECT_IN_MACHINE } from '../payload.js';

/** Who runs the tests there. */
export type UserlandUser = 'root' | typeof ORDINARY_USER;

/** What {@link runUserland} needs; paths absolute. */
export interface UserlandOptions {
  /** The root file system. */
  readonly tar: string;
  readonly project: string;
  /** Empty, and nothing but this run uses it. It is removed. */
  readonly folder: string;
  readonly user: UserlandUser;
  readonly say: (sentence: string) => void;
  readonly onResult: (result: TestResult) => void;
  readonly signal: AbortSignal;
}

const REPORT = '/srv/report.json';
const HOMES: Readonly<Record<UserlandUser, string>> = { root: '/root', ordinary: `/home/${ORDINARY_USER}` };

/** Runs it; rejects when it cannot be set up, or on Ctrl-C. */
export async function runUserland(options: UserlandOptions): Promise<void> {
  const { tar, project, folder, user, say, onResult, signal } = options;
  const root = path.join(folder, 'root');
  await mkdir(root);
  try {
    say('unpacking Debian 13');
    await check('tar', ['-xf', tar, '-C', root, '--numeric-owner'], signal);
    await copyProject(project, path.join(root, PROJECT_IN_MACHINE), { signal, everyModule: true });
    await cp(await findNpm(), path.join(root, 'srv/npm'), { recursive: true });
    // From inside: the user is one of that root file system.
    await check('chroot', [root, 'chown', '-R', `${user}:`, '/srv'], signal);
    const steps = [
      ['the checks of npm test', 'node scripts/check.mjs'],
      ['the tests', `node node_modules/vitest/vitest.mjs run --reporter=json --outputFile.json=${REPORT}`],
    ] as const;
    for (const [title, command] of steps) {
      say(`${title}, as ${user}`);
      const startedAt = performance.now();
      const end = await runProgram('bash', ['-c', enterScript(root, user, command)], signal);
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      const report = await readFile(path.join(root, REPORT), 'utf8').catch(() => undefined);
      const results =
        report === undefined
          ? [{ title, seconds, ...(end.code === 0 ? PASSED : failure(end.output)) }]
          : summarize(parseVitestReport(report, end.output), seconds);
      for (const result of results) onResult(result);
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

const PASSED = { verdict: 'passed' } as const;

function failure(output: string): Pick<TestResult, 'verdict' | 'reason'> {
  return { verdict: 'failed', reason: output.trim().slice(-400) };
}

/** Each test that did not pass, and how many did. */
export function summarize(results: readonly TestResult[], seconds: number): TestResult[] {
  const passed = results.filter(({ verdict }) => verdict === 'passed').length;
  const others = results
    .filter(({ verdict }) => verdict !== 'passed')
    .map((result): TestResult => ({ ...result, verdict: 'failed' }));
  return [...others, { title: `${passed} tests of npm test`, seconds, ...PASSED }];
}

/**
 * A script of bash that runs a command in that root file system: as its root, with /proc of its own processes, and with the
 * machine's /sys, /dev and network. All of it ends with the script.
 */
export function enterScript(root: string, user: UserlandUser, command: string): string {
  const words = [
    ...['env', '-i', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    ...[`HOME=${HOMES[user]}`, 'LANG=C.UTF-8', 'TERM=dumb'],
    ...(user === 'root' ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups']),
    ...['bash', '-c', quote(`cd ${PROJECT_IN_MACHINE} && ${command}`)],
  ].join(' ');
  const inside = [
    'set -e',
    'mount --bind "$1" "$1"',
    'cd "$1"',
    'for each in sys dev; do mount --rbind "/$each" "$each"; done',
    'mount -t proc proc proc',
    'mount -t tmpfs -o mode=0755 tmpfs run',
    'mkdir -p old',
    'pivot_root . old',
    'umount -l /old',
    'rmdir /old',
    // As systemd does.
    'mount --make-rshared /',
    'ln -sf /srv/npm/bin/npm-cli.js /usr/local/bin/npm',
    // What the tests have it look up is on loopback.
    'ip link set lo up 2>/dev/null || true',
    `exec ${words}`,
  ].join('\n');
  return `exec unshare --mount --pid --fork --kill-child --propagation private bash -c ${quote(inside)} bash ${quote(root)}`;
}

async function check(program: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const { code, output } = await runProgram(program, args, signal);
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${output.slice(-1_000)}`);
}

/** The end of a program, and the end of what it has written; rejects on abort. */
async function runProgram(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PATH: SEARCH_PATH };
    const child = spawn(program, [...args], { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-100_000)));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
