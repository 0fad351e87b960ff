/**
 * Makes filters of system calls: programs that the kernel runs for each call, see seccomp(2).
 *
 * What a call gets is searched by its number, by halves. A program can only jump forward, and a test's jump is no
 * longer than 255 steps.
 *
 * @module
 */

/** One step: struct sock_filter of Linux. */
export type FilterStep = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The codes of the steps; see bpf_common.h of Linux. */
export const STEP = {
  ...{ LOAD: 0x20, AND: 0x54, RETURN: 0x06 },
  ...{ JUMP: 0x05, IF_EQUAL: 0x15, IF_GREATER: 0x25, IF_AT_LEAST: 0x35 },
} as const;

/** What the kernel does with a call; an errno is added to the last two. See seccomp.h of Linux. */
export const ANSWER = {
  ...{ KILL_PROCESS: 0x8000_0000, KILL_THREAD: 0, TRAP: 0x0003_0000, LOG: 0x7ffc_0000, ALLOW: 0x7fff_0000 },
  ...{ ERRNO: 0x0005_0000, TRACE: 0x7ff0_0000 },
} as const;

/** Where the parts of a call are: struct seccomp_data. */
export const AT = { NUMBER: 0, ARCHITECTURE: 4, ARGUMENTS: 16 } as const;

/** The kernel takes no longer one. */
export const MAX_STEPS = 4096;

/** As the profile's SCMP_CMP_…: `masked` compares the bits of `mask`. */
export interface ArgumentTest {
  readonly index: number;
  readonly test: 'equal' | 'not equal' | 'less' | 'at most' | 'greater' | 'at least' | 'masked';
  readonly value: bigint;
  readonly mask?: bigint;
}

/** What a call gets whose arguments pass all tests. */
export interface CallRule {
  readonly answer: number;
  readonly tests: readonly ArgumentTest[];
}

/** What each call gets; see {@link compileFilter}. */
export interface CallFilter {
  /** Of the one way of calling that is filtered; all others kill the process. */
  readonly audit: number;
  /** From this number on it is another way of calling. */
  readonly end?: number | undefined;
  /** By number: the first rule whose tests pass; where none does, `otherwise`. */
  readonly rules: ReadonlyMap<number, readonly CallRule[]>;
  readonly otherwise: number;
  /** For numbers above all that the profile names, which may be younger than it. */
  readonly younger: { readonly from: number; readonly answer: number };
}

/** The program; pure. */
export function compileFilter({ audit, end, rules, otherwise, younger }: CallFilter): FilterStep[] {
  const parts: { from: number; steps: readonly FilterStep[] }[] = [];
  const begin = (from: number, steps: readonly FilterStep[]) => {
    const last = parts.at(-1);
    if (last?.from === from) parts.pop();
    const same = JSON.stringify(parts.at(-1)?.steps) === JSON.stringify(steps);
    if (!same) parts.push({ from, steps });
  };
  const rest: FilterStep[] = [answerStep(otherwise)];
  begin(0, rest);
  for (const [number, own] of [...rules].sort(([a], [b]) => a - b)) {
    begin(number, [...own.flatMap(renderRule), ...(own.some(({ tests }) => tests.length === 0) ? [] : rest)]);
    begin(number + 1, rest);
  }
  begin(younger.from, [answerStep(younger.answer)]);
  if (end !== undefined) begin(end, [answerStep(ANSWER.KILL_PROCESS)]);
  return [
    [STEP.LOAD, 0, 0, AT.ARCHITECTURE],
    [STEP.IF_EQUAL, 1, 0, audit],
    answerStep(ANSWER.KILL_PROCESS),
    [STEP.LOAD, 0, 0, AT.NUMBER],
    ...renderSearch(parts),
  ];
}

/** The bytes that the kernel takes. */
export function encodeFilter(steps: readonly FilterStep[]): Buffer {
  const bytes = Buffer.alloc(8 * steps.length);
  steps.forEach(([code, ifTrue, ifFalse, value], at) => {
    bytes.writeUInt16LE(code, 8 * at);
    bytes.writeUInt8(ifTrue, 8 * at + 2);
    bytes.writeUInt8(ifFalse, 8 * at + 3);
    bytes.writeUInt32LE(value, 8 * at + 4);
  });
  return bytes;
}

function answerStep(answer: number): FilterStep {
  return [STEP.RETURN, 0, 0, answer];
}

function renderSearch(parts: readonly { from: number; steps: readonly FilterStep[] }[]): FilterStep[] {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return [...only.steps];
  const half = parts.length >> 1;
  const lower = renderSearch(parts.slice(0, half));
  const upper = renderSearch(parts.slice(half));
  const { from } = parts[half]!;
  const jump: FilterStep[] =
    lower.length <= 255
      ? [[STEP.IF_AT_LEAST, lower.length, 0, from]]
      : [
          [STEP.IF_AT_LEAST, 0, 1, from],
          [STEP.JUMP, 0, 0, lower.length],
        ];
  return [...jump, ...lower, ...upper];
}

/** Where a test leads: on to the next test, or out of the rule. */
const [ON, OUT] = [-1, -2];

/** The number of the call is lost on the way: only tests of arguments and answers may follow. */
function renderRule({ answer, tests }: CallRule): FilterStep[] {
  const ends: number[] = [];
  const steps: FilterStep[] = [];
  for (const test of tests) {
    const own = renderTest(test);
    steps.push(...own);
    ends.push(...own.map(() => steps.length));
  }
  const place = (to: number, at: number) =>
    to === ON ? ends[at]! - at - 1 : to === OUT ? steps.length - at : to;
  return [
    ...steps.map(([code, ifTrue, ifFalse, value], at): FilterStep => [
      code,
      place(ifTrue, at),
      place(ifFalse, at),
      value,
    ]),
    answerStep(answer),
  ];
}

/** An argument has 64 bits and a step works on 32: first the upper half, then the lower one. */
function renderTest({ index, test, value, mask = ALL_BITS }: ArgumentTest): FilterStep[] {
  const half = (upper: boolean): FilterStep[] => [
    [STEP.LOAD, 0, 0, AT.ARGUMENTS + 8 * index + (upper ? 4 : 0)],
    ...(mask === ALL_BITS ? [] : [[STEP.AND, 0, 0, halfOf(mask, upper)] as const]),
  ];
  const wanted = value & mask;
  const [high, low] = [halfOf(wanted, true), halfOf(wanted, false)];
  const [yes, no] = ['not equal', 'less', 'at most'].includes(test) ? [OUT, ON] : [ON, OUT];
  const isOrder = !['equal', 'not equal', 'masked'].includes(test);
  const last = isOrder
    ? test === 'greater' || test === 'at most'
      ? STEP.IF_GREATER
      : STEP.IF_AT_LEAST
    : STEP.IF_EQUAL;
  return [
    ...half(true),
    ...(isOrder ? [[STEP.IF_GREATER, yes, 0, high] as const] : []),
    [STEP.IF_EQUAL, 0, no, high],
    ...half(false),
    [last, yes, no, low],
  ];
}

const ALL_BITS = 2n ** 64n - 1n;

function halfOf(value: bigint, upper: boolean): number {
  return Number((upper ? value >> 32n : value) & 0xffff_ffffn);
}
