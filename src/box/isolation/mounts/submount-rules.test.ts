/** Run by a real shell on real mounts, in a mount namespace of its own: needs root. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMountinfo } from '#base/proc/mountinfo.js';
import { planSubmountRules, renderSubmountRules, type SubmountRule } from './submount-rules.js';
import { type Volume } from './container-volumes.js';

const volume = (target: string, more: Partial<Volume> = {}): Volume => ({
  source: '/host',
  ...{ target, folder: true, readonly: false, propagation: 'rprivate', restrictions: [] },
  ...{ plainDevice: false, readonlyBelow: false },
  ...more,
});

describe('planSubmountRules', () => {
  const plan = (volumes: Volume[], more: object = {}) =>
    planSubmountRules({
      root: { kind: 'folder', path: '/x' },
      privileged: false,
      volumes,
      own: [],
      ...more,
    }).map(({ path, wanted }) => `${path} ${wanted.join()}`);

  it('takes devices from everything but plain devices, and writing from what is recursively read-only', () => {
    const volumes = [
      volume('/v', { readonlyBelow: true }),
      volume('/v/deep/er'),
      volume('/null', { folder: false, plainDevice: true }),
    ];
    const own = [{ path: '/dev', below: true, wanted: [] }];
    expect(plan(volumes, { own })).toEqual(['/v/deep/er nodev', '/v ro,nodev', '/null ', '/dev ', '/ nodev']);
    expect(plan(volumes, { privileged: true })).toEqual(['/v/deep/er ', '/v ro', '/null ', '/ ']);
  });

  it('has nothing to do where nothing can be mounted below anything, or all is allowed', () => {
    expect(plan([])).toEqual([]);
    expect(plan([volume('/file', { folder: false })])).toEqual([]);
    expect(plan([volume('/v')], { privileged: true })).toEqual([]);
    expect(plan([], { root: { kind: 'host' } })).toEqual(['/ nodev']);
    expect(plan([], { root: { kind: 'host' }, privileged: true })).toEqual([]);
  });
});

describe.skipIf(process.getuid?.() !== 0)('the rules for what is mounted below others (needs root)', () => {
  let folder: string;
  let top: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'podloop-submounts-'));
    top = join(folder, 'top');
    mkdirSync(top);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /**
   * Runs the code where `prepare` has mounted something. `meanwhile` runs before the first change, in the place of
   * somebody who mounts and unmounts at the same time.
   */
  function run(
    wanted: SubmountRule['wanted'],
    prepare: string,
    meanwhile = '',
    rules: readonly SubmountRule[] = [],
  ): { fault: string; mounts: Record<string, string> } {
    const file = (name: string) => join(folder, name);
    writeFileSync(file('meanwhile'), `cd ${top}\n${meanwhile}\n`);
    writeFileSync(
      file('mount'),
      `#!/bin/sh\nif [ ! -e ${file('once')} ]; then : >${file('once')}; sh ${file('meanwhile')}; fi\n` +
        `[ -e ${file('refused')} ] || exec mount "$@"\n` +
        `grep -v "$(cat ${file('refused')})" ${file('list')} >${file('others')}\n` +
        `mount --all --fstab ${file('others')}; echo refused; exit 64\n`,
      { mode: 0o755 },
    );
    const all = [...rules, { path: top, below: true, wanted }, { path: '/', below: true, wanted: [] }];
    const code = renderSubmountRules(all, file('mount'), file('list')).join('');
    const script = `exec 3>&1; set -e; mount --bind ${top} ${top}; cd ${top}; (${prepare}) || exit 99; set +e; cd /
fault() { echo "FAULT $*" >&2; cat /proc/self/mountinfo >&3; exit 125; }
${code}cat /proc/self/mountinfo`;
    const { stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8' });
    const table = parseMountinfo(stdout).filter(({ mountPoint }) => mountPoint.startsWith(`${top}/`));
    return {
      fault: stderr,
      mounts: Object.fromEntries(
        table.map(({ mountPoint, restrictions }) => [mountPoint.slice(top.length + 1), restrictions.join()]),
      ),
    };
  }

  /** As the host does it, for which there are no mounts below that folder. */
  const elsewhere = (command: string) => `nsenter --target ${process.pid} --mount --wd=. ${command}`;
  const MEMORY = 'mount -t tmpfs memory';
  const THREE = `for n in a b "c d"; do mkdir "$n"; ${MEMORY} "$n"; done; mkdir a/deep; mount -t tmpfs -o nosuid,noexec x a/deep`;

  it('change all of them, and keep their other options', () => {
    expect(run(['nodev'], THREE)).toEqual({
      fault: '',
      mounts: { a: 'nodev', b: 'nodev', 'c d': 'nodev', 'a/deep': 'nosuid,nodev,noexec' },
    });
    rmSync(top, { recursive: true });
    mkdirSync(top);
    expect(run(['ro', 'nodev'], THREE).mounts).toEqual({
      ...{ a: 'ro,nodev', b: 'ro,nodev', 'c d': 'ro,nodev', 'a/deep': 'ro,nosuid,nodev,noexec' },
    });
  });

  it.each<[string, string, string[]]>([
    ['one goes', 'umount b', ['a', 'a/deep', 'c d']],
    ['one goes with its folder', 'umount b; rmdir b', ['a', 'a/deep', 'c d']],
    ['one goes with what is below it', 'umount -R a', ['b', 'c d']],
    ['all go', 'umount -R a; umount b "c d"', []],
    ['one appears', `mkdir e; ${MEMORY} e`, ['a', 'a/deep', 'b', 'c d', 'e']],
    ['one appears below another', `mkdir b/e; ${MEMORY} b/e`, ['a', 'a/deep', 'b', 'b/e', 'c d']],
    ['one appears for another', `umount b; mkdir e; ${MEMORY} e`, ['a', 'a/deep', 'c d', 'e']],
    ['one appears in the same place', `umount b; ${MEMORY} b`, ['a', 'a/deep', 'b', 'c d']],
    ['one is moved', `mkdir e; mount --move b e`, ['a', 'a/deep', 'c d', 'e']],
    ['its folder gets another name elsewhere', elsewhere('mv a e'), ['b', 'c d', 'e', 'e/deep']],
    ['its folder goes elsewhere', elsewhere('rmdir b'), ['a', 'a/deep', 'c d']],
  ])('hold while %s', (_what, meanwhile, left) => {
    // Where mounts are shared, none can be moved.
    for (const wanted of [['nodev'], ['ro'], ['ro', 'nodev']] as const) {
      const { fault, mounts } = run(wanted, `mount --make-rprivate /; ${THREE}`, meanwhile);
      expect(fault).toBe('');
      expect(Object.keys(mounts).sort()).toEqual(left.sort());
      for (const options of Object.values(mounts)) for (const each of wanted) expect(options).toContain(each);
      rmSync(top, { recursive: true });
      mkdirSync(top);
      rmSync(join(folder, 'once'));
    }
  });

  it.each([
    ['all stay', '.', { a: '', 'a/deep': 'nosuid,noexec', b: '', 'c d': '' }],
    ['one of many stays', '/b', { a: 'nodev', 'a/deep': 'nosuid,nodev,noexec', b: '', 'c d': 'nodev' }],
  ])('end the start when %s and cannot be changed', (_what, refused, left) => {
    const { fault, mounts } = run(['nodev'], THREE, `echo ${refused} >${join(folder, 'refused')}`);
    expect(fault).toBe('FAULT its set-up failed: refused\n');
    expect(mounts).toEqual(left);
  });

  it('leave what no path leads to, and what lies on it, as they are', () => {
    const prepare = `mkdir -p under/deep same; ${MEMORY} under/deep; mount -t tmpfs -o ro,nodev x under;
      ${MEMORY} same; mkdir same/below; ${MEMORY} same/below; mount -t tmpfs -o nodev,noexec x same`;
    const { fault } = run(['nodev'], prepare);
    expect(fault).toBe('');
    expect(readFileSync(join(folder, 'list'), { encoding: 'utf8', flag: 'a+' })).toBe('');
  });

  it('are those of the nearest volume, whatever it is called', () => {
    const prepare =
      'for n in "a b" "a b/*" "a b/[x]" "x\\\\y" other; do mkdir -p "$n"; mount -t tmpfs x "$n"; done';
    const rules: SubmountRule[] = ['a b/*', 'a b', 'x\\y'].map((path) => ({
      ...{ path: join(top, path), below: true },
      wanted: path === 'a b' ? ['ro'] : [],
    }));
    expect(run(['nodev'], prepare, '', rules)).toEqual({
      fault: '',
      mounts: { 'a b': 'ro', 'a b/*': '', 'a b/[x]': 'ro', 'x\\y': '', other: 'nodev' },
    });
  });
});
