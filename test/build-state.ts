import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const REPOSITORY = path.resolve(import.meta.dirname, '..');

/** Whether there is no build, or a part of it is older than what it is made of. */
export function isBuildOutOfDate(repository = REPOSITORY): boolean {
  const compiledAtMs = timeOf(stampIn(repository));
  const sources = path.join(repository, 'src');
  return (
    timeOf(bundleIn(repository)) < compiledAtMs ||
    timeOf(path.join(repository, 'dist/lib/index.js')) < compiledAtMs ||
    readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .some((file) => timeOf(path.join(sources, file)) > compiledAtMs)
  );
}

/**
 * The built program that is to be tried: the one that users run, or as it was compiled where somebody has compiled since and
 * gone no further. Throws when nothing was built.
 */
export function findProgram(repository = REPOSITORY): string {
  const [bundle, compiled] = [bundleIn(repository), path.join(repository, 'dist/cli/main.js')];
  if (existsSync(bundle) && timeOf(bundle) >= timeOf(stampIn(repository))) return bundle;
  if (!existsSync(compiled)) throw new Error(`${bundle} is missing: run "npm run build" first`);
  return compiled;
}

function bundleIn(repository: string): string {
  return path.join(repository, 'dist/program/podloop.js');
}

/** Written whenever something is compiled. */
function stampIn(repository: string): string {
  return path.join(repository, 'dist/.tsbuildinfo');
}

/** When a file was written; before everything for one that is not there. */
function timeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
}
