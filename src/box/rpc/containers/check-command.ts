import { findSizeExcess } from '../../container/command-size.js';
import { type Container } from '../../container/container.js';
import { invalidArgument } from '../../rpc-error.js';

/** Refuses a command that no process can be given, with INVALID_ARGUMENT; the container gives its environment. */
export async function checkCommand(
  { command }: Pick<Container, 'command'>,
  cmd: readonly string[],
): Promise<void> {
  if (cmd.some((word) => word.includes('\0'))) throw invalidArgument('cmd holds a NUL byte');
  const excess = await findSizeExcess({ argv: cmd, environment: command.environment });
  if (excess === undefined) return;
  const { totalBytes, mostBytes, longestWordBytes } = excess;
  throw invalidArgument(
    `cmd is too long: ${totalBytes} bytes with the container's environment; ` +
      `${mostBytes} are allowed, and ${longestWordBytes} in one argument`,
  );
}
