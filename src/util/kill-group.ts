/**
 * Kills all processes of the group that `leader` leads, and does nothing when there is none any more.
 *
 * For who knows that the number is nobody else's: while something of the group runs, or its leader was not reaped.
 */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of it has ended by itself, or it leads no group.
  }
}
