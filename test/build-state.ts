import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const REPOSITORY = path.resolve(import.meta.dirname, '..');

/** Where `npm run build` puts the program. */
export const BUILD_FOLDER = path.join(REPOSITORY, 'dist');

/** Whether there is no build, or a source is newer than it. */
export function isBuildOutOfDate(): boolean {
  const stamp = path.join(BUILD_FOLDER, '.tsbuildinfo');
  if (!existsSync(stamp)) return true;
  const builtAtMs = statSync(stamp).mtimeMs;
  const sources = path.join(REPOSITORY, 'src');
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .some((file) => statSync(path.join(sources, file)).mtimeMs > builtAtMs);
}
