import { type CarriedEnvironment, nameCarriers, renderExports } from '../../process/carried-environment.js';
import { type Logger } from '#base/log/logger.js';
import { quoteBytes } from './shell-words.js';

/** What is said of a folder that is not the container's. Other runtimes say it in these words. */
export const OUTSIDE = 'current working directory is outside of container mount namespace root';

const WANTED =
  'perl, on x86-64 or ARM64: it does both in one, so that no container can swap the folder in between';
/** The numbers of getcwd(2), seccomp(2), capget(2) and capset(2). */
const CALLS: Partial<Record<string, readonly [number, number, number, number]>> = {
  x64: [79, 317, 125, 126],
  arm64: [17, 277, 90, 91],
};

/** A filter of system calls for a container's programs, loaded right before each begins. */
export interface ProgramFilter {
  readonly program: Buffer;
  /** SECCOMP_FILTER_FLAG_… */
  readonly flags: number;
  /**
   * Whether SYS_ADMIN was carried to here for it, and no further: whoever may gain privileges needs that capability to
   * load one.
   */
  readonly dropsSysAdmin: boolean;
}

/**
 * A program in perl that does the last steps before a container's program, or a command in it, in one process: it
 * gives the variables their own names, enters the working directory, makes sure that the kernel calls the place where
 * it is a path of the container's root, and becomes the program. So nobody can lead it elsewhere between the check and
 * the program, whatever becomes of the names in the path. Undefined for a processor that is not known here.
 *
 * It loads no module: whatever it found would be the container's. It is a file of its own, as `perl -e` opens
 * `/dev/null`. What it is called with: a filter if there is one (whether to drop SYS_ADMIN, the flags, the steps), the
 * folder, how many variables there are, for each the name on the way and its own name, and then the program, with more
 * variables before it as `env` takes them.
 *
 * The filter is the last step, so that it need allow nothing but to execute a program. SYS_ADMIN is taken out of the
 * inheritable set by then, and of the ambient set with it: the program's own sets are computed without it.
 */
export function renderStarter(architecture: string): string | undefined {
  const calls = CALLS[architecture];
  if (calls === undefined) return undefined;
  const [getcwd, seccomp, capget, capset] = calls;
  return `sub end { my ($code, $why) = @_; print STDERR "$why\\n"; exit $code }
my ($drop, $flags, $filter);
if ($ARGV[0] =~ /\\A([01]),(\\d+),([0-9a-f]+)\\z/) { ($drop, $flags, $filter) = ($1, $2, pack 'H*', $3); shift @ARGV }
my ($folder, $count) = splice @ARGV, 0, 2;
my @names;
while ($count-- > 0) { my ($carrier, $name) = splice @ARGV, 0, 2; push @names, [$name, $ENV{$carrier}] }
%ENV = ();
$ENV{$_->[0]} = $_->[1] for @names;
while (@ARGV and $ARGV[0] =~ /\\A([^=]+)=(.*)\\z/s) { $ENV{$1} = $2; shift @ARGV }
chdir $folder or end(125, "cannot change directory to '$folder': $!");
my $place = "\\0" x 4097;
syscall(${getcwd}, $place, 4096) > 0 and substr($place, 0, 1) eq '/' or end(126, "${OUTSIDE}: $folder");
if ($drop) {
  my ($head, $sets) = (pack('L2', 0x20080522, 0), "\\0" x 24);
  my @sets = syscall(${capget}, $head, $sets) == 0 ? unpack('L6', $sets) : end(126, "cannot read its capabilities: $!");
  $sets[2] &= ~(1 << 21);
  $sets = pack 'L6', @sets;
  syscall(${capset}, $head, $sets) == 0 or end(126, "cannot drop SYS_ADMIN: $!");
}
if ($filter) {
  my $program = pack('S x6 P', length($filter) / 8, $filter);
  syscall(${seccomp}, 1, $flags + 0, $program) == 0 or end(126, "cannot load its seccomp profile: $!");
}
exec { $ARGV[0] } @ARGV;
end($! == 2 ? 127 : 126, "cannot execute '$ARGV[0]': $!");
`;
}

/**
 * A program in perl that opens a path without any access to what is there (O_PATH), so that neither a pipe nor a device
 * can make it wait, and becomes the program that it is called with, with the number of the descriptor as one word more.
 */
export const OPENER = `my $path = shift @ARGV;
$^F = 255;
sysopen my $handle, $path, 0x200000 or do { print STDERR "cannot open $path: $!\\n"; exit 1 };
exec { $ARGV[0] } @ARGV, fileno $handle;
print STDERR "cannot execute $ARGV[0]: $!\\n";
exit 1;
`;

/** Says so where there is no starter: what that means is in docs/reference/security.md. */
export function warnWithoutStarter(
  starter: readonly string[] | undefined,
  logger: Pick<Logger, 'warn'>,
): void {
  if (starter === undefined)
    logger.warn('Working directories are checked and entered in two steps', { wanted: WANTED });
}

/** As carryEnvironment, with the starter in the place of `env`, which has no filter. */
export function carryToStarter(
  environment: readonly Buffer[],
  starter: readonly string[],
  folder: string,
  filter?: ProgramFilter,
): CarriedEnvironment {
  const variables = nameCarriers(environment);
  const words = [
    ...starter,
    ...(filter === undefined
      ? []
      : [`${filter.dropsSysAdmin ? 1 : 0},${filter.flags},${filter.program.toString('hex')}`]),
    ...[folder, String(variables.length)],
    ...variables.flatMap(({ carrier, name }) => [carrier, name]),
  ];
  return {
    exports: renderExports(variables),
    words: Buffer.concat(words.flatMap((word) => [quoteBytes(word), Buffer.from(' ')])),
  };
}
