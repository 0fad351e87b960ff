import { isAbsolute, join } from 'node:path';

/** The root folder of an agent that somebody runs who is not root, unless told: in his own folder for states. */
export function ownRootDir(env: Readonly<Record<string, string | undefined>>): string {
  const home = env['HOME'] ?? '';
  const state = env['XDG_STATE_HOME'] ?? (isAbsolute(home) ? join(home, '.local/state') : '/tmp');
  return join(state, 'podloop');
}
