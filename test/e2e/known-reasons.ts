import { type SpecResult } from '../critest/spec-report.js';
import { specName } from './spec-choice.js';

/** Why specs of one kind do not pass. */
export interface KnownReason {
  /** Matches a spec's name. */
  readonly spec: RegExp;
  readonly reason: string;
}

/**
 * Why a spec does not pass, in words that help: the suite's own are about what it compared. Only specs that did not
 * pass are looked up, the first match counts.
 */
export const KNOWN_REASONS: readonly KnownReason[] = [
  {
    spec: /PrivilegedPod should enable privileged commands/,
    reason:
      'the machine: the privileged container may add a network device, but this kernel has none of the kind `dummy`, which the spec adds (“Operation not supported”)',
  },
  {
    spec: /read only busybox container should not write to root filesystem/,
    reason:
      'the image: it wants the words of busybox’s shell (“can’t create /file”), and the stand-in has bash, which says the same in others (“/file: Read-only file system”)',
  },
];

/** What is known of it; undefined when nothing is. */
export function reasonFor(result: Pick<SpecResult, 'path'>): string | undefined {
  const name = specName(result);
  return KNOWN_REASONS.find(({ spec }) => spec.test(name))?.reason;
}
