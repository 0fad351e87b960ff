/**
 * Keyrings of the kernel for containers: none but an empty session keyring of their own, see keyrings(7).
 *
 * A session keyring is inherited by what a process starts. Without a new one a container would have the one of whoever
 * started the runtime, together with all other containers: keys of network file systems, Kerberos tickets and the like.
 * Nothing of util-linux makes one, so this is done by what is there: `perl`, which can also have a filter of system
 * calls refuse those of keyrings for the profile RuntimeDefault, or `keyctl` of keyutils.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  type LinuxContainerSecurityContext,
  SecurityProfile_ProfileType as ProfileType,
} from '#watch/messages';
import { findProgram } from '#base/proc/find-program.js';
import { TOOL_PATH } from '../process/find-tools.js';
import { type Logger } from '#base/log/logger.js';
import { ANSWER, AT, encodeFilter, type FilterStep, STEP } from './seccomp/seccomp-filter.js';

/** How programs get a session keyring of their own on this machine. */
export interface SessionKeyring {
  /** Whether the calls of keyrings can be refused. */
  readonly refuses: boolean;
  /**
   * The words to put before a command line, so that it is executed with a new session keyring.
   *
   * @param refused whether it is to be kept from all keyrings, also those of its user.
   */
  words(refused: boolean): readonly string[];
}

/** What a processor calls the calls that matter here. */
interface CallNumbers {
  readonly keyctl: number;
  readonly seccomp: number;
  /** For each way of calling the kernel: its number, see audit.h of Linux, and add_key, request_key and keyctl in it. */
  readonly refused: readonly (readonly [audit: number, calls: readonly number[]])[];
}

const X32 = 0x4000_0000;
/** Exported for the filter's test, like the filter. */
export const KEYRING_CALLS: Partial<Record<string, CallNumbers>> = {
  x64: {
    keyctl: 250,
    seccomp: 317,
    refused: [
      [0xc000_003e, [248, 249, 250, X32 + 248, X32 + 249, X32 + 250]],
      [0x4000_0003, [286, 287, 288]],
    ],
  },
  arm64: {
    keyctl: 219,
    seccomp: 277,
    refused: [
      [0xc000_00b7, [217, 218, 219]],
      [0x4000_0028, [309, 310, 311]],
    ],
  },
};

const run = promisify(execFile);
const TRY_MS = 30_000;

/** Tries out what there is. Undefined when there is nothing, or the kernel does not allow it. */
async function findSessionKeyring(folders: string): Promise<SessionKeyring | undefined> {
  const [perl, keyctl] = await Promise.all(['perl', 'keyctl'].map((name) => findProgram(name, folders)));
  const calls = KEYRING_CALLS[process.arch];
  const ways = [
    ...(perl === undefined || calls === undefined
      ? []
      : [true, false].map((refuses) => new PerlKeyring(perl, calls, refuses))),
    ...(keyctl === undefined ? [] : [new KeyctlKeyring(keyctl)]),
  ];
  for (const way of ways) if (await works(way.words(way.refuses))) return way;
  return undefined;
}

/**
 * The same, with a warning where containers share keyrings, or where RuntimeDefault does not keep them from those of
 * their user.
 *
 * @param folders where programs are looked for, with colons between them.
 */
export async function openSessionKeyring(
  logger: Pick<Logger, 'warn'>,
  folders = TOOL_PATH,
): Promise<SessionKeyring | undefined> {
  const keyring = await findSessionKeyring(folders);
  const wanted = 'install perl';
  if (keyring === undefined) logger.warn('Containers share the keyrings of the runtime', { wanted });
  else if (!keyring.refuses) logger.warn('RuntimeDefault does not refuse the use of keyrings', { wanted });
  return keyring;
}

async function works([file = '', ...args]: readonly string[]): Promise<boolean> {
  return run(file, [...args, '/bin/sh', '-c', ':'], { env: { PATH: TOOL_PATH }, timeout: TRY_MS }).then(
    () => true,
    () => false,
  );
}

/** Whether a container asks for the runtime's default profile, which keeps programs from keyrings. */
export function refusesKeyrings(
  context: Pick<LinuxContainerSecurityContext, 'privileged' | 'seccomp' | 'seccompProfilePath'> | undefined,
): boolean {
  if (context === undefined || context.privileged) return false;
  // oxlint-disable-next-line typescript/no-deprecated -- older agents send it
  const { seccomp, seccompProfilePath } = context;
  return seccomp === undefined
    ? ['runtime/default', 'docker/default'].includes(seccompProfilePath)
    : seccomp.profileType === ProfileType.RuntimeDefault;
}

class PerlKeyring implements SessionKeyring {
  readonly refuses: boolean;
  readonly #perl: string;
  readonly #calls: CallNumbers;

  constructor(perl: string, calls: CallNumbers, refuses: boolean) {
    this.#perl = perl;
    this.#calls = calls;
    this.refuses = refuses;
  }

  words(refused: boolean): readonly string[] {
    const { keyctl, seccomp } = this.#calls;
    const steps = [
      // KEYCTL_JOIN_SESSION_KEYRING; a kernel without keyrings says ENOSYS, 38.
      `syscall(${keyctl}, 1, 0) != -1 or $! == 38 or die "cannot have a session keyring: $!\\n"`,
      ...(refused && this.refuses
        ? [
            `my $filter = pack('H*', '${renderFilter(this.#calls).toString('hex')}')`,
            `my $program = pack('S x6 P', length($filter) / 8, $filter)`,
            // SECCOMP_SET_MODE_FILTER
            `syscall(${seccomp}, 1, 0, $program) == 0 or die "cannot filter system calls: $!\\n"`,
          ]
        : []),
      'exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n"',
    ];
    return [this.#perl, '-e', steps.join('; '), '--'];
  }
}

class KeyctlKeyring implements SessionKeyring {
  readonly refuses = false;
  readonly #keyctl: string;

  constructor(keyctl: string) {
    this.#keyctl = keyctl;
  }

  words(): readonly string[] {
    // It reports the new keyring on stderr, which is the container's.
    const inside = 'exec 2>&9 9>&-; exec "$@"';
    const outside = `exec 9>&2 2>/dev/null; exec "$0" session - /bin/sh -c '${inside}' sh "$@"`;
    return ['/bin/sh', '-c', outside, this.#keyctl];
  }
}

/** A program of struct sock_filter, see seccomp(2): everything is allowed but these calls. */
export function renderFilter({ refused }: Pick<CallNumbers, 'refused'>): Buffer {
  const allow: FilterStep = [STEP.RETURN, 0, 0, ANSWER.ALLOW];
  const blocks = refused.map(([audit, calls]): FilterStep[] => [
    [STEP.LOAD, 0, 0, AT.ARCHITECTURE],
    // To the next way of calling, past the calls of this one.
    [STEP.IF_EQUAL, 0, calls.length + 3, audit],
    [STEP.LOAD, 0, 0, AT.NUMBER],
    ...calls.map((call, at): FilterStep => [STEP.IF_EQUAL, calls.length - at, 0, call]),
    allow,
    // With EPERM, as other runtimes do it.
    [STEP.RETURN, 0, 0, ANSWER.ERRNO + 1],
  ]);
  return encodeFilter([...blocks.flat(), allow]);
}
