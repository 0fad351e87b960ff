import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { findCallTable } from './seccomp-calls.js';
import { ANSWER, type ArgumentTest, compileFilter, type FilterStep, STEP } from './seccomp-filter.js';
import { findProfilePath, parseSeccompProfile, readSeccompFilter } from './seccomp-profile.js';

const X64 = findCallTable('x64')!;
const EPERM = ANSWER.ERRNO + 1;
const ENOSYS = ANSWER.ERRNO + 38;

interface Call {
  readonly audit?: number;
  readonly number: number;
  readonly args?: readonly bigint[];
}

/** Runs a filter as the kernel does. */
function judge(steps: readonly FilterStep[], { audit = X64.audit, number, args = [] }: Call): number {
  let loaded = 0;
  for (let at = 0; ; at++) {
    const [code, ifTrue, ifFalse, value] = steps[at]!;
    const jump = (passes: boolean) => (at += passes ? ifTrue : ifFalse);
    if (code === STEP.RETURN) return value;
    if (code === STEP.LOAD) {
      const argument = args[(value - 16) >> 3] ?? 0n;
      const half = Number(BigInt.asUintN(32, value % 8 === 0 ? argument : argument >> 32n));
      loaded = value === 0 ? number : value === 4 ? audit : half;
    } else if (code === STEP.AND) loaded = (loaded & value) >>> 0;
    else if (code === STEP.JUMP) at += value;
    else if (code === STEP.IF_EQUAL) jump(loaded === value);
    else if (code === STEP.IF_GREATER) jump(loaded > value);
    else if (code === STEP.IF_AT_LEAST) jump(loaded >= value);
    else throw new Error(`step ${code}`);
  }
}

function compile(profile: unknown, table = X64) {
  const text = typeof profile === 'string' ? profile : JSON.stringify(profile);
  const { filter } = parseSeccompProfile(text, table);
  const steps = compileFilter(filter);
  return (name: string | number, ...args: bigint[]) =>
    judge(steps, {
      audit: table.audit,
      number: typeof name === 'number' ? name : table.numbers.get(name)!,
      args,
    });
}

describe('a profile of one’s own', () => {
  it('answers its calls as it says and all others by default', () => {
    const get = compile({
      defaultAction: 'SCMP_ACT_ALLOW',
      syscalls: [
        { names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' },
        { names: ['chmod'], action: 'SCMP_ACT_ERRNO', errnoRet: 13 },
        { names: ['reboot'], action: 'SCMP_ACT_KILL_PROCESS' },
        { names: ['swapon', 'no_such_call'], action: 'SCMP_ACT_KILL' },
        { names: ['sync'], action: 'SCMP_ACT_LOG' },
      ],
    });
    expect(
      ['mkdir', 'mkdirat', 'chmod', 'reboot', 'swapon', 'sync', 'read', 999].map((name) => get(name)),
    ).toEqual(
      [EPERM, EPERM, ANSWER.ERRNO + 13, ANSWER.KILL_PROCESS, ANSWER.KILL_THREAD, ANSWER.LOG].concat(
        ANSWER.ALLOW,
        ANSWER.ALLOW,
      ),
    );
  });

  it('that allows only some calls has those that are younger than it not be there, so that programs do without', () => {
    const get = compile({
      defaultAction: 'SCMP_ACT_ERRNO',
      syscalls: [{ names: ['read', 'openat2'], action: 'SCMP_ACT_ALLOW' }],
    });
    expect([get('read'), get('write'), get('openat2'), get('faccessat2')]).toEqual([
      ANSWER.ALLOW,
      EPERM,
      ANSWER.ALLOW,
      ENOSYS,
    ]);
    expect(compile({ defaultAction: 'SCMP_ACT_ERRNO' })('faccessat2')).toBe(EPERM);
  });

  it('kills who calls the kernel in another way', () => {
    const { filter } = parseSeccompProfile('{"defaultAction":"SCMP_ACT_ALLOW"}', X64);
    const steps = compileFilter(filter);
    expect(judge(steps, { number: 0 })).toBe(ANSWER.ALLOW);
    expect(judge(steps, { audit: 0x4000_0003, number: 0 })).toBe(ANSWER.KILL_PROCESS);
    expect(judge(steps, { number: 0x4000_0000 })).toBe(ANSWER.KILL_PROCESS);
    expect(judge(steps, { number: 0xffff_ffff })).toBe(ANSWER.KILL_PROCESS);
  });

  it('tests all 64 bits of arguments', () => {
    const get = compile(
      `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[
        {"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":18446744073709551615,"op":"SCMP_CMP_EQ"}]},
        {"names":["clone"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":2114060288,"valueTwo":0,"op":"SCMP_CMP_MASKED_EQ"}]}]}`,
    );
    expect(get('personality', 2n ** 64n - 1n)).toBe(ANSWER.ALLOW);
    expect(get('personality', 2n ** 64n - 2n)).toBe(EPERM);
    expect(get('personality', 0xffff_ffffn)).toBe(EPERM);
    expect([get('clone', 0x11n), get('clone', 0x1000_0000n)]).toEqual([ANSWER.ALLOW, EPERM]);
  });

  it('joins tests of several arguments, takes any of several tests of one, and prefers a rule without tests', () => {
    const equal = (index: number, value: number) => ({ index, value, op: 'SCMP_CMP_EQ' });
    const rule = (name: string, ...args: unknown[]) => ({ names: [name], action: 'SCMP_ACT_ALLOW', args });
    const get = compile({
      defaultAction: 'SCMP_ACT_ERRNO',
      syscalls: [
        rule('socket', equal(0, 1), equal(1, 2)),
        rule('ioctl', equal(1, 1), equal(1, 2)),
        rule('fcntl', equal(1, 1)),
        rule('fcntl'),
      ],
    });
    const A = ANSWER.ALLOW;
    expect([get('socket', 1n, 2n), get('socket', 1n, 3n), get('socket', 3n, 2n)]).toEqual([A, EPERM, EPERM]);
    expect([get('ioctl', 0n, 1n), get('ioctl', 0n, 2n), get('ioctl', 0n, 3n)]).toEqual([A, A, EPERM]);
    expect(get('fcntl', 0n, 9n)).toBe(A);
  });

  it('compares as numbers without a sign, whatever the rules and their order (property)', () => {
    const HOLDS: Record<ArgumentTest['test'], (a: bigint, value: bigint, mask: bigint) => boolean> = {
      equal: (a, value) => a === value,
      'not equal': (a, value) => a !== value,
      less: (a, value) => a < value,
      'at most': (a, value) => a <= value,
      greater: (a, value) => a > value,
      'at least': (a, value) => a >= value,
      masked: (a, value, mask) => (a & mask) === (value & mask),
    };
    const edge = fc.constantFrom(
      0n,
      1n,
      0x7fff_ffffn,
      0xffff_ffffn,
      2n ** 32n,
      2n ** 32n + 1n,
      2n ** 63n,
      2n ** 64n - 1n,
    );
    const test = fc.record({
      index: fc.integer({ min: 0, max: 2 }),
      test: fc.constantFrom(...(Object.keys(HOLDS) as ArgumentTest['test'][])),
      value: edge,
      mask: edge,
    });
    const own = fc.record({
      answer: fc.integer({ min: 1, max: 9 }),
      tests: fc.array(test, { maxLength: 3 }),
    });
    const rules = fc.dictionary(fc.nat(400).map(String), fc.array(own, { minLength: 1, maxLength: 3 }), {
      maxKeys: 150,
    });
    const args = fc.tuple(edge, edge, edge);
    fc.assert(
      fc.property(rules, fc.array(fc.tuple(fc.nat(410), args), { minLength: 5 }), (byNumber, calls) => {
        const table = new Map(
          Object.entries(byNumber).map(([number, list]) => [
            Number(number),
            list.map(({ answer, tests }) => ({
              answer,
              tests: tests.map(({ mask, ...each }) => ({ ...each, ...(each.test === 'masked' && { mask }) })),
            })),
          ]),
        );
        const younger = { from: 401, answer: 77 };
        const steps = compileFilter({ audit: X64.audit, end: X64.end, rules: table, otherwise: 0, younger });
        for (const [number, values] of calls) {
          const passes = byNumber[String(number)]?.find(({ tests }) =>
            tests.every(({ index, test: name, value, mask }) => HOLDS[name](values[index]!, value, mask)),
          );
          expect(judge(steps, { number, args: values })).toBe(number > 400 ? 77 : (passes?.answer ?? 0));
        }
        for (const [, ifTrue, ifFalse] of steps) expect(Math.max(ifTrue, ifFalse)).toBeLessThan(256);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['[]', 'it is no object'],
    ['{"defaultAction":"SCMP_ACT_ALLOW"', /^it is no JSON/],
    ['{}', /^defaultAction is missing: use one of SCMP_ACT_KILL, /],
    ['{"defaultAction":"SCMP_ACT_NOTIFY"}', /^defaultAction is "SCMP_ACT_NOTIFY": use one of/],
    ['{"defaultAction":"constructor"}', /^defaultAction is "constructor": use/],
    [
      '{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":4096}',
      'defaultErrnoRet is not a number from 0 to 4095',
    ],
    [
      '{"defaultAction":"SCMP_ACT_ALLOW","listenerPath":"/x"}',
      'listenerPath is not supported: nobody listens',
    ],
    [
      '{"defaultAction":"SCMP_ACT_ALLOW","flags":["X"]}',
      /^flags\[0\] is "X": use one of SECCOMP_FILTER_FLAG_TSYNC/,
    ],
    [{ syscalls: [{ name: 'mkdir', action: 'SCMP_ACT_ERRNO' }] }, 'syscalls[0].names is missing'],
    [{ syscalls: [{ names: [], action: 'SCMP_ACT_ERRNO' }] }, 'syscalls[0].names is empty'],
    [{ syscalls: [{ names: [1], action: 'SCMP_ACT_ERRNO' }] }, 'syscalls[0].names[0] is not a string'],
    [
      { args: [{ index: 6, value: 1, op: 'SCMP_CMP_EQ' }] },
      'syscalls[0].args[0].index is not a number from 0 to 5',
    ],
    [
      { args: [{ index: 0, value: -1, op: 'SCMP_CMP_EQ' }] },
      'syscalls[0].args[0].value is not a number of 64 bits',
    ],
    [
      { args: [{ index: 0, value: 1, op: '==' }] },
      /^syscalls\[0\]\.args\[0\]\.op is "==": use one of SCMP_CMP_EQ, /,
    ],
  ])('is refused with the place of what is wrong in it: %j', (given, message) => {
    const isRule = typeof given === 'object' && 'args' in given;
    const rule = isRule ? { syscalls: [{ names: ['mkdir'], action: 'SCMP_ACT_ERRNO', ...given }] } : given;
    const text =
      typeof rule === 'string' ? rule : JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', ...rule });
    expect(() => parseSeccompProfile(text, X64)).toThrow(message);
  });
});

describe('the tables of calls', () => {
  it.each([
    ['x64', { read: 0, execve: 59, seccomp: 317, rseq: 334, io_uring_setup: 425, clone3: 435, mseal: 462 }],
    ['arm64', { read: 63, execve: 221, seccomp: 277, clone3: 435, file_setattr: 469 }],
  ])('have the kernel’s numbers: %s', (name, numbers) => {
    expect(Object.keys(numbers).map((call) => findCallTable(name)!.numbers.get(call))).toEqual(
      Object.values(numbers),
    );
  });

  it('is none for other processors, and a profile is refused there', () => {
    expect(findCallTable('riscv64')).toBeUndefined();
    expect(() => parseSeccompProfile('{}', undefined)).toThrow('are not known here');
  });
});

describe('the file of a profile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'podloop-seccomp-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);

  it('is read through links, and refused where it is no file, too large or not there', async () => {
    writeFileSync(at('own.json'), '{"defaultAction":"SCMP_ACT_ALLOW"}');
    symlinkSync('own.json', at('link.json'));
    const { flags, program } = await readSeccompFilter(at('link.json'));
    expect([flags, program.length % 8]).toEqual([4, 0]);
    mkdirSync(at('folder'));
    execFileSync('mkfifo', [at('pipe')]);
    writeFileSync(at('large.json'), Buffer.alloc(1024 * 1024 + 1));
    writeFileSync(at('secret'), 'root:secret');
    const faults: Record<string, string> = {
      folder: 'it is no file',
      pipe: 'it is no file',
      'large.json': 'it is larger than 1048576 bytes',
      secret: 'it is no JSON',
      missing: 'ENOENT: no such file or directory',
    };
    for (const [name, fault] of Object.entries(faults))
      await expect(readSeccompFilter(at(name))).rejects.toThrow(
        `cannot load seccomp profile "${at(name)}": ${fault}`,
      );
    await expect(readSeccompFilter(at('secret'))).rejects.not.toThrow('root');
    await expect(readSeccompFilter('own.json')).rejects.toThrow('the path is not absolute');
  });

  it('is the one of either field of the request, and none for what is privileged', () => {
    const none = { privileged: false, seccomp: undefined, seccompProfilePath: '' };
    const local = (localhostRef: string, more = {}) =>
      findProfilePath({ ...none, seccomp: { profileType: 2, localhostRef }, ...more });
    expect([local('/a/b'), local('localhost//a/b'), local('')]).toEqual(['/a/b', '/a/b', '']);
    expect(local('/a', { privileged: true })).toBeUndefined();
    const older = { ...none, ['seccompProfilePath']: 'localhost//a' };
    expect(findProfilePath(older)).toBe('/a');
    expect(findProfilePath({ ...none, seccomp: { profileType: 0, localhostRef: '/a' } })).toBeUndefined();
    expect([findProfilePath(none), findProfilePath(undefined)]).toEqual([undefined, undefined]);
  });
});
