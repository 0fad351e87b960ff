import { type SpecResult } from './spec-report.js';

interface KnownReason {
  /** Matches a spec's texts, joined by `: `. */
  readonly spec: RegExp;
  readonly reason: string;
}

/**
 * Why a spec is not passed, in words that help: the suite's own are about what it compared. Only specs that did not
 * pass are looked up, the first match counts.
 */
const KNOWN_REASONS: readonly KnownReason[] = [
  {
    spec: /public image with digest/,
    reason:
      'it asks for an image by a digest whose bytes only its publisher has; the images of this run are made on the spot',
  },
  {
    spec: /^NRI/,
    reason: 'there is no Node Resource Interface: no other program takes part in a container’s start',
  },
  { spec: /^AppArmor/, reason: 'the kernel of this machine has no AppArmor' },
  { spec: /benchmark/, reason: 'a benchmark, not a test; `npm run bench` has ours' },
  {
    spec: /UserNamespaces/,
    reason: 'user namespaces are not supported and are refused with a sentence',
  },
  { spec: /seccomp default/, reason: 'the runtime’s default seccomp profile is none' },
];

/** What the page says of a spec that did not pass: our reason where there is one, else the suite's first line. */
export function reasonFor(result: SpecResult): string {
  const name = result.path.join(': ');
  const known = KNOWN_REASONS.find(({ spec }) => spec.test(name));
  return known?.reason ?? (result.message.split('\n')[0] ?? '').slice(0, 200);
}
