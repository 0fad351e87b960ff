/**
 * The plugin for node-problem-detector: its configuration keeps that program's rules, and its script says what
 * `podloop doctor` found within its limits.
 *
 * Source: https://github.com/kubernetes/node-problem-detector/tree/master/pkg/custompluginmonitor
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readText } from './source-tree.js';

const FOLDER = 'examples/node-problem-detector';

interface PluginConfig {
  readonly plugin: string;
  readonly pluginConfig: Readonly<Record<string, unknown>>;
  readonly source: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly rules: readonly {
    readonly type: string;
    readonly condition: string;
    readonly reason: string;
    readonly path: string;
    readonly timeout: string;
  }[];
}

const seconds = (text: unknown): number => {
  const [, number = '', unit = ''] = /^(\d+)([sm])$/.exec(String(text)) ?? [];
  return Number(number) * (unit === 'm' ? 60 : 1);
};

it('the configuration is one that node-problem-detector takes', () => {
  const config = JSON.parse(readText(`${FOLDER}/podloop-doctor.json`)) as PluginConfig;
  const { plugin, pluginConfig, source, conditions, rules } = config;
  expect([plugin, source]).toEqual(['custom', 'podloop-doctor']);
  expect(Object.keys(pluginConfig).sort()).toEqual([
    ...[
      'concurrency',
      'enable_message_change_based_condition_update',
      'invoke_interval',
      'max_output_length',
    ],
    'timeout',
  ]);
  expect(pluginConfig['max_output_length']).toBe(80);
  expect(seconds(pluginConfig['timeout'])).toBeLessThan(seconds(pluginConfig['invoke_interval']));
  for (const { type, condition, timeout, path } of rules) {
    expect(type).toBe('permanent');
    expect(conditions.map((each) => each.type)).toContain(condition);
    expect(seconds(timeout)).toBeLessThanOrEqual(seconds(pluginConfig['timeout']));
    expect(path.endsWith('/podloop-doctor.sh')).toBe(true);
  }
  // The script has to give up first: a plugin that is killed says nothing.
  const [, limit] = /PODLOOP_DOCTOR_LIMIT:-(\d+)/.exec(readText(`${FOLDER}/podloop-doctor.sh`)) ?? [];
  expect(Number(limit) + 5).toBeLessThan(seconds(pluginConfig['timeout']));
});

describe('the script', () => {
  const folder = mkdtempSync(join(tmpdir(), 'podloop-npd-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs it with a program that prints this and ends like that. */
  const run = (lines: readonly string[], end: string, env: Readonly<Record<string, string>> = {}) => {
    const program = join(folder, 'podloop');
    const text = ['#!/bin/sh', ...lines.map((line) => `printf '%s\\n' '${line}'`), end].join('\n');
    writeFileSync(program, `${text}\n`);
    chmodSync(program, 0o755);
    const { status, stdout, stderr } = spawnSync('sh', [`${FOLDER}/podloop-doctor.sh`], {
      ...{ encoding: 'utf8', env: { ...process.env, PODLOOP: program, ...env } },
    });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^[\x20-\x7e]{1,80}\n$/);
    return [status, stdout.trim()];
  };

  const CRITICAL = [
    'CRITICAL: 1 critical, 1 warning. containerd 2.1.9 at unix:///run/containerd/containerd.sock, examined in 3s',
    '',
    'CRITICAL PodHung: the runtime does not answer PodSandboxStatus about pod default/web-0 for 1m3s',
    '  since: 2026-01-02T03:04:05.000Z',
    'WARNING CrashLoops: containers of many pods are started again and again',
  ];

  it.each<[string, readonly string[], string, [number, string]]>([
    ['well', ['HEALTHY: nothing is wrong.'], 'exit 0', [0, 'podloop doctor finds nothing wrong']],
    [
      'nearly well',
      ['WARNING: 1 warning.', '', 'WARNING DiskFull: /var is 91% full'],
      'exit 1',
      [0, 'nothing critical; DiskFull: /var is 91% full'],
    ],
    [
      'ill',
      CRITICAL,
      'exit 2',
      [1, 'PodHung: the runtime does not answer PodSandboxStatus about pod default/web-0 fo'],
    ],
    ['not judged', ['NOT JUDGED: nothing was found'], 'exit 4', [2, 'NOT JUDGED: nothing was found']],
    ['asked wrongly', ['error: unknown option'], 'exit 3', [2, 'error: unknown option']],
  ])('says of a node that is %s what is to be known', (_how, lines, end, result) => {
    expect(run(lines, end)).toEqual(result);
  });

  it('prints nothing that breaks a message, and no half of a character', () => {
    const [status, line] = run([`CRITICAL CallFails: ${'’'.repeat(60)}`], 'exit 2');
    expect([status, line]).toEqual([1, `CallFails: ${'?'.repeat(69)}`]);
  });

  it('gives up a doctor that does not end', () => {
    const limit = { PODLOOP_DOCTOR_LIMIT: '1' };
    expect(run([], 'exec sleep 60', limit)).toEqual([2, 'podloop doctor did not end in time']);
  });

  it('that has no podloop is unknown, and not well', () => {
    expect(run(['sh: podloop: not found'], 'exit 127')).toEqual([2, 'sh: podloop: not found']);
  });
});
